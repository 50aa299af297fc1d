//! Checkpoints of [`learn`](super::learn()), from which a run resumes with the same result.
//!
//! The random numbers of a step depend only on the seed and on the numbers of labels and points, so
//! the generator is not stored: [`resume`](super::resume) draws the same numbers again and skips
//! the completed steps.
//!
//! The bytes start with a magic number and end with a CRC-32 of all preceding bytes. In between,
//! little-endian, are the counts, the history, and for the current and the best tree the children
//! of every inner node and the height of every node.

use crate::build::binary::BinaryTree;
use crate::error::{Error, Result};
use crate::learn::Epoch;

const MAGIC: &[u8; 8] = b"tpcheck1";

/// State of a run: the current tree, the best so far, and the error of every epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub(super) step: usize,
    pub(super) best_epoch: usize,
    pub(super) history: Vec<Epoch>,
    pub(super) tree: BinaryTree,
    pub(super) best: BinaryTree,
}

impl Checkpoint {
    /// Returns the number of completed steps.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Returns the completed epochs, the start first.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// Serializes the checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let counts = [self.tree.leaves, self.step, self.best_epoch, self.history.len()];
        bytes.extend(counts.iter().flat_map(|&count| (count as u64).to_le_bytes()));
        for epoch in &self.history {
            let validation = epoch.validation_loss.unwrap_or(f64::NAN);
            let values = [epoch.training_loss, validation, epoch.relative_error];
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        for tree in [&self.tree, &self.best] {
            bytes.extend(tree.children.iter().flatten().flat_map(|child| child.to_le_bytes()));
            bytes.extend(tree.height.iter().flat_map(|height| height.to_le_bytes()));
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Deserializes a checkpoint from the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Truncated, damaged or foreign bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let body = bytes.split_last_chunk().and_then(|(body, sum)| {
            (crc32fast::hash(body) == u32::from_le_bytes(*sum)).then_some(body)
        });
        let body = body.ok_or_else(|| bad("it is cut off or damaged"))?;
        let body =
            body.strip_prefix(MAGIC).ok_or_else(|| bad("it does not start as a checkpoint"))?;
        let mut reader = Reader { rest: body };
        let [leaves, step, best_epoch, epochs] = reader.counts()?;
        // Sizes are checked before any allocation.
        let expected = (|| {
            let nodes = leaves.checked_mul(2)?.checked_sub(1)?;
            let tree = nodes.checked_mul(8)?.checked_add((leaves - 1).checked_mul(8)?)?;
            tree.checked_mul(2)?.checked_add(epochs.checked_mul(24)?)
        })();
        if expected != Some(reader.rest.len()) || best_epoch >= epochs {
            return Err(bad("its counts do not fit its size"));
        }
        let history = (0..epochs).map(|epoch| reader.epoch(epoch)).collect::<Result<_>>()?;
        let (tree, best) = (reader.tree(leaves)?, reader.tree(leaves)?);
        Ok(Self { step, best_epoch, history, tree, best })
    }
}

fn bad(reason: &str) -> Error {
    Error::Parse { format: "checkpoint", place: "bytes".into(), reason: reason.into() }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) =
            self.rest.split_first_chunk().ok_or_else(|| bad("it ends too early"))?;
        self.rest = rest;
        Ok(*first)
    }

    fn counts<const N: usize>(&mut self) -> Result<[usize; N]> {
        let mut counts = [0; N];
        for count in &mut counts {
            *count = usize::try_from(u64::from_le_bytes(self.take()?))
                .map_err(|_| bad("a count is too large"))?;
        }
        Ok(counts)
    }

    fn value(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    fn epoch(&mut self, epoch: usize) -> Result<Epoch> {
        let (training_loss, validation) = (self.value()?, self.value()?);
        let validation_loss = (!validation.is_nan()).then_some(validation);
        Ok(Epoch { epoch, training_loss, validation_loss, relative_error: self.value()? })
    }

    /// Reads a tree in which every node but the last is the child of exactly one later node.
    fn tree(&mut self, leaves: usize) -> Result<BinaryTree> {
        let mut children = Vec::with_capacity(leaves - 1);
        let mut has_parent = vec![false; 2 * leaves - 1];
        for inner in 0..leaves - 1 {
            let pair = [u32::from_le_bytes(self.take()?), u32::from_le_bytes(self.take()?)];
            for child in pair.map(|child| child as usize) {
                if child >= leaves + inner || std::mem::replace(&mut has_parent[child], true) {
                    return Err(bad("it contains no tree"));
                }
            }
            children.push(pair);
        }
        let height = (0..2 * leaves - 1).map(|_| self.value()).collect::<Result<_>>()?;
        Ok(BinaryTree { leaves, children, height })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let tree = BinaryTree {
            leaves: 3,
            children: vec![[0, 2], [1, 3]],
            height: vec![0.0, 0.1, 0.2, 1.0, 1.0 / 3.0],
        };
        let epoch = |epoch, validation_loss| Epoch {
            epoch,
            training_loss: 0.5,
            validation_loss,
            relative_error: 0.25,
        };
        let best = BinaryTree { height: vec![1.0; 5], ..tree.clone() };
        let history = vec![epoch(0, Some(0.1)), epoch(1, None)];
        Checkpoint { step: 7, best_epoch: 1, history, tree, best }
    }

    #[test]
    fn bytes_read_back() {
        let found = Checkpoint::from_bytes(&checkpoint().to_bytes()).unwrap();
        assert_eq!(found, checkpoint());
    }

    #[test]
    fn damage_is_found() {
        let good = checkpoint().to_bytes();
        for size in 0..good.len() {
            assert!(Checkpoint::from_bytes(&good[..size]).is_err());
        }
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            assert!(Checkpoint::from_bytes(&changed).is_err());
        }
    }

    /// A correct checksum does not make a valid tree: counts and children are checked as well.
    #[test]
    fn lies_with_a_right_checksum_are_refused() {
        let good = checkpoint().to_bytes();
        let with = |at: usize, byte: u8| {
            let mut body = good[..good.len() - 4].to_vec();
            body[at] = byte;
            body.extend(crc32fast::hash(&body).to_le_bytes());
            Checkpoint::from_bytes(&body)
        };
        let first_child = 8 + 32 + 48;
        assert!(with(first_child, 0).is_ok());
        for (at, byte) in
            [(8, 0), (8, 9), (15, 255), (24, 2), (32, 200), (first_child, 2), (first_child, 3)]
        {
            assert!(with(at, byte).is_err(), "{at} {byte}");
        }
    }
}
