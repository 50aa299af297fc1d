//! The formats of files, as one table: recognized and opened here, for every face.
//!
//! The ending of a name tells the format, whether `.gz` follows it or not. Where a name has no ending, and where two
//! formats share one, the first bytes tell; so they do for stdin and pipes, which have no name.
//!
//! A new format is its reader, a variant and a row here, and a line in each answer of [`Input`] that
//! it can give.

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

/// The formats of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A NumPy array.
    Npy,
    /// A SciPy sparse matrix.
    Npz,
    /// Text with cells between commas, semicolons or tabs.
    Csv,
    /// Text with cells between tabs.
    Tsv,
    /// A table of BIOM 1.0.
    Biom,
    /// Trees as Newick text.
    Newick,
    /// A tree, a forest or an index of ours.
    Model,
    /// A table of BIOM 2.1, which Python reads.
    BiomHdf5,
    /// An AnnData file, which Python reads.
    AnnData,
    /// A Parquet table, which Python reads.
    Parquet,
}

/// What is wanted of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Masses of measures.
    Measures,
    /// Measures with points of their own.
    Clouds,
    /// Coordinates of points.
    Points,
    /// Distances between all points.
    Matrix,
    /// Edges of a graph.
    Graph,
    /// Pairs of measures, with labels or without.
    Pairs,
    /// A tree or a forest; any name will do.
    Model,
}

impl Wanted {
    /// What messages call it.
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
    /// What names end with; the first is shown in messages.
    endings: &'static [&'static str],
    /// Whether these may be the first bytes.
    begins: fn(&[u8]) -> bool,
    holds: &'static [Wanted],
    /// What to do where this crate does not read it.
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

/// In the order of [`Format`]; of rows that may begin with the same bytes the first counts.
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
        begins: |_| false, // anything that nothing else is
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

    /// Whether this crate reads it; Python reads the others.
    pub fn is_read_here(self) -> bool {
        self.row().elsewhere.is_none()
    }

    /// Whether it is a table of text.
    pub fn is_text_table(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }

    /// What to say of a format that this crate does not read.
    pub(super) fn elsewhere(self) -> Option<Error> {
        let row = self.row();
        row.elsewhere.map(|instead| Error::ForeignFormat { format: row.help, instead })
    }

    /// Whether a format that is given for all inputs is meant for this one: those of models are for
    /// models alone.
    fn may_be(self, wanted: Wanted) -> bool {
        self.row().holds.contains(&Wanted::Model) == (wanted == Wanted::Model)
    }

    /// What is between cells, where the format says so.
    pub(super) fn separator(self) -> Option<u8> {
        (self == Self::Tsv).then_some(b'\t')
    }
}

/// The endings of names of files that hold what is wanted: `.a, .b or .c`.
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

/// The format of a file: what its name tells, or else the format that is `given`, or what its first bytes tell.
///
/// # Errors
/// Its name ends with something unknown; it cannot be read.
pub fn recognize(path: impl AsRef<Path>, wanted: Wanted, given: Option<Format>) -> Result<Format> {
    let path = path.as_ref();
    let first = || first_bytes(path).map_err(|cause| Error::read(path, cause));
    let ending = ending(path);
    let named = |row: &&Row| ending.as_deref().is_some_and(|ending| row.endings.contains(&ending));
    let given = given.filter(|given| given.may_be(wanted));
    // A model can be in a file of any name.
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

/// Whether a name ends as those of files do that hold what is wanted.
pub fn is_named_for(path: impl AsRef<Path>, wanted: Wanted) -> bool {
    let ending = ending(path.as_ref());
    let mut rows = FORMATS.iter().filter(|row| row.holds.contains(&wanted));
    ending.is_some_and(|ending| rows.any(|row| row.endings.contains(&ending.as_str())))
}

/// The ending of a name in small letters, that before `.gz` where there is one.
fn ending(path: &Path) -> Option<String> {
    let ending = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    match ending(path) {
        Some(gzip) if gzip == "gz" => {
            ending(Path::new(path.file_stem()?)).filter(|before| before != "gz")
        }
        other => other,
    }
}

/// The format that the first bytes tell; text where they tell nothing.
fn by_bytes(first: &[u8], wanted: Wanted) -> Format {
    let text = if wanted == Wanted::Model { Format::Model } else { Format::Csv };
    let mut rows = FORMATS.iter().filter(|row| row.holds.contains(&wanted));
    rows.find(|row| (row.begins)(first)).map_or(text, |row| row.format)
}

/// Bytes that tell all formats from each other.
const FIRST: u64 = 64;

fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    text::inflated(File::open(path)?)?.take(FIRST).read_to_end(&mut first)?;
    Ok(first)
}

/// A file, or all of a pipe in memory.
pub(super) trait Bytes: Read + Seek {}
impl<T: Read + Seek> Bytes for T {}

/// An open input whose format is known.
pub struct Input<'a> {
    name: PathBuf,
    format: Format,
    wanted: Wanted,
    pub(super) reader: Box<dyn Bytes + 'a>,
}

impl Input<'static> {
    /// Opens a file; `given` is its format where its name does not tell ([`recognize`]). What can be
    /// read only once, such as a pipe, is read into memory.
    ///
    /// # Errors
    /// It cannot be read; its name ends with something unknown.
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
        // Only these are not read from the beginning to the end.
        let reader: Box<dyn Bytes> = if zipped && matches!(format, Format::Npy | Format::Npz) {
            Box::new(Cursor::new(text::read_all(file).map_err(read)?))
        } else {
            Box::new(BufReader::new(file))
        };
        Ok(Input { name: path.into(), format, wanted, reader })
    }
}

impl<'a> Input<'a> {
    /// An input that was read already, such as stdin, gzip or not; its name is for messages. Its format
    /// is the one that is `given`, or else what its first bytes tell.
    ///
    /// # Errors
    /// It is gzip that cannot be inflated.
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

    /// An input that is no gzip.
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

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Masses of measures. A first row of `names`, those of the points, is a header even if they are
    /// numbers; `transpose` is for tables of text with measures in their columns.
    ///
    /// # Errors
    /// What its reader refuses; a format that holds no masses.
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

    /// Points, with their names where the input has them.
    ///
    /// # Errors
    /// What its reader refuses; a format that holds no points.
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

    /// A matrix of distances, with the names of its points where the input has them.
    ///
    /// # Errors
    /// What its reader refuses; a format that holds no such matrix.
    pub fn matrix(self) -> Result<(GroundMetric, Option<Vec<String>>)> {
        match self.format {
            Format::Npy => Ok((GroundMetric::read_matrix_npy(self.reader)?, None)),
            Format::Csv | Format::Tsv => GroundMetric::matrix_from_table(self.table(None)?),
            _ => Err(self.refused()),
        }
    }

    /// A graph, in one component or several, with the names of its nodes where the input has them.
    ///
    /// # Errors
    /// What its reader refuses; a format that holds no graph.
    pub fn graph(self) -> Result<(Components, Option<Vec<String>>)> {
        match self.format {
            Format::Npz => Ok((Components::read_graph_npz(self.reader)?, None)),
            Format::Csv | Format::Tsv => Components::read_graph_csv(self.reader, None),
            _ => Err(self.refused()),
        }
    }

    /// Hands over the cells of those columns of a table that a header must name, and the line they are on.
    ///
    /// # Errors
    /// As [`table::read_columns`]; a format that is no table of text.
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

    /// A model with whatever else its file holds. `names` are the points in their order, to which the
    /// leaves of Newick text are matched.
    ///
    /// # Errors
    /// As [`Model::read`].
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

    /// An index of measures, or a model as of [`Input::model`].
    ///
    /// # Errors
    /// As [`SavedFile::read`].
    pub fn index_or_model(self, names: Option<&[String]>) -> Result<SavedFile> {
        if self.format != Format::Model {
            return self.model(names).map(SavedFile::Model);
        }
        let (name, bytes) = self.all()?;
        SavedFile::decode(&bytes, &name, names)
    }

    /// An index of measures.
    ///
    /// # Errors
    /// As [`IndexFile::load`].
    pub fn index(self) -> Result<IndexFile> {
        let (name, bytes) = self.all()?;
        IndexFile::decode(&bytes, &name)
    }

    /// Its name and all its bytes, inflated, with room for no more than those.
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

    /// Why a format is not read here.
    pub(super) fn refused(&self) -> Error {
        let (what, known) = (self.wanted.name(), endings(self.wanted, false));
        self.format.elsewhere().unwrap_or(Error::WrongFormat { what, known })
    }
}

/// Masses as a file has them, not yet matched to points.
#[derive(Clone, Debug)]
pub enum Masses {
    /// Without names.
    Plain(Measures),
    /// Measures in rows.
    Table(Table),
    /// Measures are samples.
    Biom(Biom),
}

impl Masses {
    /// The names of measures, where the file has them.
    pub fn ids(&self) -> Option<&[String]> {
        match self {
            Self::Plain(_) => None,
            Self::Table(table) => table.ids.as_deref(),
            Self::Biom(table) => Some(&table.samples),
        }
    }

    /// What the points are called, where the file says so.
    pub fn points(&self) -> Option<&[String]> {
        match self {
            Self::Plain(_) => None,
            Self::Table(table) => table.header.as_deref(),
            Self::Biom(table) => Some(&table.observations),
        }
    }

    /// What points of these names have no column, where the file has names of columns.
    pub fn missing(&self, points: Option<&[String]>) -> Option<MissingColumns> {
        MissingColumns::among(self.points()?, points?)
    }

    /// The measures on points of these names, or in the order of the file where there are none.
    ///
    /// # Errors
    /// As [`Measures::from_table`] and [`Measures::from_biom`].
    pub fn measures(self, points: Option<&[String]>) -> Result<Measures> {
        self.measures_or_empty(points)?.with_mass()
    }

    /// The same, where measures may have no mass ([`Measures::from_rows_or_empty`]).
    ///
    /// # Errors
    /// As [`measures`](Self::measures), but for such measures.
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
