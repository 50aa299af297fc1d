//! Opens files and pipes of any supported format and reads their content.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::biom::{self, Biom};
use super::format::{Format, InputKind, by_bytes, endings, recognize};
use super::model_file::ModelFile;
use super::table::{self, Table, TableOptions};
use super::text;
use crate::error::{Error, Result};
use crate::measures::{Measures, MissingColumns};
use crate::memory;
use crate::metric::{Components, Geometry, GroundMetric};
use crate::model::Model;
use crate::search::{IndexFile, SavedFile};

/// A file, or the content of a pipe in memory.
pub(super) trait Bytes: Read + Seek {}
impl<T: Read + Seek> Bytes for T {}

/// An open input of known format.
pub struct Input<'a> {
    name: PathBuf,
    format: Format,
    wanted: InputKind,
    pub(super) reader: Box<dyn Bytes + 'a>,
}

impl Input<'static> {
    /// Opens a file; `given` is its format if the name does not tell it ([`recognize`]). A pipe,
    /// which can be read only once, is read into memory.
    pub fn open(
        path: impl AsRef<Path>,
        wanted: InputKind,
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
    pub fn from_bytes(
        name: impl Into<PathBuf>,
        bytes: impl AsRef<[u8]> + 'a,
        wanted: InputKind,
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
        wanted: InputKind,
        given: Option<Format>,
    ) -> Self {
        let given = given.filter(|given| given.may_be(wanted));
        let format = given.unwrap_or_else(|| by_bytes(bytes.as_ref(), wanted));
        Self { name, format, wanted, reader: Box::new(Cursor::new(bytes)) }
    }

    /// Returns the format of the input.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads masses of measures. A first row that equals `names`, the names of the points, is a
    /// header even if they are numbers; `transpose` applies to text tables with measures in
    /// columns.
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
    pub fn matrix(self) -> Result<(GroundMetric, Option<Vec<String>>)> {
        match self.format {
            Format::Npy => Ok((GroundMetric::read_matrix_npy(self.reader)?, None)),
            Format::Csv | Format::Tsv => GroundMetric::matrix_from_table(self.table(None)?),
            _ => Err(self.refused()),
        }
    }

    /// Reads a graph, connected or not, with the names of its nodes if the input has them.
    pub fn graph(self) -> Result<(Components, Option<Vec<String>>)> {
        match self.format {
            Format::Npz => Ok((Components::read_graph_npz(self.reader)?, None)),
            Format::Csv | Format::Tsv => Components::read_graph_csv(self.reader, None),
            _ => Err(self.refused()),
        }
    }

    /// Reads the columns of a table that its header names `wanted`, and calls `take` with the line
    /// number and the cells of each row.
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
    pub fn index_or_model(self, names: Option<&[String]>) -> Result<SavedFile> {
        if self.format != Format::Model {
            return self.model(names).map(SavedFile::Model);
        }
        let (name, bytes) = self.all()?;
        SavedFile::decode(&bytes, &name, names)
    }

    /// Reads an index of measures.
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
            let step = "the content of a file";
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
    /// Returns the names of the measures, if the file has them.
    pub fn ids(&self) -> Option<&[String]> {
        match self {
            Self::Plain(_) => None,
            Self::Table(table) => table.ids.as_deref(),
            Self::Biom(table) => Some(&table.samples),
        }
    }

    /// Returns the names of the points, if the file has them.
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
    pub fn measures(self, points: Option<&[String]>) -> Result<Measures> {
        self.measures_or_empty(points)?.with_mass()
    }

    /// Returns the [`measures`](Self::measures), which may have zero total mass
    /// ([`Measures::from_rows_or_empty`]).
    pub fn measures_or_empty(self, points: Option<&[String]>) -> Result<Measures> {
        match self {
            Self::Plain(measures) => Ok(measures),
            Self::Table(table) => Measures::from_table_or_empty(table, points),
            Self::Biom(table) => Measures::from_biom_or_empty(table, points),
        }
    }
}
