//! Newick parser: from text to nodes in order of appearance.

use crate::error::{Error, Result};

/// A parsed leaf: its name and the position of its first byte.
pub(super) struct NewickLeaf {
    pub(super) name: String,
    pub(super) at: usize,
}

/// Parser state: text, position, and the nodes found so far in order of appearance.
pub(super) struct NewickReader<'a> {
    text: &'a str,
    at: usize,
    pub(super) parent: Vec<Option<usize>>,
    pub(super) length: Vec<f64>,
    /// Whether the edge above a node has a length in the text.
    measured: Vec<bool>,
    /// Leaf data; `None` for inner nodes.
    pub(super) leaf: Vec<Option<NewickLeaf>>,
    /// Inner nodes that are not closed yet, with the byte of their bracket.
    open: Vec<(usize, usize)>,
}

impl<'a> NewickReader<'a> {
    /// Parses the whole text: descends to a leaf, ascends to the next comma, until the semicolon.
    pub(super) fn read(text: &'a str) -> Result<Self> {
        let (parent, length, measured, leaf, open) = (vec![], vec![], vec![], vec![], vec![]);
        // Some editors write a byte order mark.
        let at = text.len() - text.trim_start_matches('\u{feff}').len();
        let mut reader = Self { text, at, parent, length, measured, leaf, open };
        loop {
            reader.descend()?;
            if reader.ascend()? {
                break;
            }
        }
        reader.skip_blanks()?;
        match reader.peek() {
            None => Ok(reader),
            Some(_) => bad(byte(reader.at), "text after the `;`; give one tree".into()),
        }
    }

    /// Opens brackets down to the next leaf and parses the leaf.
    fn descend(&mut self) -> Result<()> {
        self.skip_blanks()?;
        while self.peek() == Some(b'(') {
            let node = self.add(None);
            self.open.push((node, self.at));
            self.at += 1;
            self.skip_blanks()?;
        }
        let at = self.at;
        let Some(name) = self.node_name()? else {
            return bad(byte(at), format!("a leaf without a name, {}", self.found()));
        };
        let node = self.add(Some(NewickLeaf { name, at }));
        self.edge(node)
    }

    /// Closes brackets up to the next comma (`false`) or the final semicolon (`true`).
    fn ascend(&mut self) -> Result<bool> {
        loop {
            self.skip_blanks()?;
            let (at, next) = (self.at, self.peek());
            match (next, self.open.last()) {
                (Some(b',' | b')'), None) => {
                    return bad(byte(at), format!("outside all brackets, {}", self.found()));
                }
                (Some(b';') | None, Some((_, opened))) => {
                    let reason = format!("the bracket opened at byte {opened} is not closed");
                    return bad(byte(at), reason);
                }
                (Some(b','), _) => {
                    self.at += 1;
                    return Ok(false);
                }
                (Some(b')'), Some(&(node, _))) => {
                    self.open.pop();
                    self.at += 1;
                    self.node_name()?;
                    self.edge(node)?;
                }
                (Some(b';'), None) => {
                    self.at += 1;
                    return Ok(true);
                }
                (None, None) => return bad(byte(at), "the text ends without `;`".into()),
                (Some(_), _) => {
                    let expected = "expected `,`, `)` or `;` (quote names that hold blanks)";
                    return bad(byte(at), format!("{expected}, {}", self.found()));
                }
            }
        }
    }

    /// Adds a node below the last open one.
    fn add(&mut self, leaf: Option<NewickLeaf>) -> usize {
        self.parent.push(self.open.last().map(|&(node, _)| node));
        self.length.push(0.0);
        self.measured.push(false);
        self.leaf.push(leaf);
        self.leaf.len() - 1
    }

    /// Parses a label, if there is one.
    fn node_name(&mut self) -> Result<Option<String>> {
        self.skip_blanks()?;
        if self.peek() == Some(b'\'') {
            return self.quoted().map(Some);
        }
        let label = self.bare();
        Ok((!label.is_empty()).then(|| label.to_owned()))
    }

    /// Parses a quoted name; two quotes in it are one.
    fn quoted(&mut self) -> Result<String> {
        let start = self.at;
        let mut name = String::new();
        while let Some(more) = self.text[self.at + 1..].find('\'') {
            name.push_str(&self.text[self.at + 1..=self.at + more]);
            self.at += more + 2;
            if self.peek() != Some(b'\'') {
                return Ok(name);
            }
            name.push('\'');
        }
        bad(byte(start), "the quote opened here is not closed".into())
    }

    /// Reads up to the next blank or special character.
    fn bare(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |b: u8| b.is_ascii_whitespace() || b"()[]':;,".contains(&b);
        let end = rest.bytes().position(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Parses the length above `node`, if there is one.
    fn edge(&mut self, node: usize) -> Result<()> {
        self.skip_blanks()?;
        if self.peek() != Some(b':') {
            return Ok(());
        }
        self.at += 1;
        self.skip_blanks()?;
        let at = self.at;
        let digits = self.bare();
        let Ok(length) = digits.parse::<f64>() else {
            return bad(byte(at), format!("`{digits}` is not a length"));
        };
        if !(length.is_finite() && length >= 0.0) {
            let reason = format!("the length is {digits}; lengths must be finite and at least 0");
            return bad(byte(at), reason);
        }
        self.length[node] = length.abs(); // −0 is 0
        self.measured[node] = true;
        Ok(())
    }

    /// Describes the first edge that has no length in the text.
    pub(super) fn without_length(&self) -> Option<String> {
        let inner = |node: &usize| self.parent[*node].is_some() && !self.measured[*node];
        let node = (0..self.parent.len()).find(inner)?;
        // The first leaf after a node is below it.
        let leaf = self.leaf[node..].iter().flatten().next()?;
        let over = if self.leaf[node].is_some() { "" } else { "an inner node over " };
        Some(format!("{over}leaf `{}`", leaf.name))
    }

    /// Skips blanks, line ends and comments.
    fn skip_blanks(&mut self) -> Result<()> {
        let mut comments = Vec::new();
        while let Some(next) = self.peek() {
            match next {
                b'[' => comments.push(self.at),
                b']' if !comments.is_empty() => drop(comments.pop()),
                _ if comments.is_empty() && !next.is_ascii_whitespace() => break,
                _ => {}
            }
            self.at += 1;
        }
        match comments.pop() {
            None => Ok(()),
            Some(at) => bad(byte(at), "the comment opened here is not closed".into()),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Describes the next character for an error.
    fn found(&self) -> String {
        self.text[self.at..]
            .chars()
            .next()
            .map_or("the text ends".into(), |c| format!("found `{c}`"))
    }
}

/// Formats the position of a byte, counted from 0.
pub(super) fn byte(at: usize) -> String {
    format!("byte {at}")
}

pub(super) fn bad<T>(place: String, reason: String) -> Result<T> {
    Err(Error::Parse { format: "Newick", place, reason })
}

#[cfg(test)]
mod tests {
    use crate::tree::Tree;

    /// The message for a text that must not parse.
    fn message(text: &str) -> String {
        Tree::from_newick(text).expect_err(text).to_string()
    }

    #[test]
    fn messages_say_what_and_where() {
        for (text, expected) in [
            ("", "Newick, byte 0: a leaf without a name, the text ends"),
            (";", "Newick, byte 0: a leaf without a name, found `;`"),
            ("(A,);", "Newick, byte 3: a leaf without a name, found `)`"),
            ("(A,B)", "Newick, byte 5: the text ends without `;`"),
            ("(A,(B,C);", "Newick, byte 8: the bracket opened at byte 0 is not closed"),
            ("((A,B)", "Newick, byte 6: the bracket opened at byte 0 is not closed"),
            ("(A,B));", "Newick, byte 5: outside all brackets, found `)`"),
            ("A,B;", "Newick, byte 1: outside all brackets, found `,`"),
            ("(A,B);(C,D);", "Newick, byte 6: text after the `;`; give one tree"),
            ("(A:x,B);", "Newick, byte 3: `x` is not a length"),
            ("(A:,B);", "Newick, byte 3: `` is not a length"),
            (
                "(A:-0.1,B);",
                "Newick, byte 3: the length is -0.1; lengths must be finite and at least 0",
            ),
            (
                "(A: NaN,B);",
                "Newick, byte 4: the length is NaN; lengths must be finite and at least 0",
            ),
            (
                "(A,B:1e999);",
                "Newick, byte 5: the length is 1e999; lengths must be finite and at least 0",
            ),
            ("('A,B);", "Newick, byte 1: the quote opened here is not closed"),
            ("(A[x,B);", "Newick, byte 2: the comment opened here is not closed"),
            (
                "(Homo sapiens,é);",
                "Newick, byte 6: expected `,`, `)` or `;` (quote names that hold blanks), found `s`",
            ),
        ] {
            assert_eq!(message(text), expected, "{text}");
        }
    }
}
