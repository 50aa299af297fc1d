//! Trees in files.
//!
//! A file is a safetensors container, so that every language with a reader for those can open it. It
//! holds the tensors `parent` (`U32`) and `length` (`F64`), one entry per node, and a text entry
//! `treeport` in its header: a JSON object with
//!
//! | key | value |
//! | --- | --- |
//! | `checksum` | CRC-32 of the number of leaves, the tensors and the names |
//! | `format` | `treeport.tree` |
//! | `leaves` | number of leaves |
//! | `names` | names of the points, only if they have any |
//! | `version` | 1 |
//!
//! It is one entry and not five because the container writes entries in random order; this way the same
//! tree is always the same bytes. Readers of version 1 skip keys and tensors they do not know; a
//! change that old readers must not skip gets a new version.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorView};
use serde_json::{Map, Value, json};

use super::Tree;
use crate::error::{Error, Result};

const ENTRY: &str = "treeport";
const FORMAT: &str = "treeport.tree";
const VERSION: u64 = 1;

impl Tree {
    /// Writes the tree to a file, whole or not at all: it is written beside `path`, then renamed.
    ///
    /// The file is a safetensors container with the tensors `parent` and `length`, one entry per node,
    /// and a header entry `treeport` with format, version, number of leaves, checksum and names.
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
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes()?;
        write_beside(path, &bytes).map_err(|source| Error::Write { path: path.into(), source })
    }

    /// Reads a tree that [`Tree::save`] has written.
    ///
    /// # Errors
    /// The file cannot be read, is no tree of ours, is damaged, or comes from a newer treeport.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
        decode(&bytes, path)
    }

    /// The bytes of the file that [`Tree::save`] writes; the same tree gives the same bytes.
    ///
    /// # Errors
    /// The names take more than the 100 MB a header may have.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let parent: Vec<u8> = self.parent.iter().flat_map(|p| p.to_le_bytes()).collect();
        let length: Vec<u8> = self.length.iter().flat_map(|l| l.to_le_bytes()).collect();
        let checksum = checksum(self.leaves, &parent, &length, self.names());
        let entry = entry(self.leaves, &checksum, self.names());
        let shape = vec![self.nodes()];
        let too_large = |error| Error::Parse {
            format: FORMAT,
            place: "header".into(),
            reason: format!("{error}; the names are too long"),
        };
        let tensors = [
            ("parent", TensorView::new(Dtype::U32, shape.clone(), &parent).map_err(too_large)?),
            ("length", TensorView::new(Dtype::F64, shape, &length).map_err(too_large)?),
        ];
        let header = HashMap::from([(ENTRY.to_owned(), entry)]);
        safetensors::serialize(tensors, Some(header)).map_err(too_large)
    }

    /// The tree in the bytes of a file; messages call the file `<bytes>`.
    ///
    /// # Errors
    /// As [`Tree::load`], but for reading the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        decode(bytes, Path::new("<bytes>"))
    }
}

/// The text of our header entry. Keys are inserted in sorted order, because the map may keep the order
/// of insertion: a crate elsewhere in the build can choose that.
fn entry(leaves: usize, checksum: &str, names: Option<&[String]>) -> String {
    let mut entry = Map::new();
    entry.insert("checksum".into(), json!(checksum));
    entry.insert("format".into(), json!(FORMAT));
    entry.insert("leaves".into(), json!(leaves));
    if let Some(names) = names {
        entry.insert("names".into(), json!(names));
    }
    entry.insert("version".into(), json!(VERSION));
    Value::Object(entry).to_string()
}

/// CRC-32 of everything that makes the tree; names with their lengths, so that none can shift.
fn checksum(leaves: usize, parent: &[u8], length: &[u8], names: Option<&[String]>) -> String {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&(leaves as u64).to_le_bytes());
    crc.update(parent);
    crc.update(length);
    for name in names.into_iter().flatten() {
        crc.update(&(name.len() as u64).to_le_bytes());
        crc.update(name.as_bytes());
    }
    format!("{:08x}", crc.finalize())
}

/// Writes to a new file in the same folder, waits until the disk has it, and renames it.
fn write_beside(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".treeport-");
    // A temporary file is private by default; this one becomes an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The tree in the bytes of a file called `path`.
fn decode(bytes: &[u8], path: &Path) -> Result<Tree> {
    let damaged = |reason: String| Error::DamagedTree { path: path.into(), reason };
    let (metadata, data) = open(bytes, path)?;
    let entry = read_entry(&metadata, path)?;
    let missing = |key: &str| damaged(format!("`{key}` is missing or not what it should be"));
    let leaves = entry.get("leaves").and_then(Value::as_u64).ok_or_else(|| missing("leaves"))?;
    let leaves = usize::try_from(leaves).map_err(|_| missing("leaves"))?;
    let parent = tensor(&metadata, data, "parent", Dtype::U32).ok_or_else(|| missing("parent"))?;
    let length = tensor(&metadata, data, "length", Dtype::F64).ok_or_else(|| missing("length"))?;
    let names = match entry.get("names") {
        None => None,
        Some(names) => Some(strings(names).ok_or_else(|| missing("names"))?),
    };
    let found = checksum(leaves, parent, length, names.as_deref());
    let said = entry.get("checksum").and_then(Value::as_str).ok_or_else(|| missing("checksum"))?;
    if found != said {
        return Err(damaged(format!("its checksum is {said}, but the contents give {found}")));
    }
    let parent = parent.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
    let length = length.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
    let tree = Tree::new(leaves, parent, length).and_then(|tree| match names {
        Some(names) => tree.with_names(names),
        None => Ok(tree),
    });
    tree.map_err(|error| damaged(error.to_string()))
}

/// The container's header and the bytes after it.
///
/// Parsed here and not with `SafeTensors::deserialize`, whose sum of sizes can overflow on a hostile
/// header; nothing is allocated that the file does not hold.
fn open<'a>(bytes: &'a [u8], path: &Path) -> Result<(Metadata, &'a [u8])> {
    let foreign = |reason: String| Error::NotATree { path: path.into(), reason };
    let Some((size, rest)) = bytes.split_first_chunk() else {
        return Err(foreign(format!("it has only {} bytes", bytes.len())));
    };
    let size = u64::from_le_bytes(*size);
    let split = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size));
    let Some((header, data)) = split else {
        let reason = "no header fits its first 8 bytes; it is cut off or no safetensors file";
        return Err(foreign(reason.into()));
    };
    let metadata: Metadata = serde_json::from_slice(header)
        .map_err(|error| foreign(format!("no safetensors header: {error}")))?;
    if metadata.data_len() != data.len() {
        let (expected, found) = (metadata.data_len(), data.len());
        let reason = format!("its header speaks of {expected} bytes of data, but it has {found}");
        return Err(Error::DamagedTree { path: path.into(), reason });
    }
    Ok((metadata, data))
}

/// Our entry of the header, of a version we know.
fn read_entry(metadata: &Metadata, path: &Path) -> Result<Map<String, Value>> {
    let foreign = |reason: &str| Error::NotATree { path: path.into(), reason: reason.into() };
    let text = metadata.metadata().as_ref().and_then(|entries| entries.get(ENTRY));
    let text = text.ok_or_else(|| foreign("a safetensors file without an entry `treeport`"))?;
    let entry: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| foreign("its entry `treeport` is no JSON object"))?;
    if entry.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(foreign("its format is not `treeport.tree`"));
    }
    match entry.get("version").and_then(Value::as_u64) {
        Some(VERSION) => Ok(entry),
        Some(found) if found > VERSION => {
            Err(Error::NewerTree { path: path.into(), known: VERSION, found })
        }
        _ => Err(foreign("it has no version")),
    }
}

/// The bytes of a tensor with one axis.
fn tensor<'a>(metadata: &Metadata, data: &'a [u8], name: &str, dtype: Dtype) -> Option<&'a [u8]> {
    let info = metadata.info(name)?;
    let fits = info.dtype == dtype && info.shape.len() == 1;
    fits.then(|| data.get(info.data_offsets.0..info.data_offsets.1))?
}

fn strings(names: &Value) -> Option<Vec<String>> {
    names.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let tree = Tree::new(3, vec![3, 3, 4, 4, 4], vec![1.0, 1.0, 3.0, 2.0, 0.0]).unwrap();
        tree.with_names(["é", "it's", ""].map(String::from).to_vec()).unwrap()
    }

    /// A container like ours but for what `change` does to the entry, with an unknown tensor.
    fn changed(change: impl FnOnce(&mut Map<String, Value>)) -> Vec<u8> {
        let tree = tree();
        let parent: Vec<u8> = tree.parent.iter().flat_map(|p| p.to_le_bytes()).collect();
        let length: Vec<u8> = tree.length.iter().flat_map(|l| l.to_le_bytes()).collect();
        let sum = checksum(3, &parent, &length, tree.names());
        let mut map = serde_json::from_str(&entry(3, &sum, tree.names())).unwrap();
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
        let unlike = changed(|entry| drop(entry.insert("format".into(), json!("treeport.forest"))));
        for (bytes, expected) in [
            (&b"PK"[..], "it has only 2 bytes"),
            (b"((A:1,B:1):2,C:3);", "no header fits its first 8 bytes"),
            (b"\x04\0\0\0\0\0\0\0null", "no safetensors header"),
            (&other, "a safetensors file without an entry `treeport`"),
            (&unlike, "its format is not `treeport.tree`"),
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
        let mut broken = tree();
        broken.parent[0] = 2;
        let found = message(&broken.to_bytes().unwrap());
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
