//! Reading ground metrics from files.

use std::io::{Read, Seek};

use super::table::{self, Table};
use super::{Array, Data, npy, npz, rows_and_columns};
use crate::error::{Error, Result, show_shape};
use crate::metric::condensed::pairs_of;
use crate::metric::{Components, Geometry, GroundMetric};

impl GroundMetric {
    /// Reads points from a two-dimensional NumPy array, one point per row.
    pub fn read_points_npy(reader: impl Read, geometry: impl Into<Geometry>) -> Result<Self> {
        let what = "the table of coordinates";
        let array = npy::read_if(reader, |shape| rows_and_columns(shape, what).map(drop))?;
        let (_, dim) = array.rows_and_columns(what)?;
        Self::from_points(dim, array.into_f64()?, geometry)
    }

    /// Reads points from a text table ([`table::read_matrix`]), one point per row, with their names
    /// if the table has names of rows.
    pub fn read_points_csv(
        reader: impl Read,
        geometry: impl Into<Geometry>,
    ) -> Result<(Self, Option<Vec<String>>)> {
        Self::points_from_table(table::read_matrix(reader)?, geometry)
    }

    /// Converts a table to points, one per row, with their names if the table has names of rows.
    pub fn points_from_table(
        table: Table,
        geometry: impl Into<Geometry>,
    ) -> Result<(Self, Option<Vec<String>>)> {
        Ok((Self::from_points(table.columns, table.values, geometry)?, table.ids))
    }

    /// Reads distances from a NumPy array: one axis for a condensed matrix, two for a square one.
    /// Single precision is kept.
    pub fn read_matrix_npy(reader: impl Read) -> Result<Self> {
        let check = |shape: &[usize]| match *shape {
            [pairs] => points_of(pairs).map(drop),
            [n, m] if n == m => Ok(()),
            _ => Err(wrong_matrix(show_shape(shape))),
        };
        let Array { shape, data } = npy::read_if(reader, check)?;
        match (&shape[..], data) {
            (&[pairs], Data::F32(values)) => Self::from_condensed_f32(points_of(pairs)?, values),
            (&[pairs], data) => Self::from_condensed(points_of(pairs)?, data.into_f64()?),
            (&[n, m], Data::F32(values)) if n == m => Self::from_square_f32(n, &values),
            (&[n, m], data) if n == m => Self::from_square(n, &data.into_f64()?),
            (shape, _) => Err(wrong_matrix(show_shape(shape))),
        }
    }

    /// Reads a square distance matrix from a text table ([`table::read_matrix`]), with the names of
    /// its points if the table has names of columns or rows.
    pub fn read_matrix_csv(reader: impl Read) -> Result<(Self, Option<Vec<String>>)> {
        Self::matrix_from_table(table::read_matrix(reader)?)
    }

    /// Converts a table to a square distance matrix, with the names of its points if the table has
    /// names of columns or rows.
    ///
    /// # Errors
    /// The table is not square; names of rows and columns differ or are in different orders; those
    /// of [`from_square`](Self::from_square).
    pub fn matrix_from_table(table: Table) -> Result<(Self, Option<Vec<String>>)> {
        let (rows, columns) = (table.rows(), table.columns);
        if rows != columns {
            return Err(wrong_matrix(show_shape(&[rows, columns])));
        }
        if let (Some(header), Some(ids)) = (&table.header, &table.ids)
            && let Some(k) = header.iter().zip(ids).position(|(column, row)| column != row)
        {
            let reason = format!(
                "row {k} is `{}` and column {k} is `{}`; give rows and columns in the same order",
                ids[k], header[k]
            );
            return Err(Error::UnmatchedNames { reason });
        }
        Ok((Self::from_square(rows, &table.values)?, table.header.or(table.ids)))
    }

    /// Reads a graph from a CSV edge list, with the names of its nodes unless they are numbers.
    ///
    /// [`table::read_edges`] describes columns and labels; `nodes` is the number of nodes if it
    /// exceeds the largest label plus one.
    pub fn read_graph_csv(
        reader: impl Read,
        nodes: Option<usize>,
    ) -> Result<(Self, Option<Vec<String>>)> {
        let (components, names) = Components::read_graph_csv(reader, nodes)?;
        Ok((components.whole()?.clone(), names))
    }

    /// Reads a graph from the sparse adjacency matrix in a SciPy `.npz`, symmetric or one triangle.
    ///
    /// An explicit zero is an edge of length 0, as in `scipy.sparse.csgraph`.
    ///
    /// # Errors
    /// The matrix is not square, or an edge has different weights in the two triangles; those of
    /// [`from_edges`](Self::from_edges).
    pub fn read_graph_npz(reader: impl Read + Seek) -> Result<Self> {
        Components::read_graph_npz(reader)?.whole().cloned()
    }
}

impl Components {
    /// Reads a graph as [`GroundMetric::read_graph_csv`] does; it need not be connected.
    pub fn read_graph_csv(
        reader: impl Read,
        nodes: Option<usize>,
    ) -> Result<(Self, Option<Vec<String>>)> {
        let list = table::read_edges(reader, nodes)?;
        Ok((Self::from_edges(list.nodes, &list.edges)?, list.names))
    }

    /// Reads a graph as [`GroundMetric::read_graph_npz`] does; it need not be connected.
    pub fn read_graph_npz(reader: impl Read + Seek) -> Result<Self> {
        let matrix = npz::read_csr(reader)?;
        if matrix.rows != matrix.cols {
            return Err(Error::Shape {
                what: "the adjacency matrix".into(),
                expected: "(nodes, nodes)".into(),
                found: show_shape(&[matrix.rows, matrix.cols]),
            });
        }
        let row = |r: usize| matrix.start[r]..matrix.start[r + 1];
        let weight = |r: usize, c: usize| {
            let at = matrix.indices[row(r)].binary_search(&c).ok()?;
            Some(matrix.values[row(r)][at])
        };
        let mut edges = Vec::with_capacity(matrix.values.len());
        for from in 0..matrix.rows {
            for (&to, &forth) in matrix.indices[row(from)].iter().zip(&matrix.values[row(from)]) {
                // NaN differs from itself; the constructor of the graph reports it.
                match weight(to, from) {
                    Some(back) if back != forth && !(back.is_nan() || forth.is_nan()) => {
                        return Err(Error::Asymmetric { from, to, forth, back });
                    }
                    _ => edges.push((from, to, forth)),
                }
            }
        }
        Self::from_edges(matrix.rows, &edges)
    }
}

/// Returns the number of points whose number of pairs is `pairs`.
fn points_of(pairs: usize) -> Result<usize> {
    // (n − 1)² ≤ n(n − 1) < n², so the root rounded down is n − 1.
    let n = pairs.saturating_mul(2).isqrt() + 1;
    (pairs_of(n) == pairs).then_some(n).ok_or_else(|| wrong_matrix(show_shape(&[pairs])))
}

fn wrong_matrix(found: String) -> Error {
    let expected = "(n, n), or (n(n - 1)/2,) for its upper triangle".into();
    Error::Shape { what: "the distance matrix".into(), expected, found }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::metric::PointMetric;
    use crate::tools::csr::Csr;

    fn double(shape: &[usize], data: &[f64]) -> Vec<u8> {
        let mut out = Vec::new();
        npy::write_f64(shape, data, &mut out).unwrap();
        out
    }

    #[test]
    fn points_from_arrays_and_tables() {
        let file = double(&[2, 2], &[0.0, 0.0, 3.0, 4.0]);
        let metric = GroundMetric::read_points_npy(&file[..], PointMetric::Euclidean).unwrap();
        assert_eq!(metric.distance(0, 1), 5.0);
        let metric = GroundMetric::read_points_csv(&b"x,y\n0,0\n3,4\n"[..], PointMetric::Manhattan)
            .unwrap()
            .0;
        assert_eq!(metric.distance(0, 1), 7.0);
        let message = |r: Result<GroundMetric>| r.unwrap_err().to_string();
        assert_eq!(
            message(GroundMetric::read_points_npy(
                &double(&[2], &[0.0; 2])[..],
                PointMetric::Cosine
            )),
            "the table of coordinates has shape (2,), expected (rows, columns)"
        );
        assert_eq!(
            message(
                GroundMetric::read_points_csv(&b"1,inf\n"[..], PointMetric::Euclidean).map(|m| m.0)
            ),
            "coordinate 1 of point 0 is inf; coordinates must be finite"
        );
        let empty =
            GroundMetric::read_points_npy(&double(&[0, 3], &[])[..], PointMetric::Euclidean);
        assert!(matches!(empty, Err(Error::NoPoints)));
        let flat = GroundMetric::read_points_npy(&double(&[9, 0], &[])[..], PointMetric::Euclidean);
        assert!(matches!(flat, Err(Error::NoPoints)));
    }

    #[test]
    fn matrices_square_or_condensed_keep_their_precision() {
        let square = double(&[2, 2], &[0.0, 2.0, 2.0, 0.0]);
        assert_eq!(GroundMetric::read_matrix_npy(&square[..]).unwrap().distance(0, 1), 2.0);
        let single = |shape: &[usize], values: &[f32]| {
            let mut file = Vec::new();
            npy::write("<f4", shape, values, |v| v.to_le_bytes(), &mut file).unwrap();
            file
        };
        let file = single(&[3], &[1.0, 4.0, 5.0]);
        let metric = GroundMetric::read_matrix_npy(&file[..]).unwrap();
        assert_eq!(format!("{metric:?}"), "GroundMetric(3 points, matrix of f32)");
        let file = single(&[2, 2], &[0.0, 4.0, 4.0, 0.0]);
        assert_eq!(GroundMetric::read_matrix_npy(&file[..]).unwrap().distance(0, 1), 4.0);
        let table = &b"0,1\n1,0\n"[..];
        assert_eq!(GroundMetric::read_matrix_csv(table).unwrap().0.distance(1, 0), 1.0);
    }

    #[test]
    fn tables_name_their_points() {
        let names = |read: Result<(GroundMetric, Option<Vec<String>>)>| read.unwrap().1.unwrap();
        let lsmat = &b"\ta\tb\na\t0\t1\nb\t1\t0\n"[..];
        assert_eq!(names(GroundMetric::read_matrix_csv(lsmat)), ["a", "b"]);
        assert_eq!(names(GroundMetric::read_matrix_csv(&b"a,b\n0,1\n1,0\n"[..])), ["a", "b"]);
        let points = &b"word,x\ncat,0\ndog,1\n"[..];
        let points = GroundMetric::read_points_csv(points, PointMetric::Euclidean);
        assert_eq!(names(points), ["cat", "dog"]);
        let apart = GroundMetric::read_matrix_csv(&b"id,a,b\nb,0,1\na,1,0\n"[..]);
        assert!(matches!(apart, Err(Error::UnmatchedNames { .. })));
    }

    #[test]
    fn matrices_of_another_shape_are_refused() {
        let expected = "expected (n, n), or (n(n - 1)/2,) for its upper triangle";
        for (shape, found) in [(&[2, 3][..], "(2, 3)"), (&[5], "(5,)"), (&[1, 1, 1], "(1, 1, 1)")] {
            let file = double(shape, &vec![0.0; shape.iter().product()]);
            let text = GroundMetric::read_matrix_npy(&file[..]).unwrap_err().to_string();
            assert_eq!(text, format!("the distance matrix has shape {found}, {expected}"));
        }
        let table = GroundMetric::read_matrix_csv(&b"0,1\n"[..]).unwrap_err().to_string();
        assert!(table.starts_with("the distance matrix has shape (1, 2)"), "{table}");
        for n in (1..200).chain([92_681, 1_000_000]) {
            assert_eq!(points_of(n * (n - 1) / 2).unwrap(), n);
        }
    }

    #[test]
    fn graphs_from_edge_lists() {
        let text = &b"source,target,weight\nOslo,Bergen,460\nBergen,Voss,100\n"[..];
        let (metric, names) = GroundMetric::read_graph_csv(text, None).unwrap();
        assert_eq!(metric.distance(0, 2), 560.0);
        assert_eq!(names.unwrap(), ["Oslo", "Bergen", "Voss"]);
        let apart = GroundMetric::read_graph_csv(&b"0,1\n1,2\n"[..], Some(5));
        assert!(matches!(apart, Err(Error::Disconnected { components: 3, node: 3 })));
    }

    /// Reads a graph of three nodes from an `.npz` adjacency matrix with these entries, sorted by
    /// row.
    fn adjacency(cols: usize, entries: &[(usize, usize, f64)]) -> Result<GroundMetric> {
        let start = (0..4).map(|r| entries.iter().filter(|e| e.0 < r).count()).collect();
        let indices = entries.iter().map(|e| e.1).collect();
        let values = entries.iter().map(|e| e.2).collect();
        let mut out = Cursor::new(Vec::new());
        npz::write_csr(&Csr { rows: 3, cols, start, indices, values }, &mut out).unwrap();
        GroundMetric::read_graph_npz(out)
    }

    #[test]
    fn graphs_from_adjacency_matrices() {
        let both = [(0, 1, 2.0), (1, 0, 2.0), (1, 2, 0.0), (2, 1, 0.0)];
        let upper = [(0, 1, 2.0), (1, 2, 0.0)];
        for entries in [&both[..], &upper] {
            assert_eq!(adjacency(3, entries).unwrap().condensed().unwrap(), [2.0, 2.0, 0.0]);
        }
        let uneven = adjacency(3, &[(0, 1, 2.0), (1, 0, 3.0), (1, 2, 1.0)]);
        assert!(matches!(uneven, Err(Error::Asymmetric { from: 0, to: 1, .. })));
        let wide = adjacency(4, &upper).unwrap_err().to_string();
        assert_eq!(wide, "the adjacency matrix has shape (3, 4), expected (nodes, nodes)");
        let nan = adjacency(3, &[(0, 1, f64::NAN), (1, 0, f64::NAN)]);
        assert!(matches!(nan, Err(Error::BadWeight { edge: 0, .. })));
    }
}
