//! Measures from files.

use std::io::{Read, Seek};

use super::{npy, npz, rows_and_columns, table};
use crate::error::Result;
use crate::measure::Measures;

impl Measures {
    /// From a two-dimensional NumPy array: one measure per row, one point per column.
    ///
    /// # Errors
    /// What is not such an array; what [`from_dense`](Self::from_dense) refuses.
    pub fn read_npy(reader: impl Read) -> Result<Self> {
        let what = "the table of masses";
        let array = npy::read_if(reader, |shape| rows_and_columns(shape, what).map(drop))?;
        let (_, points) = array.rows_and_columns(what)?;
        Self::from_dense(points, &array.into_f64()?)
    }

    /// From a SciPy sparse `.npz` (CSR, CSC or COO): one measure per row, one point per column.
    ///
    /// # Errors
    /// What is not such a matrix; what [`from_csr`](Self::from_csr) refuses.
    pub fn read_npz(reader: impl Read + Seek) -> Result<Self> {
        let matrix = npz::read_csr(reader)?;
        Self::from_csr(matrix.cols, &matrix.start, &matrix.indices, &matrix.values)
    }

    /// From a CSV table: one measure per row, one point per column, with an optional header.
    ///
    /// # Errors
    /// What is not such a table; what [`from_dense`](Self::from_dense) refuses.
    pub fn read_csv(reader: impl Read) -> Result<Self> {
        let table = table::read_matrix(reader)?;
        Self::from_dense(table.columns, &table.values)
    }

    /// From a CSV table for points that have names: where it has a header, columns are matched by
    /// name, and else they are in the order of the points.
    ///
    /// # Errors
    /// As [`read_csv`](Self::read_csv) and [`matched`](Self::matched).
    pub fn read_csv_for(reader: impl Read, names: &[String]) -> Result<Self> {
        let table = table::read_named_matrix(reader, names)?;
        let measures = Self::from_dense(table.columns, &table.values)?;
        match table.header {
            Some(header) => measures.matched(&header, names),
            None => Ok(measures),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::error::Error;
    use crate::sparse::Csr;

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
    fn bad_masses_are_named() {
        let text = &b"1,2\n0,nan\n"[..];
        let found = Measures::read_csv(text);
        assert!(matches!(found, Err(Error::BadMass { measure: 1, point: 1, .. })));
        assert!(matches!(Measures::read_csv(&b"1\n0\n"[..]), Err(Error::NoMass { measure: 1 })));
        let mut file = Vec::new();
        npy::write_f64(&[3], &[1.0; 3], &mut file).unwrap();
        let text = Measures::read_npy(&file[..]).unwrap_err().to_string();
        assert_eq!(text, "the table of masses has shape (3,), expected (rows, columns)");
    }
}
