//! Clouds in files: long tables of text, ragged NumPy archives, arrays of three axes, and folders
//! of arrays.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::format::{Input, InputKind};
use super::long_table::LongTable;
use super::{Array, Data, bad, file, npy, npz, rows_and_columns};
use crate::clouds::{Clouds, uniform_masses};
use crate::error::{Error, Result, show_shape};
use crate::memory;

pub(super) const STEP: &str = "the points of all clouds";
pub(super) const INSTEAD: &str = "read some of the clouds at a time";

/// The columns that hold the IDs, the masses and the coordinates of points.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CloudOptions {
    /// The column of a long table with the ID of each point's cloud; `id` by default.
    pub groupby: Option<String>,
    /// The column of masses. In a long table its name, by default `mass` if there is such a column;
    /// in arrays `first` or `last`. Without a column of masses, the points of a cloud share a mass
    /// of 1 equally.
    pub weights: Option<String>,
    /// The coordinate columns of a long table, in this order; all other columns by default.
    pub columns: Option<Vec<String>>,
}

impl Clouds {
    /// Reads clouds from a file or a folder. A file is a long table (`.csv`, `.tsv`, gzip or not),
    /// a ragged archive (`.npz`) or an array of three axes (`.npy`). A folder has an array of
    /// points for each cloud (`.npy`), sorted by file name; the stems are the IDs. Clouds of zero
    /// mass are admitted; [`with_mass`](Self::with_mass) refuses them.
    ///
    /// # Errors
    /// The file cannot be read or has another format; the clouds are invalid as in
    /// [`or_empty`](Self::or_empty), named by their IDs.
    ///
    /// # Example
    /// ```
    /// use treeport::Clouds;
    /// use treeport::io::CloudOptions;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("jets.csv");
    /// std::fs::write(&path, "id,mass,x1,x2\nj1,0.5,0,0\nj1,0.5,0,1\nj2,1,3,4\n")?;
    /// let clouds = Clouds::read(&path, &CloudOptions::default())?;
    /// assert_eq!(clouds.names().unwrap(), ["j1", "j2"]);
    /// assert_eq!((clouds.dim(), clouds.starts()), (2, &[0, 2, 3][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>, options: &CloudOptions) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            of_folder(path, options)
        } else {
            Input::open(path, InputKind::Clouds, None)?.clouds(options)
        }
    }

    /// Writes `points`, `offsets`, `masses` and, if clouds have names, `ids` to a ragged archive
    /// (`.npz`) that [`read`](Self::read) and NumPy read. The write is atomic.
    ///
    /// # Errors
    /// The file cannot be written; the clouds have penalties of their own, which an archive cannot
    /// hold.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        file::save(path, |out| self.write_npz(out).map_err(|cause| Error::write(path, cause)))
    }

    /// Writes the archive of [`save`](Self::save) to an output.
    ///
    /// # Errors
    /// The output fails; the clouds have penalties of their own, which an archive cannot hold.
    pub fn write_npz(&self, out: impl Write + Seek) -> io::Result<()> {
        if self.own_penalties().is_some() || self.births().is_some() {
            let reason = "the clouds have penalties of their own, which an archive does not hold";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let starts = npz::signed(self.starts())?;
        let mut masses = Vec::with_capacity(self.points());
        (0..self.len()).for_each(|cloud| self.masses_of(cloud, &mut masses));
        npz::write_archive(out, |archive| {
            let shape = [self.points(), self.dim()];
            npz::member(archive, "points", |out| npy::write_f64(&shape, self.coordinates(), out))?;
            npz::member(archive, "offsets", |out| npy::write_i64(&[starts.len()], &starts, out))?;
            npz::member(archive, "masses", |out| npy::write_f64(&[masses.len()], &masses, out))?;
            match self.names() {
                Some(names) => npz::member(archive, "ids", |out| npy::write_texts(names, out)),
                None => Ok(()),
            }
        })
    }
}

impl Input<'_> {
    /// Reads clouds, including clouds of zero mass.
    pub fn clouds(self, options: &CloudOptions) -> Result<Clouds> {
        use super::format::Format;
        match self.format() {
            Format::Csv | Format::Tsv => {
                let separator = self.format().separator();
                LongTable::read(self.reader, separator, options)
            }
            Format::Npz => of_archive(self.reader, options),
            Format::Npy => of_array(self.reader, options),
            _ => Err(self.refused()),
        }
    }
}

/// Points of clouds, appended while a file is read.
#[derive(Default)]
pub(super) struct StackedPoints {
    pub(super) dim: usize,
    pub(super) coordinates: Vec<f64>,
    pub(super) start: Vec<usize>,
    pub(super) masses: Option<Vec<f64>>,
    pub(super) names: Option<Vec<String>>,
}

impl StackedPoints {
    pub(super) fn finish(self) -> Result<Clouds> {
        let masses = match self.masses {
            Some(masses) => masses,
            None => uniform_masses(self.dim, self.coordinates.len(), &self.start)?,
        };
        Clouds::named(self.dim, self.coordinates, &self.start, &masses, self.names)
    }
}

/// The column of an array that holds the masses.
#[derive(Clone, Copy)]
enum MassColumn {
    None,
    First,
    Last,
}

impl MassColumn {
    /// Parses the options for arrays, whose columns have no names.
    fn of(options: &CloudOptions) -> Result<Self> {
        refuse_columns(options)?;
        match options.weights.as_deref() {
            None => Ok(Self::None),
            Some("first") => Ok(Self::First),
            Some("last") => Ok(Self::Last),
            Some(other) => Err(Error::BadOption {
                option: "weights",
                value: other.into(),
                expected: "masses are in the `first` or the `last` column of arrays",
            }),
        }
    }

    /// Splits an array with rows of `width` numbers into dimension, coordinates and masses.
    fn split(self, width: usize, values: Vec<f64>) -> Result<(usize, Vec<f64>, Option<Vec<f64>>)> {
        let at = match self {
            Self::None => return Ok((width, values, None)),
            Self::First => 0,
            Self::Last => width.saturating_sub(1),
        };
        if width < 2 {
            return Err(Error::Shape {
                what: "the array of points with masses".into(),
                expected: "a column for masses and at least one for coordinates".into(),
                found: format!("rows of {width}"),
            });
        }
        memory::check(STEP, 8 * values.len() as u64, INSTEAD)?;
        let masses = values.chunks_exact(width).map(|row| row[at]).collect();
        let rows = values.chunks_exact(width);
        let rest = rows.flat_map(|row| row[..at].iter().chain(&row[at + 1..]).copied());
        Ok((width - 1, rest.collect(), Some(masses)))
    }
}

/// Refuses column names for arrays, whose columns have none.
fn refuse_columns(options: &CloudOptions) -> Result<()> {
    let given = [
        ("groupby", options.groupby.clone()),
        ("columns", options.columns.as_ref().map(|all| all.join(","))),
    ];
    for (option, value) in given {
        if let Some(value) = value {
            let expected = "it names columns of long tables (.csv, .tsv), and arrays have no names";
            return Err(Error::BadOption { option, value, expected });
        }
    }
    Ok(())
}

/// Reads an array of clouds of equal sizes.
fn of_array(reader: impl Read, options: &CloudOptions) -> Result<Clouds> {
    let columns = MassColumn::of(options)?;
    let check = |shape: &[usize]| {
        let expected = match shape {
            // Such a file has no bytes for the clouds that its header announces.
            [clouds, points, width] if *clouds > 0 && (*points == 0 || *width == 0) => {
                "at least one point in each cloud, and one coordinate; clouds without points are a ragged .npz or a folder of .npy"
            }
            [_, _, _] => return Ok(()),
            _ => {
                "(clouds, points, coordinates); clouds of other sizes are a ragged .npz or a folder of .npy"
            }
        };
        let (what, found) = ("the array of clouds".into(), show_shape(shape));
        Err(Error::Shape { what, expected: expected.into(), found })
    };
    let array = npy::read_if(reader, check)?;
    let (clouds, points, width) = (array.shape[0], array.shape[1], array.shape[2]);
    let (dim, coordinates, masses) = columns.split(width, array.into_f64()?)?;
    let start = (0..=clouds).map(|cloud| cloud * points).collect();
    StackedPoints { dim, coordinates, start, masses, names: None }.finish()
}

/// Reads a ragged archive: `points`, `offsets` and optionally `masses` and `ids`.
fn of_archive(reader: impl Read + Seek, options: &CloudOptions) -> Result<Clouds> {
    let columns = MassColumn::of(options)?;
    let mut archive = npz::open(reader)?;
    let expected =
        "; clouds are `points` and `offsets`, with `masses` and `ids` where they have them";
    let points = npz::read_member(&mut archive, "points", expected)?;
    let width = if points.shape.len() == 1 {
        1
    } else {
        rows_and_columns(&points.shape, "the member `points`")?.1
    };
    let (dim, coordinates, own) =
        columns.split(width, points.into_f64().map_err(|e| npz::inside("points", e))?)?;
    let start = npz::read_member(&mut archive, "offsets", expected)?;
    let start = start.to_indices().map_err(|e| npz::inside("offsets", e))?;
    let masses =
        npz::read_optional_member(&mut archive, "masses")?.map(Array::into_f64).transpose();
    let masses = masses.map_err(|e| npz::inside("masses", e))?;
    if own.is_some() && masses.is_some() {
        let expected = "the archive has a member `masses`; leave it out";
        return Err(Error::BadOption { option: "weights", value: "set".into(), expected });
    }
    let names = npz::read_optional_member(&mut archive, "ids")?.map(ids).transpose()?;
    StackedPoints { dim, coordinates, start, masses: own.or(masses), names }.finish()
}

/// Converts IDs to text; integers keep their decimal form.
fn ids(array: Array) -> Result<Vec<String>> {
    match array.data {
        Data::Text(ids) => Ok(ids),
        Data::I64(ids) => Ok(ids.iter().map(ToString::to_string).collect()),
        _ => Err(bad("npz", "member `ids`", "texts or whole numbers are expected")),
    }
}

/// Reads a folder of arrays, one per cloud.
fn of_folder(folder: &Path, options: &CloudOptions) -> Result<Clouds> {
    let columns = MassColumn::of(options)?;
    let read = |cause| Error::read(folder, cause);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy")) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(bad("npy", "folder", "it has no .npy files; each is the points of a cloud"));
    }
    let mut all = StackedPoints { start: vec![0], ..StackedPoints::default() };
    let (mut names, mut masses) = (Vec::new(), Vec::new());
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (dim, coordinates, own) =
            one_array(&path, columns).map_err(|error| in_cloud(names.len(), &name, error))?;
        // An empty array has no rows, so its dimension is unknown.
        if all.dim == 0 {
            all.dim = dim;
        }
        if dim != 0 && dim != all.dim {
            let what = format!("the array of cloud {name}");
            let expected = format!("rows of {}, like the arrays before it", all.dim);
            return Err(Error::Shape { what, expected, found: format!("rows of {dim}") });
        }
        memory::grow(&mut all.coordinates, STEP, coordinates.len(), INSTEAD)?;
        all.coordinates.extend(coordinates);
        all.start.push(all.coordinates.len() / all.dim.max(1));
        masses.extend(own.unwrap_or_default());
        names.push(name);
    }
    all.dim = all.dim.max(1);
    all.masses = (!matches!(columns, MassColumn::None)).then_some(masses);
    all.names = Some(names);
    all.finish()
}

/// Reads one file of a folder: dimension, coordinates and masses.
fn one_array(path: &Path, columns: MassColumn) -> Result<(usize, Vec<f64>, Option<Vec<f64>>)> {
    let opened = fs::File::open(path).map_err(|cause| Error::read(path, cause))?;
    let array = npy::read(io::BufReader::new(opened))?;
    let width = match array.shape[..] {
        [0] => return Ok((0, vec![], None)),
        [_] => 1,
        _ => array.rows_and_columns("the array of points")?.1,
    };
    columns.split(width, array.into_f64()?)
}

/// Adds the cloud to an error about its file.
fn in_cloud(cloud: usize, name: &str, error: Error) -> Error {
    match error {
        // These name the file already.
        Error::Read { .. } | Error::Memory { .. } | Error::BadOption { .. } => error,
        other => Error::Cloud { cloud, name: Some(name.into()), cause: Box::new(other) },
    }
}

#[cfg(test)]
#[path = "clouds_tests.rs"]
mod tests;
