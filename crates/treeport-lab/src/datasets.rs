//! Lookup of the real data sets and their files.
//!
//! The data are not part of the crate: the caller names a folder with one subfolder per set.
//! Missing or incomplete sets are reported, so that an experiment can run on the others.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use treeport::{Error, GroundMetric, Measures, PointMetric, Result};
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
pub const KNOWN: [(&str, Kind); 11] = [
    ("bbcsport", Kind::Text),
    ("bbcsport_w2v1k", Kind::Text),
    ("twitter", Kind::Text),
    ("ohsumed", Kind::Text),
    ("usca312", Kind::Matrix),
    ("usair97", Kind::Graph),
    ("belfast", Kind::Graph),
    ("kuopio", Kind::Graph),
    ("rnaseq_10x", Kind::Points),
    ("pbmc68k_reduced", Kind::Points),
    ("otu_globalpatterns", Kind::Tree),
];

/// Documents with their stop words, which a set of texts may have.
const WITH_STOP_WORDS: &str = "docs_with_stop_words.npz";

impl Kind {
    /// Names the files of a set: the required ones, and those that may be missing.
    fn files(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Text => (
                &["vocab.txt", "embeddings.npy", "docs.npz", "labels.npy", "split.npz"],
                &[WITH_STOP_WORDS],
            ),
            Self::Graph => (&["nodes.csv", "edges.csv"], &[]),
            Self::Matrix => (&["dist.npy", "names.txt"], &[]),
            Self::Points => (&["points.npy"], &["labels.npy"]),
            Self::Tree => (&["dist.npy", "docs.npz", "tree.nwk", "vocab.txt"], &[]),
        }
    }
}

/// A data set with all required files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Name of the set and of its folder.
    pub name: &'static str,
    /// Kind of content.
    pub kind: Kind,
    folder: PathBuf,
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
    /// Returns the path of a file of the set.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Opens a file of the set.
    pub fn open(&self, file: &str) -> Result<File> {
        let path = self.path(file);
        File::open(&path).map_err(|source| Error::read(path, source))
    }

    /// Reads the ground metric.
    pub fn metric(&self) -> Result<GroundMetric> {
        let points = |file| GroundMetric::read_points_npy(self.open(file)?, PointMetric::Euclidean);
        match self.kind {
            Kind::Text => points("embeddings.npy"),
            Kind::Points => points("points.npy"),
            Kind::Graph => Ok(GroundMetric::read_graph_csv(self.open("edges.csv")?, None)?.0),
            Kind::Matrix | Kind::Tree => GroundMetric::read_matrix_npy(self.open("dist.npy")?),
        }
    }

    /// Reads the documents, with stop words if available; empty if the set has no documents.
    pub fn documents(&self) -> Result<Measures> {
        match self.kind {
            Kind::Text if self.path(WITH_STOP_WORDS).is_file() => {
                Measures::read_npz(self.open(WITH_STOP_WORDS)?)
            }
            Kind::Text | Kind::Tree => Measures::read_npz(self.open("docs.npz")?),
            _ => Measures::from_dense(1, &[]),
        }
    }

    /// Hashes the contents of all its files.
    pub fn fingerprint(&self) -> Result<u64> {
        let (required, optional) = self.kind.files();
        let optional = optional.iter().filter(|file| self.path(file).is_file());
        let mut mix = Mix::new();
        for file in required.iter().chain(optional) {
            let path = self.path(file);
            mix.bytes(&fs::read(&path).map_err(|source| Error::read(path, source))?);
        }
        Ok(mix.number())
    }
}

/// Finds every known set below `root`; a missing folder has none.
pub fn find(root: &Path) -> DataFolder {
    let mut found = DataFolder::default();
    for (name, kind) in KNOWN {
        let folder = root.join(name);
        match kind.files().0.iter().map(|file| folder.join(file)).find(|path| !path.is_file()) {
            None => found.present.push(Dataset { name, kind, folder }),
            Some(path) => found.missing.push(MissingDataset { name, path }),
        }
    }
    found
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
