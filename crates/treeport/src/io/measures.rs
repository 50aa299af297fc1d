//! Reading measures from files.

use std::io::{Read, Seek};

use super::table::{self, Table};
use super::{npy, npz, rows_and_columns};
use crate::error::{Error, Result};
use crate::measures::Measures;
use crate::measures::match_names;

impl Measures {
    /// Reads a two-dimensional NumPy array: one measure per row, one point per column.
    pub fn read_npy(reader: impl Read) -> Result<Self> {
        Self::read_npy_or_empty(reader)?.with_mass()
    }

    /// Reads the measures of [`read_npy`](Self::read_npy), which may have zero total mass.
    pub(super) fn read_npy_or_empty(reader: impl Read) -> Result<Self> {
        let what = "the table of masses";
        let array = npy::read_if(reader, |shape| rows_and_columns(shape, what).map(drop))?;
        let (_, points) = array.rows_and_columns(what)?;
        Self::from_dense_or_empty(points, &array.into_f64()?)
    }

    /// Reads a SciPy sparse `.npz` (CSR, CSC or COO): one measure per row, one point per column.
    pub fn read_npz(reader: impl Read + Seek) -> Result<Self> {
        Self::read_npz_or_empty(reader)?.with_mass()
    }

    /// Reads the measures of [`read_npz`](Self::read_npz), which may have zero total mass.
    pub(super) fn read_npz_or_empty(reader: impl Read + Seek) -> Result<Self> {
        let matrix = npz::read_csr(reader)?;
        Self::from_csr_or_empty(matrix.cols, &matrix.start, &matrix.indices, &matrix.values)
    }

    /// Reads a text table (CSV, TSV, gzip or not): one measure per row, one point per column, with
    /// names of columns and rows if the table has them.
    pub fn read_csv(reader: impl Read) -> Result<Self> {
        Self::from_table(table::read_matrix(reader)?, None)
    }

    /// Reads a text table for points that have names, as in [`from_table`](Self::from_table).
    pub fn read_csv_for(reader: impl Read, names: &[String]) -> Result<Self> {
        let options = table::TableOptions { names, ..table::TableOptions::default() };
        Self::from_table(table::read(reader, &options)?, Some(names))
    }

    /// Converts a table; names of rows become the [`names`](Self::names) of measures. If both
    /// points and columns have names, columns are matched to points; otherwise they are in the
    /// order of the points.
    pub fn from_table(table: Table, points: Option<&[String]>) -> Result<Self> {
        Self::from_table_or_empty(table, points)?.with_mass()
    }

    /// Converts a table as [`from_table`](Self::from_table) does; measures may have zero total
    /// mass.
    pub(super) fn from_table_or_empty(table: Table, points: Option<&[String]>) -> Result<Self> {
        let Table { columns, values, header, ids } = table;
        let both = header.as_deref().zip(points);
        if let Some((header, points)) = both {
            match_names(header, points)
                .map_err(|error| suggest_transposing(error, points, ids.as_deref()))?;
        }
        let mut measures = Self::from_dense_or_empty(columns, &values)?;
        if let Some((header, points)) = both {
            measures = measures.matched(header, points)?;
        }
        measures.with_optional_names(ids)
    }
}

/// Turns an error about unmatched columns into [`Error::TransposedNames`] if names of rows match.
fn suggest_transposing(error: Error, points: &[String], ids: Option<&[String]>) -> Error {
    let is_point = |id: &String| points.contains(id);
    match error {
        Error::UnmatchedNames { reason } if ids.is_some_and(|ids| ids.iter().any(is_point)) => {
            Error::TransposedNames { reason }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::tools::csr::Csr;

    #[test]
    fn the_same_measures_from_every_format() {
        let masses = [0.5, 0.0, 0.5, 0.0, 2.0, 0.0];
        let expected = Measures::from_dense(3, &masses).unwrap();
        let mut file = Vec::new();
        npy::write_f64(&[2, 3], &masses, &mut file).unwrap();
        assert_eq!(Measures::read_npy(&file[..]).unwrap(), expected);
        let text = &b"a,b,c\n0.5,0,0.5\n0,2,0\n"[..];
        assert_eq!(Measures::read_csv(text).unwrap(), expected);
        let (start, indices) = (vec![0, 2, 3], vec![0, 2, 1]);
        let sparse = Csr { rows: 2, cols: 3, start, indices, values: vec![0.5, 0.5, 2.0] };
        let mut file = Cursor::new(Vec::new());
        npz::write_csr(&sparse, &mut file).unwrap();
        assert_eq!(Measures::read_npz(file).unwrap(), expected);
    }

    #[test]
    fn rows_keep_their_names_and_columns_find_their_points() {
        let names = ["a", "b", "c"].map(String::from);
        let text = &b"#OTU ID\tb\tc\ta\nS1\t1\t0\t3\nS2\t0\t2\t0\n"[..];
        let measures = Measures::read_csv_for(text, &names).unwrap();
        assert_eq!(measures, Measures::from_dense(3, &[3.0, 1.0, 0.0, 0.0, 0.0, 2.0]).unwrap());
        assert_eq!(measures.names().unwrap(), ["S1", "S2"]);
        // A mass that underflows to 0 changes the stored rows.
        let far = Measures::from_dense(2, &[1e-300, 1e300]).unwrap();
        let far = far.with_names(vec!["far".into()]).unwrap().normalized();
        assert_eq!((far.entries(), far.names().unwrap()), (1, &["far".to_owned()][..]));
        assert!(measures.with_names(vec![]).is_err());
        let turned = Measures::read_csv_for(&b"id,S1\na,1\nb,0\nc,1\n"[..], &names);
        let said = turned.unwrap_err().to_string();
        assert!(said.contains("points in rows, so read it transposed"), "{said}");
    }

    #[test]
    fn bad_masses_are_named() {
        let text = &b"1,2\n0,inf\n"[..];
        let found = Measures::read_csv(text);
        assert!(matches!(found, Err(Error::BadMass { measure: 1, point: 1, .. })));
        assert!(matches!(Measures::read_csv(&b"1\n0\n"[..]), Err(Error::NoMass { measure: 1 })));
        let mut file = Vec::new();
        npy::write_f64(&[3], &[1.0; 3], &mut file).unwrap();
        let text = Measures::read_npy(&file[..]).unwrap_err().to_string();
        assert_eq!(text, "the table of masses has shape (3,), expected (rows, columns)");
    }
}
