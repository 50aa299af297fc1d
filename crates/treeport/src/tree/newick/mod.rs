//! Newick text, the format of phylogenies.
//!
//! Files differ in details; the rules here are:
//! - A name is bare (`seq_1`) or in single quotes, where `''` is one quote (`'it''s'`). Bare names
//!   are not changed. The old rule that a bare underscore means a blank does not apply, because
//!   names have to match those of a table, and tables have underscores. Written names with
//!   underscores are quoted, so that programs that follow the rule read the same name.
//! - A missing length is 0, which `UniFrac` rejects, as other tools do. The length of an edge above
//!   the root is ignored. Negative lengths, which neighbor joining can produce, are errors.
//! - Labels of inner nodes, such as bootstrap values, and comments in `[]`, nested or not, are
//!   ignored.
//! - A text contains one tree and ends with `;`.
//!
//! Parsing and writing use explicit stacks, so the depth of a tree is limited by memory alone.

mod reader;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use self::reader::{NewickLeaf, NewickReader, bad, byte};
use super::Tree;
use crate::error::Result;

/// Returns the names as numbers if they are a permutation of `0..n`.
fn numbers(names: &[String]) -> Option<Vec<usize>> {
    let mut seen = vec![false; names.len()];
    let number = |name: &String| {
        let number: usize = name.parse().ok().filter(|n: &usize| n.to_string() == *name)?;
        (!std::mem::replace(seen.get_mut(number)?, true)).then_some(number)
    };
    names.iter().map(number).collect()
}

impl Tree {
    /// Parses a tree; its leaves are the points, numbered and named in order of appearance.
    ///
    /// If the names are a permutation of the numbers from 0 on, they are the numbers of points
    /// without names, as [`to_newick`](Self::to_newick) writes them.
    ///
    /// Underscores are kept, a missing length is 0, and labels of inner nodes and the length above
    /// the root are ignored.
    ///
    /// # Errors
    /// Text that is not one tree; a leaf without a name or with the name of another; a length that
    /// is negative or not finite. Positions are bytes, counted from 0.
    ///
    /// # Example
    /// ```
    /// let tree = treeport::Tree::from_newick("((cat:1,dog:1)0.98:2,'it''s a bird':3);")?;
    /// assert_eq!(tree.name(2), "it's a bird");
    /// assert_eq!(tree.leaf_distance(0, 2), 6.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_newick(text: &str) -> Result<Self> {
        let read = NewickReader::read(text)?;
        let without = read.without_length();
        Ok(Self::from_read(&read)?.read_without_length(without))
    }

    /// Creates the tree of parsed nodes, with points numbered and named in order of appearance.
    fn from_read(read: &NewickReader<'_>) -> Result<Self> {
        let mut seen = HashSet::new();
        if let Some(leaf) = read.leaf.iter().flatten().find(|leaf| !seen.insert(&leaf.name)) {
            return bad(byte(leaf.at), format!("leaf `{}` is in the tree twice", leaf.name));
        }
        let mut names = Vec::new();
        let point = read.leaf.iter().map(|leaf| {
            leaf.as_ref().map(|leaf| {
                names.push(leaf.name.clone());
                names.len() - 1
            })
        });
        let mut point: Vec<_> = point.collect();
        if let Some(number) = numbers(&names) {
            point.iter_mut().flatten().for_each(|p| *p = number[*p]);
            return Self::from_unordered(&read.parent, &read.length, &point);
        }
        Self::from_unordered(&read.parent, &read.length, &point)?.with_names(names)
    }

    /// Parses a tree whose leaves are `names`, in any order; point `p` is `names[p]`.
    ///
    /// It matches a phylogeny to a table: points have the order of the table's columns.
    ///
    /// # Errors
    /// A name that is not in the tree; a leaf that is not among the names; a name that occurs twice
    /// in either; see also [`Tree::from_newick`].
    ///
    /// # Example
    /// ```
    /// let names = ["dog".to_string(), "cat".to_string()];
    /// let tree = treeport::Tree::from_newick_with("(cat:1,dog:2);", &names)?;
    /// assert_eq!(tree.lengths()[0], 2.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_newick_with(text: &str, names: &[String]) -> Result<Self> {
        let mut number = HashMap::with_capacity(names.len());
        for (p, name) in names.iter().enumerate() {
            if let Some(first) = number.insert(name.as_str(), p) {
                return bad(
                    format!("point {p}"),
                    format!("point {first} has its name `{name}` too"),
                );
            }
        }
        let read = NewickReader::read(text)?;
        let mut found = vec![false; names.len()];
        let mut point = vec![None; read.leaf.len()];
        for (v, leaf) in read.leaf.iter().enumerate() {
            let Some(NewickLeaf { name, at }) = leaf else { continue };
            let Some(&p) = number.get(name.as_str()) else {
                return bad(byte(*at), format!("leaf `{name}` is not among the names given"));
            };
            if std::mem::replace(&mut found[p], true) {
                return bad(byte(*at), format!("leaf `{name}` is in the tree twice"));
            }
            point[v] = Some(p);
        }
        if let Some(p) = found.iter().position(|f| !f) {
            let reason = format!("its name `{}` is not in the tree", names[p]);
            return bad(format!("point {p}"), reason);
        }
        let tree = Self::from_unordered(&read.parent, &read.length, &point)?;
        Ok(tree.with_names(names.to_vec())?.read_without_length(read.without_length()))
    }

    /// Returns the tree as Newick text, on one line; points without names are written as numbers.
    ///
    /// Lengths parse to the same `f64` and names to the same text, so [`Tree::from_newick_with`]
    /// restores the order of points and all distances.
    ///
    /// # Example
    /// ```
    /// let text = "((cat:1,dog:1):2,'a_b':3);";
    /// // Children come in order of their node numbers: leaves before inner nodes.
    /// let tree = treeport::Tree::from_newick(text)?;
    /// assert_eq!(tree.to_newick(), "('a_b':3,(cat:1,dog:1):2);");
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn to_newick(&self) -> String {
        let children = self.children();
        let mut text = String::new();
        // Path from the root; each node with the number of its children already written.
        let mut path = vec![(self.root(), 0)];
        while let Some((v, written)) = path.last_mut() {
            let below = children.of(*v);
            if let Some(&child) = below.get(*written) {
                text.push(if *written == 0 { '(' } else { ',' });
                *written += 1;
                path.push((child as usize, 0));
                continue;
            }
            if below.is_empty() {
                push_name(&mut text, &self.name(*v));
            } else {
                text.push(')');
            }
            if *v != self.root() {
                push_length(&mut text, self.lengths()[*v]);
            }
            path.pop();
        }
        text.push(';');
        text
    }
}

/// Splits a text into trees, after every `;` outside quotes and comments. Text after the last `;`
/// is another part unless it consists of blanks and comments.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut blank) = (Vec::new(), 0, true);
    let (mut quoted, mut comments) = (false, 0usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' if comments == 0 => (quoted, blank) = (!quoted, false),
            _ if quoted => {}
            b'[' => comments += 1,
            b']' if comments > 0 => comments -= 1,
            b';' if comments == 0 => {
                parts.push(&text[begin..=at]);
                (begin, blank) = (at + 1, true);
            }
            _ => blank &= comments > 0 || byte.is_ascii_whitespace(),
        }
    }
    if !blank || comments > 0 {
        parts.push(&text[begin..]);
    }
    parts
}

/// Writes a name, in quotes unless every parser reads it bare as the same name.
fn push_name(text: &mut String, name: &str) {
    let bare = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
    if !name.is_empty() && name.chars().all(bare) {
        text.push_str(name);
    } else {
        let _ = write!(text, "'{}'", name.replace('\'', "''"));
    }
}

/// Writes a length with the fewest digits that parse to the same number.
fn push_length(text: &mut String, length: f64) {
    // Without an exponent in the usual range; beyond it, there would be hundreds of zeros.
    let plain = length == 0.0 || (1e-5..1e16).contains(&length);
    let _ = if plain { write!(text, ":{length}") } else { write!(text, ":{length:e}") };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_of_the_format() {
        let text = " [&R [nested]] ( 'it''s' : 1e-3 ,\n\tx_1[c]:[d]2.5E+1[&&NHX:S=1] , (y)boot:.5, '' )'r':9 ; \n[end]";
        let tree = Tree::from_newick(text).unwrap();
        assert_eq!(tree.names().unwrap(), ["it's", "x_1", "y", ""]);
        assert_eq!(tree.lengths(), [1e-3, 25.0, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(tree.parents(), [5, 5, 4, 5, 5, 5]);
    }

    #[test]
    fn a_text_of_several_trees_falls_into_parts() {
        for (text, expected) in [
            ("", &[][..]),
            (" [a;b] ", &[]),
            ("A;", &["A;"]),
            ("A; \n[end;]", &["A;"]),
            ("(A,B);\n (B,A);\n", &["(A,B);", "\n (B,A);"]),
            ("('a;\nb',c);'it''s;';", &["('a;\nb',c);", "'it''s;';"]),
            ("(a[x;[y;]'],b);c;", &["(a[x;[y;]'],b);", "c;"]),
            ("A;B", &["A;", "B"]),
            ("A;[B", &["A;", "[B"]),
            ("A;]", &["A;", "]"]),
            ("A;'B;", &["A;", "'B;"]),
            (";;", &[";", ";"]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn one_leaf_with_and_without_a_root_above() {
        for (text, nodes) in [("A;", 1), ("A:3;", 1), ("(A:1);", 2), ("((A:1):2)x:7;", 3)] {
            let tree = Tree::from_newick(text).unwrap();
            assert_eq!((tree.leaves(), tree.nodes()), (1, nodes), "{text}");
        }
        assert_eq!(Tree::from_newick("A:3;").unwrap().to_newick(), "A;");
    }

    #[test]
    fn names_given_must_match_those_in_the_tree() {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (text, given, expected) in [
            ("(A,B);", &["A", "C", "B"][..], "Newick, point 1: its name `C` is not in the tree"),
            ("(A,B);", &["A"], "Newick, byte 3: leaf `B` is not among the names given"),
            ("(A,A);", &["A", "B"], "Newick, byte 3: leaf `A` is in the tree twice"),
            ("(A,B);", &["A", "B", "A"], "Newick, point 2: point 0 has its name `A` too"),
        ] {
            let error = Tree::from_newick_with(text, &names(given)).expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
        let tree = Tree::from_newick_with("((A:1,B:2):4,C:8);", &names(&["C", "B", "A"])).unwrap();
        assert_eq!(tree.lengths(), [8.0, 2.0, 1.0, 4.0, 0.0]);
        assert_eq!(tree.names().unwrap(), ["C", "B", "A"]);
    }

    #[test]
    fn names_that_come_twice_are_refused() {
        let error = Tree::from_newick("(A:1,(B:1,'A':2):3);").unwrap_err();
        assert_eq!(error.to_string(), "Newick, byte 10: leaf `A` is in the tree twice");
        let error = Tree::from_newick("(0:1,(1:1,0:2):3);").unwrap_err();
        assert_eq!(error.to_string(), "Newick, byte 10: leaf `0` is in the tree twice");
    }

    #[test]
    fn a_mark_before_the_text_is_no_part_of_a_name() {
        assert_eq!(Tree::from_newick("\u{feff}A;").unwrap().name(0), "A");
        assert_eq!(Tree::from_newick("\u{feff}(A:1,B:2);").unwrap().leaves(), 2);
    }

    #[test]
    fn lengths_read_back_to_the_same_number() {
        for length in [0.0, 5e-324, 1e-300, 0.1 + 0.2, 1.0 / 3.0, 1e15, 1e16, f64::MAX / 4.0] {
            let tree = Tree::new(1, vec![1, 1], vec![length, 0.0]).unwrap();
            let text = tree.to_newick();
            assert!(text.len() < 40, "{text}");
            assert_eq!(Tree::from_newick(&text).unwrap().lengths(), [length, 0.0], "{text}");
        }
    }

    #[test]
    fn deep_chains_need_no_call_stack() {
        let depth = 100_000;
        let text = format!("{}x{};", "(".repeat(depth), ":1)".repeat(depth));
        let tree = Tree::from_newick(&text).unwrap();
        assert_eq!(tree.nodes(), depth + 1);
        assert_eq!(tree.to_newick(), text);
        let comment = format!("{}{}x;", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Tree::from_newick(&comment).unwrap().name(0), "x");
    }
}
