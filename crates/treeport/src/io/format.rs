//! The table of file formats, recognized and opened here for all interfaces.
//!
//! The extension of a name tells the format, with or without `.gz` after it. The first bytes tell
//! it if a name has no extension, if two formats share one, or if there is no name (stdin and
//! pipes).
//!
//! A new format is a reader, a variant and a row here, and an arm in each method of [`Input`] for
//! content that it can hold.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::biom::{self, Biom};
use super::model_file::ModelFile;
use super::table::{self, Table, TableOptions};
use super::text;
use crate::columns::MissingColumns;
use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::memory;
use crate::metric::{Components, Geometry, GroundMetric};
use crate::model::Model;
use crate::names::{Named, reads_and_prints};
use crate::search::{IndexFile, SavedFile};

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
pub enum Wanted {
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

impl Wanted {
    /// Name in messages.
    fn name(self) -> &'static str {
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
    holds: &'static [Wanted],
    /// Advice for a format that this crate does not read.
    elsewhere: Option<&'static str>,
}

const TABLES: &[Wanted] = &[
    Wanted::Measures,
    Wanted::Clouds,
    Wanted::Points,
    Wanted::Matrix,
    Wanted::Graph,
    Wanted::Pairs,
];

/// Rows in the order of [`Format`]; of two rows whose `begins` match, the first wins.
const FORMATS: &[Row] = &[
    Row {
        format: Format::Npy,
        name: "npy",
        help: "a NumPy array",
        endings: &["npy"],
        begins: |bytes| bytes.starts_with(b"\x93NUMPY"),
        holds: &[Wanted::Measures, Wanted::Clouds, Wanted::Points, Wanted::Matrix],
        elsewhere: None,
    },
    Row {
        format: Format::Npz,
        name: "npz",
        help: "a SciPy sparse matrix, or clouds as a ragged archive",
        endings: &["npz"],
        begins: |bytes| bytes.starts_with(b"PK\x03\x04"),
        holds: &[Wanted::Measures, Wanted::Clouds, Wanted::Graph],
        elsewhere: None,
    },
    Row {
        format: Format::Csv,
        name: "csv",
        help: "text with cells between commas, semicolons or tabs, gzip or not",
        endings: &["csv", "txt"],
        begins: |_| false, // the fallback for text
        holds: TABLES,
        elsewhere: None,
    },
    Row {
        format: Format::Tsv,
        name: "tsv",
        help: "text with cells between tabs, gzip or not",
        endings: &["tsv", "tab"],
        begins: |_| false,
        holds: TABLES,
        elsewhere: None,
    },
    Row {
        format: Format::Biom,
        name: "biom",
        help: "a table of BIOM 1.0, gzip or not",
        endings: &["biom"],
        // No table of numbers begins with a brace.
        begins: |bytes| bytes.starts_with(b"{"),
        holds: &[Wanted::Measures],
        elsewhere: None,
    },
    Row {
        format: Format::Newick,
        name: "nwk",
        help: "trees as Newick text, gzip or not",
        endings: &["nwk", "newick"],
        begins: |bytes| matches!(bytes.trim_ascii_start().first(), Some(b'(' | b'[')),
        holds: &[Wanted::Model],
        elsewhere: None,
    },
    Row {
        format: Format::Model,
        name: "tree",
        help: "a tree, a forest or an index of treeport",
        endings: &["tree", "forest", "index"],
        begins: |_| false, // any model that is not Newick
        holds: &[Wanted::Model],
        elsewhere: None,
    },
    Row {
        format: Format::BiomHdf5,
        name: "biom-hdf5",
        help: "a table of BIOM 2.1, which is HDF5",
        endings: &["biom"],
        begins: |bytes| bytes.starts_with(biom::HDF5),
        holds: &[Wanted::Measures],
        elsewhere: Some(
            "read it from Python (`treeport.Measures.read`), or convert it: \
             `biom convert -i table.biom -o table.json.biom --to-json`",
        ),
    },
    Row {
        format: Format::AnnData,
        name: "h5ad",
        help: "an AnnData file",
        endings: &["h5ad"],
        begins: |_| false,
        holds: &[Wanted::Measures, Wanted::Clouds],
        elsewhere: Some("read it from Python (`treeport.Measures.read`, or `Clouds.read`)"),
    },
    Row {
        format: Format::Parquet,
        name: "parquet",
        help: "a Parquet table",
        endings: &["parquet", "pq"],
        begins: |bytes| bytes.starts_with(b"PAR1"),
        holds: &[Wanted::Measures, Wanted::Clouds],
        elsewhere: Some(
            "read it from Python (`treeport.Measures.read`, or `Clouds.read`), or write it as .csv",
        ),
    },
];

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

    /// Checks whether a format given for all inputs applies to this one: model formats apply only
    /// to models, and the others only to other inputs.
    fn may_be(self, wanted: Wanted) -> bool {
        self.row().holds.contains(&Wanted::Model) == (wanted == Wanted::Model)
    }

    /// The separator of cells, if the format defines it.
    pub(super) fn separator(self) -> Option<u8> {
        (self == Self::Tsv).then_some(b'\t')
    }
}

/// Lists the file extensions for a kind of content: `.a, .b or .c`. With `everywhere`, formats that
/// only Python reads are included.
pub fn endings(wanted: Wanted, everywhere: bool) -> String {
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
pub fn recognize(path: impl AsRef<Path>, wanted: Wanted, given: Option<Format>) -> Result<Format> {
    let path = path.as_ref();
    let first = || first_bytes(path).map_err(|cause| Error::read(path, cause));
    let ending = ending(path);
    let named = |row: &&Row| ending.as_deref().is_some_and(|ending| row.endings.contains(&ending));
    let given = given.filter(|given| given.may_be(wanted));
    // A model file may have any extension.
    let counts = |row: &&Row| wanted != Wanted::Model || row.holds.contains(&wanted);
    let mut rows: Vec<&Row> = FORMATS.iter().filter(named).filter(counts).collect();
    if rows.len() > 1 {
        let first = first()?;
        let fitting = rows.iter().copied().find(|row| (row.begins)(&first));
        rows = vec![fitting.unwrap_or(rows[0])];
    }
    match (rows.first(), given, ending) {
        (Some(row), ..) => Ok(row.format),
        (None, Some(given), _) => Ok(given),
        (None, None, Some(_)) if wanted != Wanted::Model => {
            Err(Error::UnknownFormat { known: endings(wanted, false) })
        }
        _ => Ok(by_bytes(&first()?, wanted)),
    }
}

/// Checks whether a file name has an extension of a format that can hold the content.
pub fn is_named_for(path: impl AsRef<Path>, wanted: Wanted) -> bool {
    let ending = ending(path.as_ref());
    let mut rows = FORMATS.iter().filter(|row| row.holds.contains(&wanted));
    ending.is_some_and(|ending| rows.any(|row| row.endings.contains(&ending.as_str())))
}

/// The extension in lower case; for `.gz`, the one before it.
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
fn by_bytes(first: &[u8], wanted: Wanted) -> Format {
    let text = if wanted == Wanted::Model { Format::Model } else { Format::Csv };
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

/// A file, or the content of a pipe in memory.
pub(super) trait Bytes: Read + Seek {}
impl<T: Read + Seek> Bytes for T {}

/// An open input of known format.
pub struct Input<'a> {
    name: PathBuf,
    format: Format,
    wanted: Wanted,
    pub(super) reader: Box<dyn Bytes + 'a>,
}

impl Input<'static> {
    /// Opens a file; `given` is its format if the name does not tell it ([`recognize`]). A pipe,
    /// which can be read only once, is read into memory.
    ///
    /// # Errors
    /// The file cannot be read; its extension is unknown.
    pub fn open(
        path: impl AsRef<Path>,
        wanted: Wanted,
        given: Option<Format>,
    ) -> Result<Input<'static>> {
        let path = path.as_ref();
        let read = |cause| Error::read(path, cause);
        if path.exists() && !path.is_file() && !path.is_dir() {
            let bytes = File::open(path).and_then(text::read_all).map_err(read)?;
            return Ok(Input::plain(path.into(), bytes, wanted, given));
        }
        let format = recognize(path, wanted, given)?;
        let mut file = File::open(path).map_err(read)?;
        let zipped = text::is_gzip(&mut file).map_err(read)?;
        // Only the readers of these formats need the raw bytes; text readers inflate as they read.
        let reader: Box<dyn Bytes> = if zipped && matches!(format, Format::Npy | Format::Npz) {
            Box::new(Cursor::new(text::read_all(file).map_err(read)?))
        } else {
            Box::new(BufReader::new(file))
        };
        Ok(Input { name: path.into(), format, wanted, reader })
    }
}

impl<'a> Input<'a> {
    /// Wraps bytes in memory, such as stdin, gzip or not; error messages use `name`. The format is
    /// `given`, or else recognized by the first bytes.
    ///
    /// # Errors
    /// The bytes are gzip and cannot be inflated.
    pub fn from_bytes(
        name: impl Into<PathBuf>,
        bytes: impl AsRef<[u8]> + 'a,
        wanted: Wanted,
        given: Option<Format>,
    ) -> Result<Self> {
        let name = name.into();
        if text::is_gzip(&mut Cursor::new(bytes.as_ref())).unwrap_or(false) {
            let inflated = text::read_all(bytes.as_ref());
            let inflated = inflated.map_err(|cause| Error::read(&name, cause))?;
            return Ok(Self::plain(name, inflated, wanted, given));
        }
        Ok(Self::plain(name, bytes, wanted, given))
    }

    /// Wraps bytes that are not gzip.
    fn plain(
        name: PathBuf,
        bytes: impl AsRef<[u8]> + 'a,
        wanted: Wanted,
        given: Option<Format>,
    ) -> Self {
        let given = given.filter(|given| given.may_be(wanted));
        let format = given.unwrap_or_else(|| by_bytes(bytes.as_ref(), wanted));
        Self { name, format, wanted, reader: Box::new(Cursor::new(bytes)) }
    }

    /// The format of the input.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads masses of measures. A first row that equals `names`, the names of the points, is a
    /// header even if they are numbers; `transpose` applies to text tables with measures in
    /// columns.
    ///
    /// # Errors
    /// The format holds no masses; the errors of the format's reader.
    pub fn masses(self, names: Option<&[String]>, transpose: bool) -> Result<Masses> {
        if transpose && !self.format.is_text_table() {
            let expected = "it is for tables of text (.csv, .tsv)";
            return Err(Error::BadOption { option: "transpose", value: "set".into(), expected });
        }
        match self.format {
            Format::Npy => Measures::read_npy_or_empty(self.reader).map(Masses::Plain),
            Format::Npz => Measures::read_npz_or_empty(self.reader).map(Masses::Plain),
            Format::Biom => biom::read(self.reader).map(Masses::Biom),
            Format::Csv | Format::Tsv if transpose => {
                Ok(Masses::Table(self.table(None)?.transposed()?))
            }
            Format::Csv | Format::Tsv => self.table(names).map(Masses::Table),
            _ => Err(self.refused()),
        }
    }

    /// Reads points, with their names if the input has them.
    ///
    /// # Errors
    /// The format holds no points; the errors of the format's reader.
    pub fn points(
        self,
        geometry: impl Into<Geometry>,
    ) -> Result<(GroundMetric, Option<Vec<String>>)> {
        match self.format {
            Format::Npy => Ok((GroundMetric::read_points_npy(self.reader, geometry)?, None)),
            Format::Csv | Format::Tsv => {
                GroundMetric::points_from_table(self.table(None)?, geometry)
            }
            _ => Err(self.refused()),
        }
    }

    /// Reads a distance matrix, with the names of its points if the input has them.
    ///
    /// # Errors
    /// The format holds no distance matrix; the errors of the format's reader.
    pub fn matrix(self) -> Result<(GroundMetric, Option<Vec<String>>)> {
        match self.format {
            Format::Npy => Ok((GroundMetric::read_matrix_npy(self.reader)?, None)),
            Format::Csv | Format::Tsv => GroundMetric::matrix_from_table(self.table(None)?),
            _ => Err(self.refused()),
        }
    }

    /// Reads a graph, connected or not, with the names of its nodes if the input has them.
    ///
    /// # Errors
    /// The format holds no graph; the errors of the format's reader.
    pub fn graph(self) -> Result<(Components, Option<Vec<String>>)> {
        match self.format {
            Format::Npz => Ok((Components::read_graph_npz(self.reader)?, None)),
            Format::Csv | Format::Tsv => Components::read_graph_csv(self.reader, None),
            _ => Err(self.refused()),
        }
    }

    /// Reads the columns of a table that its header names `wanted`, and calls `take` with the line
    /// number and the cells of each row.
    ///
    /// # Errors
    /// The format is not a table of text; errors of [`table::read_columns`].
    pub fn columns<const N: usize, E: From<Error>>(
        self,
        wanted: [&str; N],
        take: impl FnMut(u64, [&str; N]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.format {
            Format::Csv | Format::Tsv => {
                table::read_columns(self.reader, self.format.separator(), wanted, take)
            }
            _ => Err(self.refused().into()),
        }
    }

    /// Reads a model with its additional content. `names` are the points in order; the leaves of
    /// Newick text are matched to them.
    ///
    /// # Errors
    /// Errors of [`Model::read`].
    pub fn model(self, names: Option<&[String]>) -> Result<ModelFile> {
        match self.format {
            Format::Newick => {
                let text = text::read_text(self.reader);
                let text = text.map_err(|cause| Error::read(&self.name, cause))?;
                let model = Model::from_newick(&text, names)?;
                Ok(ModelFile { model, calibration: None, metric: None })
            }
            Format::Model => {
                let (name, bytes) = self.all()?;
                ModelFile::decode(&bytes, &name, names)
            }
            _ => Err(self.refused()),
        }
    }

    /// Reads an index of measures, or a model as in [`Input::model`].
    ///
    /// # Errors
    /// Errors of [`SavedFile::read`].
    pub fn index_or_model(self, names: Option<&[String]>) -> Result<SavedFile> {
        if self.format != Format::Model {
            return self.model(names).map(SavedFile::Model);
        }
        let (name, bytes) = self.all()?;
        SavedFile::decode(&bytes, &name, names)
    }

    /// Reads an index of measures.
    ///
    /// # Errors
    /// Errors of [`IndexFile::load`].
    pub fn index(self) -> Result<IndexFile> {
        let (name, bytes) = self.all()?;
        IndexFile::decode(&bytes, &name)
    }

    /// Returns the name and all bytes, inflated, in a buffer of exactly their size.
    fn all(mut self) -> Result<(PathBuf, Vec<u8>)> {
        let mut read = || -> io::Result<Vec<u8>> {
            if text::is_gzip(&mut self.reader)? {
                return text::read_all(&mut self.reader);
            }
            let size = self.reader.seek(SeekFrom::End(0))?;
            self.reader.rewind()?;
            let step = format_args!("the content of a file");
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let mut bytes =
                memory::with_capacity(step, size, "give less").map_err(io::Error::other)?;
            self.reader.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|cause| Error::read(&self.name, cause))?;
        Ok((self.name, bytes))
    }

    fn table(self, names: Option<&[String]>) -> Result<Table> {
        let options =
            TableOptions { separator: self.format.separator(), names: names.unwrap_or_default() };
        table::read(self.reader, &options)
    }

    /// Returns the error for a format that does not hold the expected content.
    pub(super) fn refused(&self) -> Error {
        let (what, known) = (self.wanted.name(), endings(self.wanted, false));
        self.format.elsewhere().unwrap_or(Error::WrongFormat { what, known })
    }
}

/// Masses as stored in a file, not yet matched to points.
#[derive(Clone, Debug)]
pub enum Masses {
    /// An array without names.
    Plain(Measures),
    /// A text table with measures in rows.
    Table(Table),
    /// A BIOM table, whose samples are measures.
    Biom(Biom),
}

impl Masses {
    /// Names of the measures, if the file has them.
    pub fn ids(&self) -> Option<&[String]> {
        match self {
            Self::Plain(_) => None,
            Self::Table(table) => table.ids.as_deref(),
            Self::Biom(table) => Some(&table.samples),
        }
    }

    /// Names of the points, if the file has them.
    pub fn points(&self) -> Option<&[String]> {
        match self {
            Self::Plain(_) => None,
            Self::Table(table) => table.header.as_deref(),
            Self::Biom(table) => Some(&table.observations),
        }
    }

    /// Returns the points without a column, if the file names its columns.
    pub fn missing(&self, points: Option<&[String]>) -> Option<MissingColumns> {
        MissingColumns::among(self.points()?, points?)
    }

    /// Returns the measures on points of these names, or in the order of the file if there are
    /// none.
    ///
    /// # Errors
    /// Errors of [`Measures::from_table`] and [`Measures::from_biom`].
    pub fn measures(self, points: Option<&[String]>) -> Result<Measures> {
        self.measures_or_empty(points)?.with_mass()
    }

    /// [`measures`](Self::measures) that admits measures of zero total mass
    /// ([`Measures::from_rows_or_empty`]).
    ///
    /// # Errors
    /// Errors of [`measures`](Self::measures), except for zero total mass.
    pub fn measures_or_empty(self, points: Option<&[String]>) -> Result<Measures> {
        match self {
            Self::Plain(measures) => Ok(measures),
            Self::Table(table) => Measures::from_table_or_empty(table, points),
            Self::Biom(table) => Measures::from_biom_or_empty(table, points),
        }
    }
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
