//! Files of trees.
//!
//! A file is a safetensors container, which many languages can read. It holds the tensors `parent`
//! (`U32`) and `length` (`F64`), one entry per node, and a text entry `treeport` in its header: a
//! JSON object with
//!
//! | key | value |
//! | --- | --- |
//! | `checksum` | CRC-32 of the number of leaves, the tensors and the names |
//! | `format` | `treeport.tree` |
//! | `leaves` | number of leaves |
//! | `names` | names of the points, only if they have any |
//! | `version` | 1 |
//!
//! [`container`] has the parts shared with forests. Readers of version 1 skip unknown keys and
//! tensors; a change that old readers must not skip gets a new version.

use std::path::Path;

use safetensors::tensor::Dtype;

use super::container::{self, Checksum, Content, Extra, File, from_bytes, to_bytes};
use super::file::in_files;
use crate::error::Result;
use crate::tree::Tree;

in_files! {
    Tree, decode,
    /// Writes the tree to a file atomically: to a temporary file beside `path`, which is then
    /// renamed.
    ///
    /// The file is a safetensors container with the tensors `parent` and `length`, one entry per
    /// node, and a header entry `treeport` with format, version, number of leaves, checksum and
    /// names.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    ///
    /// # Example
    /// ```
    /// let tree = treeport::Tree::from_newick("(cat:1,dog:2);")?;
    /// let folder = tempfile::tempdir().expect("a temporary folder");
    /// let path = folder.path().join("pets.tree");
    /// tree.save(&path)?;
    /// assert_eq!(treeport::Tree::load(&path)?, tree);
    /// # Ok::<(), treeport::Error>(())
    /// ```
}

impl Tree {
    /// Returns the bytes of the file that [`Tree::save`] writes; equal trees give equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(&Extra::default())
    }

    /// Returns the bytes of [`to_bytes`](Self::to_bytes) with additional content.
    pub(super) fn to_bytes_with(&self, extra: &Extra<'_>) -> Result<Vec<u8>> {
        encode(self.leaves(), self.parents(), self.lengths(), self.names(), extra)
    }
}

/// Computes the CRC-32 over all parts of the tree.
fn checksum(leaves: usize, parent: &[u8], length: &[u8], names: Option<&[String]>) -> String {
    Checksum::default().number(leaves).bytes(parent).bytes(length).names(names)
}

/// Encodes a file with these arrays.
fn encode(
    leaves: usize,
    parent: &[u32],
    length: &[f64],
    names: Option<&[String]>,
    extra: &Extra<'_>,
) -> Result<Vec<u8>> {
    let parent = to_bytes(parent.iter().copied(), u32::to_le_bytes);
    let length = to_bytes(length.iter().copied(), f64::to_le_bytes);
    let checksum = checksum(leaves, &parent, &length, names);
    let entry = container::entry(Content::Tree, 1, leaves, &checksum, names, extra);
    let tensors = [("parent", Dtype::U32, &parent[..]), ("length", Dtype::F64, &length)];
    container::encode(Content::Tree, entry, &tensors, extra)
}

/// Parses the bytes of a tree file; error messages name `path`.
pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Tree> {
    let file = File::open(Content::Tree, bytes, path)?;
    let leaves = file.leaves()?;
    let (parent, length) = (file.tensor("parent", Dtype::U32)?, file.tensor("length", Dtype::F64)?);
    let names = file.names()?;
    file.check(&checksum(leaves, parent, length, names.as_deref()))?;
    let (parent, length) =
        (from_bytes(parent, u32::from_le_bytes), from_bytes(length, f64::from_le_bytes));
    let tree = Tree::new(leaves, parent, length).and_then(|tree| tree.with_optional_names(names));
    tree.map_err(|error| file.damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use safetensors::tensor::TensorView;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::io::container::{ENTRY, entry};

    fn tree() -> Tree {
        let tree = Tree::new(3, vec![3, 3, 4, 4, 4], vec![1.0, 1.0, 3.0, 2.0, 0.0]).unwrap();
        tree.with_names(["é", "it's", ""].map(String::from).to_vec()).unwrap()
    }

    /// A container with an unknown tensor, whose entry `change` modifies.
    fn changed(change: impl FnOnce(&mut Map<String, Value>)) -> Vec<u8> {
        let tree = tree();
        let parent: Vec<u8> = tree.parents().iter().flat_map(|p| p.to_le_bytes()).collect();
        let length: Vec<u8> = tree.lengths().iter().flat_map(|l| l.to_le_bytes()).collect();
        let sum = checksum(3, &parent, &length, tree.names());
        let mut map = serde_json::from_str(&entry(
            Content::Tree,
            1,
            3,
            &sum,
            tree.names(),
            &Extra::default(),
        ))
        .unwrap();
        change(&mut map);
        let tensors = [
            ("parent", TensorView::new(Dtype::U32, vec![5], &parent).unwrap()),
            ("length", TensorView::new(Dtype::F64, vec![5], &length).unwrap()),
            ("later", TensorView::new(Dtype::U8, vec![1], &[7]).unwrap()),
        ];
        let entries =
            [(ENTRY.to_owned(), Value::Object(map).to_string()), ("x".into(), "y".into())];
        safetensors::serialize(tensors, Some(HashMap::from(entries))).unwrap()
    }

    fn message(bytes: &[u8]) -> String {
        Tree::from_bytes(bytes).unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_and_tensors_are_skipped() {
        let bytes = changed(|entry| drop(entry.insert("later".into(), json!([1, 2]))));
        assert_eq!(Tree::from_bytes(&bytes).unwrap(), tree());
    }

    #[test]
    fn the_same_tree_is_the_same_bytes() {
        let first = tree().to_bytes().unwrap();
        assert!((0..20).all(|_| tree().to_bytes().unwrap() == first));
    }

    #[test]
    fn a_newer_version_says_so() {
        let bytes = changed(|entry| {
            entry.insert("version".into(), json!(2));
            entry.remove("leaves");
        });
        let expected =
            "`<bytes>`: this treeport reads version 1, the file has version 2; upgrade treeport";
        assert_eq!(message(&bytes), expected);
    }

    #[test]
    fn foreign_files_say_what_they_lack() {
        let other = safetensors::serialize::<&str, TensorView<'_>, _>([], None).unwrap();
        let unlike = changed(|entry| drop(entry.insert("format".into(), json!("treeport.bush"))));
        let forest = changed(|entry| drop(entry.insert("format".into(), json!("treeport.forest"))));
        for (bytes, expected) in [
            (&b"PK"[..], "it has only 2 bytes"),
            (b"((A:1,B:1):2,C:3);", "no header fits its first 8 bytes"),
            (b"\x04\0\0\0\0\0\0\0null", "no safetensors header"),
            (&other, "a safetensors file without an entry `treeport`"),
            (&unlike, "its format is not `treeport.tree`"),
            (&forest, "it holds a forest; open it as one"),
        ] {
            let found = message(bytes);
            assert!(found.starts_with("`<bytes>` is not a treeport tree: "), "{found}");
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn damage_is_found() {
        let good = tree().to_bytes().unwrap();
        let mut flipped = good.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let no_names = changed(|entry| drop(entry.remove("names")));
        let leaves = changed(|entry| drop(entry.insert("leaves".into(), json!(4))));
        for bytes in [&flipped, &no_names, &leaves] {
            assert!(message(bytes).contains("its checksum is "), "{}", message(bytes));
        }
        let cut = message(&good[..good.len() - 8]);
        assert!(cut.contains("its header speaks of 60 bytes of data, but it has 52"), "{cut}");
        for size in 0..good.len() {
            assert!(Tree::from_bytes(&good[..size]).is_err());
        }
    }

    #[test]
    fn what_is_not_a_tree_is_refused_even_with_a_right_checksum() {
        let tree = tree();
        let mut parent = tree.parents().to_vec();
        parent[0] = 2;
        let bytes = encode(3, &parent, tree.lengths(), tree.names(), &Extra::default()).unwrap();
        let found = message(&bytes);
        assert!(found.contains("node 0 hangs below 2, which is a leaf"), "{found}");
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let tensor = |from: u128, to: u128| json!({"dtype": "U8", "shape": [to - from], "data_offsets": [from, to]});
        let step = 1 << 60;
        let mut header = Map::new();
        for k in 0..16 {
            let end = (step * (k + 1)).min(u128::from(u64::MAX) - 2);
            header.insert(format!("t{k}"), tensor(step * k, end));
        }
        let header = Value::Object(header).to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        assert!(message(&bytes).contains("bytes of data, but it has 0"), "{}", message(&bytes));
    }
}
