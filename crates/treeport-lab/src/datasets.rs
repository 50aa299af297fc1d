//! Lookup of the real data sets and their files.
//!
//! The data are not part of the crate: the caller names a folder with one subfolder per set.
//! Missing or incomplete sets are reported, so that an experiment can run on the others.

use std::fs;
use std::path::{Path, PathBuf};

use treeport::Error;
use treeport_jobs::fingerprint::Mix;

/// Kind of content of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words with embeddings, and documents as measures on them.
    Text,
    /// Nodes and weighted edges; distances are shortest paths.
    Graph,
    /// A distance matrix with names.
    Matrix,
    /// Coordinates.
    Points,
    /// Samples on the tips of a known tree, with the distances of the tips.
    Tree,
}

/// Known data sets, in the order of their tables.
pub const KNOWN: [(&str, Kind); 10] = [
    ("bbcsport", Kind::Text),
    ("bbcsport_w2v1k", Kind::Text),
    ("twitter", Kind::Text),
    ("usca312", Kind::Matrix),
    ("usair97", Kind::Graph),
    ("belfast", Kind::Graph),
    ("kuopio", Kind::Graph),
    ("rnaseq_10x", Kind::Points),
    ("pbmc68k_reduced", Kind::Points),
    ("otu_globalpatterns", Kind::Tree),
];

/// Files of a data set; those in `Option` may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the data folder's README describes each file")]
pub enum Files {
    Text {
        vocab: PathBuf,
        embeddings: PathBuf,
        docs: PathBuf,
        docs_with_stop_words: Option<PathBuf>,
        labels: PathBuf,
        split: PathBuf,
    },
    Graph {
        nodes: PathBuf,
        edges: PathBuf,
    },
    Matrix {
        dist: PathBuf,
        names: PathBuf,
    },
    Points {
        points: PathBuf,
        labels: Option<PathBuf>,
    },
    Tree {
        dist: PathBuf,
        docs: PathBuf,
        newick: PathBuf,
        vocab: PathBuf,
    },
}

/// A data set with all required files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Name of the set and of its folder.
    pub name: &'static str,
    /// Kind of content.
    pub kind: Kind,
    /// Paths of its files.
    pub files: Files,
}

/// A data set that cannot be used, with the first missing file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDataset {
    /// Name of the set and of its folder.
    pub name: &'static str,
    /// Path of the missing file.
    pub path: PathBuf,
}

/// Content of a data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataFolder {
    /// Complete data sets.
    pub present: Vec<Dataset>,
    /// Missing or incomplete data sets.
    pub missing: Vec<MissingDataset>,
}

impl DataFolder {
    /// Returns the set of this name, if it is complete.
    pub fn get(&self, name: &str) -> Option<&Dataset> {
        self.present.iter().find(|set| set.name == name)
    }
}

impl Dataset {
    /// Hashes the contents of all its files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn fingerprint(&self) -> Result<u64, Error> {
        let mut mix = Mix::new();
        for path in self.files.all() {
            let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
            mix.bytes(&bytes);
        }
        Ok(mix.number())
    }
}

impl Files {
    /// Returns all files in a fixed order.
    fn all(&self) -> Vec<&Path> {
        let (files, others): (Vec<&PathBuf>, [Option<&PathBuf>; 1]) = match self {
            Self::Text { vocab, embeddings, docs, docs_with_stop_words, labels, split } => {
                (vec![vocab, embeddings, docs, labels, split], [docs_with_stop_words.as_ref()])
            }
            Self::Graph { nodes, edges } => (vec![nodes, edges], [None]),
            Self::Matrix { dist, names } => (vec![dist, names], [None]),
            Self::Points { points, labels } => (vec![points], [labels.as_ref()]),
            Self::Tree { dist, docs, newick, vocab } => (vec![dist, docs, newick, vocab], [None]),
        };
        files.into_iter().chain(others.into_iter().flatten()).map(PathBuf::as_path).collect()
    }
}

/// Finds every known set below `root`; a missing folder has none.
pub fn find(root: &Path) -> DataFolder {
    let mut found = DataFolder::default();
    for (name, kind) in KNOWN {
        match files(&root.join(name), kind) {
            Ok(files) => found.present.push(Dataset { name, kind, files }),
            Err(path) => found.missing.push(MissingDataset { name, path }),
        }
    }
    found
}

/// Returns the files of a kind in a folder, or the first missing one.
fn files(folder: &Path, kind: Kind) -> Result<Files, PathBuf> {
    let file = |name: &str| {
        let path = folder.join(name);
        if path.is_file() { Ok(path) } else { Err(path) }
    };
    Ok(match kind {
        Kind::Text => Files::Text {
            vocab: file("vocab.txt")?,
            embeddings: file("embeddings.npy")?,
            docs: file("docs.npz")?,
            docs_with_stop_words: file("docs_with_stop_words.npz").ok(),
            labels: file("labels.npy")?,
            split: file("split.npz")?,
        },
        Kind::Graph => Files::Graph { nodes: file("nodes.csv")?, edges: file("edges.csv")? },
        Kind::Matrix => Files::Matrix { dist: file("dist.npy")?, names: file("names.txt")? },
        Kind::Points => {
            Files::Points { points: file("points.npy")?, labels: file("labels.npy").ok() }
        }
        Kind::Tree => Files::Tree {
            dist: file("dist.npy")?,
            docs: file("docs.npz")?,
            newick: file("tree.nwk")?,
            vocab: file("vocab.txt")?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_a_report() {
        let found = find(Path::new("no/such/folder"));
        assert!(found.present.is_empty());
        assert_eq!(found.missing.len(), KNOWN.len());
        assert!(found.get("twitter").is_none());
    }

    #[test]
    fn complete_sets_are_present_and_others_name_the_file() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for file in
            ["kuopio/nodes.csv", "kuopio/edges.csv", "usair97/nodes.csv", "rnaseq_10x/points.npy"]
        {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("can make folders");
            fs::write(path, "").expect("can write");
        }
        let found = find(root.path());
        let names: Vec<_> = found.present.iter().map(|set| set.name).collect();
        assert_eq!(names, ["kuopio", "rnaseq_10x"]);
        let usair = found.missing.iter().find(|m| m.name == "usair97").expect("incomplete");
        assert!(usair.path.ends_with("usair97/edges.csv"));
        let points = &found.get("rnaseq_10x").expect("present").files;
        assert!(matches!(points, Files::Points { labels: None, .. }));
    }

    #[test]
    fn a_set_is_known_by_the_contents_of_its_files() {
        let number = |edges: &str| {
            let root = tempfile::tempdir().expect("a temporary folder");
            fs::create_dir(root.path().join("kuopio")).expect("can make folders");
            fs::write(root.path().join("kuopio/nodes.csv"), "a\nb\n").expect("can write");
            fs::write(root.path().join("kuopio/edges.csv"), edges).expect("can write");
            find(root.path()).get("kuopio").expect("present").fingerprint().expect("readable")
        };
        assert_eq!(number("0,1,2.5\n"), number("0,1,2.5\n"));
        assert_ne!(number("0,1,2.5\n"), number("0,1,2.6\n"));
        assert_ne!(number("0,1,2.5\n"), number("0,1,2.5\n\n"));
    }
}
