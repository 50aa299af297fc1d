//! Rows of an embedding as a PostgreSQL table with pgvector: a script for `psql -f`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use treeport::contract::Contracted;
use treeport::{Csr, Measures, Model};

use crate::args::MeasureArgs;
use crate::input;
use crate::output::{self, Output};
use crate::progress::watched;

/// Options of the format pgvector.
#[derive(Args, Debug)]
pub(crate) struct PgvectorArgs {
    /// Name of the table [default: measures]; that of the queries ends in _queries.
    #[arg(long, value_name = "NAME", help_heading = "pgvector")]
    table: Option<String>,
    /// Names of the measures, one per line, for a column `name`.
    #[arg(long, value_name = "FILE", requires = "measures", help_heading = "pgvector")]
    measure_names: Option<PathBuf>,
    /// Queries, which get a table of their own with the same columns (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE", requires = "measures", help_heading = "pgvector")]
    queries: Option<PathBuf>,
    /// Names of the queries, one per line.
    #[arg(long, value_name = "FILE", requires = "queries", help_heading = "pgvector")]
    query_names: Option<PathBuf>,
    /// Largest number of entries of a row: edges are contracted until the measures fit [default: 1000,
    /// the limit of the index].
    #[arg(long, value_name = "N", value_parser = entries, help_heading = "pgvector")]
    most: Option<usize>,
    /// Write the contracted model, which embeds later queries.
    #[arg(long, value_name = "FILE", help_heading = "pgvector")]
    contracted: Option<PathBuf>,
}

/// Maximum number of entries of a row in a pgvector index.
const INDEXED: usize = 1000;
/// Maximum number of entries of a stored sparse vector of pgvector.
const STORED: usize = 16_000;
/// Maximum number of columns of a sparse vector.
const COLUMNS: usize = 1_000_000_000;
/// Longest name in PostgreSQL, in bytes; longer names are truncated.
const NAME: usize = 63;

/// Parses the limit of entries in a row.
fn entries(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=STORED).contains(&count) => Ok(count),
        Ok(_) => Err(format!("it must be from 1 to {STORED}, the most that pgvector stores")),
        Err(error) => Err(format!("{error}")),
    }
}

/// Rows of a table with their names.
struct Table {
    name: String,
    titles: Option<Vec<String>>,
    rows: Csr,
}

/// Content of the script.
pub(super) struct Export {
    measures: Table,
    queries: Option<Table>,
    contracted: Contracted,
    most: usize,
}

impl PgvectorArgs {
    /// Returns the first given option that other formats do not support.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.table.is_some(), "--table"),
            (self.measure_names.is_some(), "--measure-names"),
            (self.queries.is_some(), "--queries"),
            (self.most.is_some(), "--most"),
            (self.contracted.is_some(), "--contracted"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }

    /// Reads the measures, contracts the model, saves it if requested, and embeds.
    pub(super) fn read(
        &self,
        model: &Model,
        args: &MeasureArgs,
        output: &Output,
    ) -> Result<Export> {
        let name = self.table.as_deref().unwrap_or("measures");
        let queries_name = format!("{name}_queries");
        check_name(if self.queries.is_some() { &queries_name } else { name })?;
        self.contracted.as_deref().map_or(Ok(()), output::check_place)?;
        ensure!(
            model.nodes() <= COLUMNS,
            "the model has {} nodes; pgvector supports {COLUMNS} columns",
            model.nodes()
        );
        let measures = args.read(model.into(), output)?;
        let read = |path: &PathBuf| input::measures(model.into(), path, args.how, output);
        let queries = self.queries.as_ref().map(read).transpose()?;
        let sets: Vec<&Measures> = queries.iter().chain([&measures]).collect();
        let from = input::name(args.path()?);
        Measures::check_all_balanced(&sets).with_context(|| match &self.queries {
            Some(queries) => format!("{} against {from}", input::name(queries)),
            None => from,
        })?;
        let titles = input::measure_names(self.measure_names.as_deref(), &measures)?;
        let most = self.most.unwrap_or(INDEXED);
        let contracted = watched(output, |progress| {
            model.contracted(&measures, queries.as_ref(), most, progress)
        })?;
        if let Some(path) = &self.contracted {
            contracted.model.save(path)?;
        }
        let rows = contracted.model.embed(&measures)?;
        let queries = match &queries {
            Some(queries) => Some(Table {
                titles: input::measure_names(self.query_names.as_deref(), queries)?,
                rows: contracted.model.embed(queries)?,
                name: queries_name,
            }),
            None => None,
        };
        let measures = Table { name: name.to_owned(), titles, rows };
        let export = Export { measures, queries, contracted, most };
        export.tables().try_for_each(Table::check)?;
        Ok(export)
    }
}

impl Export {
    fn tables(&self) -> impl Iterator<Item = &Table> {
        std::iter::once(&self.measures).chain(&self.queries)
    }

    /// Writes the script.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<()> {
        // `ON_ERROR_STOP` keeps psql from reading rows as commands; a transaction is atomic.
        writeln!(
            out,
            "\\set ON_ERROR_STOP on\n\
             SET client_encoding = 'UTF8';\n\
             CREATE EXTENSION IF NOT EXISTS vector;\n\
             BEGIN;"
        )?;
        self.tables().try_for_each(|table| table.write(out))?;
        let name = quoted(&self.measures.name);
        if longest(&self.measures.rows) <= INDEXED {
            writeln!(out, "CREATE INDEX ON {name} USING hnsw (embedding sparsevec_l1_ops);")?;
        } else {
            writeln!(out, "-- No index: it supports rows of at most {INDEXED} entries.")?;
        }
        self.tables().try_for_each(|table| writeln!(out, "ANALYZE {};", quoted(&table.name)))?;
        writeln!(out, "COMMIT;\n")?;
        if let Some(queries) = &self.queries {
            let queries = quoted(&queries.name);
            writeln!(
                out,
                "-- The ten nearest of every query; `SET hnsw.ef_search = 100;` finds more of them:\n\
                 -- SELECT q.id AS query, n.id, n.distance FROM {queries} q CROSS JOIN LATERAL\n\
                 --   (SELECT id, embedding <+> q.embedding AS distance FROM {name}\n\
                 --    ORDER BY embedding <+> q.embedding LIMIT 10) n ORDER BY 1, 3;"
            )?;
        } else {
            writeln!(
                out,
                "-- The ten nearest to row 0; `SET hnsw.ef_search = 100;` finds more of them:\n\
                 -- SELECT id FROM {name}\n\
                 --   ORDER BY embedding <+> (SELECT embedding FROM {name} WHERE id = 0) LIMIT 10;"
            )?;
        }
        Ok(())
    }

    /// Facts about the export as JSON.
    pub(super) fn facts(&self) -> Value {
        let change = self.contracted.change.map(|change| {
            json!({"least": change.least, "most": change.most, "exact": change.exact,
                   "mean_distance": change.mean_distance})
        });
        json!({"measures": self.measures.rows.rows,
               "queries": self.queries.as_ref().map(|queries| queries.rows.rows),
               "columns": self.measures.rows.cols,
               "longest_row": longest(&self.measures.rows),
               "contracted_edges": self.contracted.edges,
               "change": change,
               "rounding": self.rounding()})
    }

    /// Describes the contraction and its change of distances, if there is one.
    pub(super) fn note(&self) -> Option<String> {
        let change = self.contracted.change?;
        let (edges, rows, largest) = (self.contracted.edges, self.most, change.largest());
        let percent = 100.0 * largest / change.mean_distance;
        let how = if change.exact { "of all pairs" } else { "a bound for all pairs" };
        Some(format!(
            "{edges} edges contracted, so that rows have at most {rows} entries: \
             distances change by at most {largest:.3e}, {percent:.2} % of their mean ({how})"
        ))
    }

    /// Bounds the change of a distance by single precision, whose relative error is at most 2⁻²⁴.
    fn rounding(&self) -> f64 {
        let largest = |table: &Table| {
            let rows = table.rows.start.windows(2);
            let sums = rows.map(|bounds| table.rows.values[bounds[0]..bounds[1]].iter().sum());
            sums.fold(0.0, f64::max)
        };
        let measures = largest(&self.measures);
        let other = self.queries.as_ref().map_or(measures, largest);
        (measures + measures.max(other)) / f64::from(1 << 24)
    }
}

impl Table {
    /// Refuses rows and names that pgvector would reject.
    fn check(&self) -> Result<()> {
        let name = &self.name;
        let titles = self.titles.as_deref().unwrap_or_default();
        if let Some(row) = titles.iter().position(|title| title.contains('\0')) {
            bail!("the name of row {row} of {name} has a zero byte");
        }
        for (row, bounds) in self.rows.start.windows(2).enumerate() {
            let count = bounds[1] - bounds[0];
            ensure!(
                count <= STORED,
                "row {row} of {name} has {count} entries, and pgvector stores {STORED}; give a smaller `--most`"
            );
            let values = &self.rows.values[bounds[0]..bounds[1]];
            if let Some(value) = values.iter().find(|&&value| !(value as f32).is_finite()) {
                bail!(
                    "row {row} of {name} has {value}, too large for single precision; scale the model"
                );
            }
        }
        Ok(())
    }

    fn write(&self, out: &mut dyn Write) -> Result<()> {
        let (name, columns) = (quoted(&self.name), self.rows.cols);
        let (typed, listed) = match self.titles {
            Some(_) => ("name text NOT NULL, ", "name, "),
            None => ("", ""),
        };
        writeln!(
            out,
            "CREATE TABLE {name} (id bigint PRIMARY KEY, {typed}embedding sparsevec({columns}) NOT NULL);\n\
             COPY {name} (id, {listed}embedding) FROM stdin;"
        )?;
        for (row, bounds) in self.rows.start.windows(2).enumerate() {
            write!(out, "{row}\t")?;
            if let Some(titles) = &self.titles {
                write!(out, "{}\t", escaped(&titles[row]))?;
            }
            let entries = bounds[0]..bounds[1];
            let pairs = entries.map(|k| (self.rows.indices[k] + 1, self.rows.values[k] as f32));
            // Values that underflow in single precision are not stored.
            let pairs = pairs.filter(|pair| pair.1 != 0.0);
            let pairs: Vec<_> = pairs.map(|(column, value)| format!("{column}:{value}")).collect();
            writeln!(out, "{{{}}}/{columns}", pairs.join(","))?;
        }
        Ok(writeln!(out, "\\.")?)
    }
}

/// Returns the number of entries of the longest row.
fn longest(rows: &Csr) -> usize {
    rows.start.windows(2).map(|bounds| bounds[1] - bounds[0]).max().unwrap_or(0)
}

/// Refuses a name that PostgreSQL would reject or truncate.
fn check_name(name: &str) -> Result<()> {
    ensure!(!name.is_empty(), "a table needs a name");
    ensure!(
        !name.chars().any(char::is_control),
        "`{name}` is not a valid name: it has control characters"
    );
    let bytes = name.len();
    ensure!(bytes <= NAME, "the name `{name}` has {bytes} bytes, and PostgreSQL keeps {NAME}");
    Ok(())
}

/// Quotes an SQL name.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Escapes text for a column of `COPY`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\\\",
            '\t' => escaped += "\\t",
            '\n' => escaped += "\\n",
            '\r' => escaped += "\\r",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(quoted("docs\"; DROP TABLE x; --"), "\"docs\"\"; DROP TABLE x; --\"");
        assert_eq!(escaped("a\tb\\N\r\n"), "a\\tb\\\\N\\r\\n");
        for bad in ["", "a\nb", &"x".repeat(64)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        assert!(check_name(&"x".repeat(63)).is_ok());
    }
}
