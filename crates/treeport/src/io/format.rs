//! The table of file formats, by which all interfaces recognize and open files.
//!
//! The extension of a name tells the format, with or without `.gz` after it. The first bytes tell
//! it if a name has no extension, if two formats share one, or if there is no name (stdin and
//! pipes).
//!
//! A new format is a reader, a variant and a row here, and an arm in each method of [`Input`] for
//! content that it can hold.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::biom;
pub use super::input::{Input, Masses};
use super::text;
use crate::error::{Error, Result};
use crate::names::{Named, reads_and_prints};

/// File formats of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A NumPy array.
    Npy,
    /// A SciPy sparse matrix.
    Npz,
    /// Text with cells separated by commas, semicolons or tabs.
    Csv,
    /// Text with cells separated by tabs.
    Tsv,
    /// A BIOM 1.0 table.
    Biom,
    /// Trees as Newick text.
    Newick,
    /// A tree, a forest or an index saved by treeport.
    Model,
    /// A BIOM 2.1 table, which only Python reads.
    BiomHdf5,
    /// An AnnData file, which only Python reads.
    AnnData,
    /// A Parquet table, which only Python reads.
    Parquet,
}

/// The kind of content expected in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Masses of measures.
    Measures,
    /// Measures with their own points.
    Clouds,
    /// Coordinates of points.
    Points,
    /// Distances between all points.
    Matrix,
    /// Edges of a graph.
    Graph,
    /// Pairs of measures, with or without labels.
    Pairs,
    /// A tree or a forest; the file may have any name.
    Model,
}

/// Former name of [`InputKind`].
#[deprecated(since = "0.4.0", note = "renamed to `InputKind`")]
pub type Wanted = InputKind;

impl InputKind {
    /// Returns the name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Measures => "measures",
            Self::Clouds => "clouds",
            Self::Points => "points",
            Self::Matrix => "a distance matrix",
            Self::Graph => "a graph",
            Self::Pairs => "a list of pairs",
            Self::Model => "a model",
        }
    }
}

struct Row {
    format: Format,
    name: &'static str,
    help: &'static str,
    /// Extensions; the first is shown in messages.
    endings: &'static [&'static str],
    /// Checks whether a file of this format may begin with these bytes.
    begins: fn(&[u8]) -> bool,
    holds: &'static [InputKind],
    /// Advice for a format that this crate does not read.
    elsewhere: Option<&'static str>,
}

const TABLES: &[InputKind] = &[
    InputKind::Measures,
    InputKind::Clouds,
    InputKind::Points,
    InputKind::Matrix,
    InputKind::Graph,
    InputKind::Pairs,
];

/// Rows in the order of [`Format`]; of two rows whose `begins` match, the first wins.
const FORMATS: &[Row] = &[
    Row {
        begins: |bytes| bytes.starts_with(b"\x93NUMPY"),
        holds: &[InputKind::Measures, InputKind::Clouds, InputKind::Points, InputKind::Matrix],
        ..row(Format::Npy, "npy", "a NumPy array", &["npy"])
    },
    Row {
        begins: |bytes| bytes.starts_with(b"PK\x03\x04"),
        holds: &[InputKind::Measures, InputKind::Clouds, InputKind::Graph],
        ..row(Format::Npz, "npz", "a SciPy sparse matrix, or clouds as a ragged archive", &["npz"])
    },
    Row {
        holds: TABLES, // the fallback for text
        ..row(
            Format::Csv,
            "csv",
            "text with cells between commas, semicolons or tabs, gzip or not",
            &["csv", "txt"],
        )
    },
    Row {
        holds: TABLES,
        ..row(Format::Tsv, "tsv", "text with cells between tabs, gzip or not", &["tsv", "tab"])
    },
    Row {
        // No table of numbers begins with a brace.
        begins: |bytes| bytes.starts_with(b"{"),
        holds: &[InputKind::Measures],
        ..row(Format::Biom, "biom", "a table of BIOM 1.0, gzip or not", &["biom"])
    },
    Row {
        begins: |bytes| matches!(bytes.trim_ascii_start().first(), Some(b'(' | b'[')),
        holds: &[InputKind::Model],
        ..row(Format::Newick, "nwk", "trees as Newick text, gzip or not", &["nwk", "newick"])
    },
    Row {
        holds: &[InputKind::Model], // any model that is not Newick
        ..row(
            Format::Model,
            "tree",
            "a tree, a forest or an index of treeport",
            &["tree", "forest", "index"],
        )
    },
    Row {
        begins: |bytes| bytes.starts_with(biom::HDF5),
        holds: &[InputKind::Measures],
        elsewhere: Some(
            "read it from Python (`treeport.Measures.read`), or convert it: \
             `biom convert -i table.biom -o table.json.biom --to-json`",
        ),
        ..row(Format::BiomHdf5, "biom-hdf5", "a table of BIOM 2.1, which is HDF5", &["biom"])
    },
    Row {
        holds: &[InputKind::Measures, InputKind::Clouds],
        elsewhere: Some("read it from Python (`treeport.Measures.read`, or `Clouds.read`)"),
        ..row(Format::AnnData, "h5ad", "an AnnData file", &["h5ad"])
    },
    Row {
        begins: |bytes| bytes.starts_with(b"PAR1"),
        holds: &[InputKind::Measures, InputKind::Clouds],
        elsewhere: Some(
            "read it from Python (`treeport.Measures.read`, or `Clouds.read`), or write it as .csv",
        ),
        ..row(Format::Parquet, "parquet", "a Parquet table", &["parquet", "pq"])
    },
];

/// Returns the row of a format that is not recognized by its first bytes and holds nothing.
const fn row(
    format: Format,
    name: &'static str,
    help: &'static str,
    endings: &'static [&'static str],
) -> Row {
    Row { format, name, help, endings, begins: |_| false, holds: &[], elsewhere: None }
}

impl Named for Format {
    const WHAT: &'static str = "the format";
    const ALL: &'static [Self] = &{
        let mut all = [Self::Npy; FORMATS.len()];
        let mut k = 0;
        while k < all.len() {
            all[k] = FORMATS[k].format;
            k += 1;
        }
        all
    };

    fn name(self) -> &'static str {
        self.row().name
    }

    fn help(self) -> &'static str {
        self.row().help
    }
}

reads_and_prints!(Format);

impl Format {
    fn row(self) -> &'static Row {
        &FORMATS[self as usize]
    }

    /// Checks whether this crate reads the format; Python reads the others.
    pub fn is_read_here(self) -> bool {
        self.row().elsewhere.is_none()
    }

    /// Checks whether the format is a table of text.
    pub fn is_text_table(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }

    /// Returns the error for a format that this crate does not read.
    pub(super) fn elsewhere(self) -> Option<Error> {
        let row = self.row();
        row.elsewhere.map(|instead| Error::ForeignFormat { format: row.help, instead })
    }

    /// Checks whether a format given for all inputs applies: to models, or to all others.
    pub(super) fn may_be(self, wanted: InputKind) -> bool {
        self.row().holds.contains(&InputKind::Model) == (wanted == InputKind::Model)
    }

    /// Returns the separator of cells, if the format defines it.
    pub(super) fn separator(self) -> Option<u8> {
        (self == Self::Tsv).then_some(b'\t')
    }
}

/// Lists the extensions for a kind of content; with `everywhere`, also those of Python alone.
pub fn endings(wanted: InputKind, everywhere: bool) -> String {
    let mut endings: Vec<String> = Vec::new();
    for row in FORMATS.iter().filter(|row| row.holds.contains(&wanted)) {
        let ending = format!(".{}", row.endings[0]);
        if (everywhere || row.format.is_read_here()) && !endings.contains(&ending) {
            endings.push(ending);
        }
    }
    let last = endings.pop().unwrap_or_default();
    if endings.is_empty() { last } else { format!("{} or {last}", endings.join(", ")) }
}

/// Recognizes the format of a file by its extension, else takes the `given` format, else recognizes
/// it by the first bytes.
///
/// # Errors
/// The extension is unknown; the file cannot be read.
pub fn recognize(
    path: impl AsRef<Path>,
    wanted: InputKind,
    given: Option<Format>,
) -> Result<Format> {
    let path = path.as_ref();
    let first = || first_bytes(path).map_err(|cause| Error::read(path, cause));
    let ending = ending(path);
    let named = |row: &&Row| ending.as_deref().is_some_and(|ending| row.endings.contains(&ending));
    let given = given.filter(|given| given.may_be(wanted));
    // A model file may have any extension.
    let counts = |row: &&Row| wanted != InputKind::Model || row.holds.contains(&wanted);
    let mut rows: Vec<&Row> = FORMATS.iter().filter(named).filter(counts).collect();
    if rows.len() > 1 {
        let first = first()?;
        let fitting = rows.iter().copied().find(|row| (row.begins)(&first));
        rows = vec![fitting.unwrap_or(rows[0])];
    }
    match (rows.first(), given, ending) {
        (Some(row), ..) => Ok(row.format),
        (None, Some(given), _) => Ok(given),
        (None, None, Some(_)) if wanted != InputKind::Model => {
            Err(Error::UnknownFormat { known: endings(wanted, false) })
        }
        _ => Ok(by_bytes(&first()?, wanted)),
    }
}

/// Checks whether a file name has an extension of a format that can hold the content.
pub fn is_named_for(path: impl AsRef<Path>, wanted: InputKind) -> bool {
    let ending = ending(path.as_ref());
    let mut rows = FORMATS.iter().filter(|row| row.holds.contains(&wanted));
    ending.is_some_and(|ending| rows.any(|row| row.endings.contains(&ending.as_str())))
}

/// Returns the extension in lower case; for `.gz`, the one before it.
fn ending(path: &Path) -> Option<String> {
    let ending = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    match ending(path) {
        Some(gzip) if gzip == "gz" => {
            ending(Path::new(path.file_stem()?)).filter(|before| before != "gz")
        }
        other => other,
    }
}

/// Recognizes a format by its first bytes; the fallback is text or a treeport model.
pub(super) fn by_bytes(first: &[u8], wanted: InputKind) -> Format {
    let text = if wanted == InputKind::Model { Format::Model } else { Format::Csv };
    let mut rows = FORMATS.iter().filter(|row| row.holds.contains(&wanted));
    rows.find(|row| (row.begins)(first)).map_or(text, |row| row.format)
}

/// Number of bytes that distinguishes all formats.
const FIRST: u64 = 64;

fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    text::inflated(File::open(path)?)?.take(FIRST).read_to_end(&mut first)?;
    Ok(first)
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
