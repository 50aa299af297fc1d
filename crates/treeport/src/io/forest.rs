//! Files of forests: the container of trees with several trees in it.
//!
//! It holds the tensors `nodes` (`U32`, the number of nodes of each tree), `weight` (`F64`, one per
//! tree), and `parent` (`U32`) and `length` (`F64`) of all trees one after the other. The header
//! entry `treeport` has the keys of a tree file, with the format `treeport.forest`, the names once,
//! and as checksum the CRC-32 of leaves, `nodes`, `weight`, `parent`, `length` and names. Readers
//! of version 1 skip unknown keys and tensors.

use std::path::Path;

use safetensors::tensor::Dtype;

use super::container::{self, Checksum, Content, Extra, File, from_bytes, to_bytes};
use super::file::in_files;
use crate::error::Result;
use crate::model::forest::{Forest, check};
use crate::tree::Tree;

/// Largest deviation of the sum of weights in a file from 1.
const SUM: f64 = 1e-9;

in_files! {
    Forest, decode,
    /// Writes the forest to one file atomically: to a temporary file beside `path`, which is then
    /// renamed.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    ///
    /// # Example
    /// ```
    /// use treeport::{Forest, Tree};
    /// let trees = vec![Tree::from_newick("(cat:1,dog:2);")?, Tree::from_newick("(cat:2,dog:2);")?];
    /// let forest = Forest::uniform(trees)?;
    /// let folder = tempfile::tempdir().expect("a temporary folder");
    /// let path = folder.path().join("pets.forest");
    /// forest.save(&path)?;
    /// assert_eq!(Forest::load(&path)?, forest);
    /// # Ok::<(), treeport::Error>(())
    /// ```
}

impl Forest {
    /// Returns the bytes of the file that [`Forest::save`] writes; equal forests give equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(&Extra::default())
    }

    /// Returns the bytes of [`to_bytes`](Self::to_bytes) with additional content.
    pub(super) fn to_bytes_with(&self, extra: &Extra<'_>) -> Result<Vec<u8>> {
        let trees = || self.trees.iter();
        let nodes = to_bytes(trees().map(|tree| tree.nodes() as u32), u32::to_le_bytes);
        let weight = to_bytes(self.weights.iter().copied(), f64::to_le_bytes);
        let parent = to_bytes(trees().flat_map(Tree::parents).copied(), u32::to_le_bytes);
        let length = to_bytes(trees().flat_map(Tree::lengths).copied(), f64::to_le_bytes);
        let sum = checksum(self.leaves(), [&nodes, &weight, &parent, &length], self.names());
        let entry = container::entry(Content::Forest, 1, self.leaves(), &sum, self.names(), extra);
        let tensors = [
            ("nodes", Dtype::U32, &nodes[..]),
            ("weight", Dtype::F64, &weight),
            ("parent", Dtype::U32, &parent),
            ("length", Dtype::F64, &length),
        ];
        container::encode(Content::Forest, entry, &tensors, extra)
    }
}

/// Computes the CRC-32 over all parts of the forest.
fn checksum(leaves: usize, tensors: [&[u8]; 4], names: Option<&[String]>) -> String {
    let start = Checksum::default().number(leaves);
    tensors.into_iter().fold(start, Checksum::bytes).names(names)
}

/// Parses the bytes of a forest file; error messages name `path`.
pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Forest> {
    let file = File::open(Content::Forest, bytes, path)?;
    let leaves = file.leaves()?;
    let nodes = file.tensor("nodes", Dtype::U32)?;
    let weight = file.tensor("weight", Dtype::F64)?;
    let (parent, length) = (file.tensor("parent", Dtype::U32)?, file.tensor("length", Dtype::F64)?);
    let mut names = file.names()?;
    file.check(&checksum(leaves, [nodes, weight, parent, length], names.as_deref()))?;
    let nodes: Vec<u32> = from_bytes(nodes, u32::from_le_bytes);
    let parent: Vec<u32> = from_bytes(parent, u32::from_le_bytes);
    let length: Vec<f64> = from_bytes(length, f64::from_le_bytes);
    let (mut parent, mut length) = (&parent[..], &length[..]);
    let mut trees: Vec<Tree> = Vec::new();
    for size in nodes {
        let size = size as usize;
        let (Some(parents), Some(lengths)) = (parent.split_off(..size), length.split_off(..size))
        else {
            return Err(file.missing("nodes"));
        };
        let tree = Tree::new(leaves, parents.to_vec(), lengths.to_vec());
        let tree = tree.and_then(|tree| match trees.first() {
            Some(first) => tree.named_as(first),
            None => tree.with_optional_names(names.take()),
        });
        let wrong = |error| file.damaged(format!("tree {}: {error}", trees.len()));
        trees.push(tree.map_err(wrong)?);
    }
    if !(parent.is_empty() && length.is_empty()) {
        return Err(file.missing("nodes"));
    }
    let weights: Vec<f64> = from_bytes(weight, f64::from_le_bytes);
    let (trees, total) = check(trees, &weights).map_err(|error| file.damaged(error.to_string()))?;
    if (total - 1.0).abs() > SUM {
        return Err(file.damaged(format!("its weights add up to {total}, not 1")));
    }
    // Not normalized again, so that weights survive a round trip bit for bit.
    Ok(Forest { trees, weights })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_forest_is_refused_even_with_a_right_checksum() {
        let tree = |text: &str| Tree::from_newick(text).unwrap();
        let (two, three) = (tree("(a:1,b:1);"), tree("(a:1,b:1,c:1);"));
        for (trees, weights, expected) in [
            (vec![two.clone()], vec![0.5], "its weights add up to 0.5, not 1"),
            (vec![two.clone()], vec![], "not a forest: 1 trees and 0 weights"),
            (vec![two.clone(); 2], vec![2.0, -1.0], "tree 1 has weight -1"),
            (vec![two, three], vec![0.5; 2], "tree 1: not a tree: "),
        ] {
            let bytes = Forest { trees, weights }.to_bytes().unwrap();
            let found = Forest::from_bytes(&bytes).unwrap_err().to_string();
            assert!(found.starts_with("`<bytes>` is damaged: "), "{found}");
            assert!(found.contains(expected), "{found}");
        }
    }
}
