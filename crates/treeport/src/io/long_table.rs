//! Clouds in long tables of text: one row per point, with the ID of its cloud.

use std::collections::HashMap;
use std::io::Read;

use csv::StringRecord;

use super::bad;
use super::clouds::{CloudOptions, INSTEAD, STEP, StackedPoints};
use super::table::{not_a_number, place};
use super::text::Cells;
use crate::clouds::Clouds;
use crate::error::Result;
use crate::memory;
use crate::tools::csr::grouped;

/// A long table while it is read: one row per point, clouds in order of first appearance.
pub(super) struct LongTable {
    /// Columns of the IDs, masses and coordinates.
    id: usize,
    mass: Option<usize>,
    axes: Vec<usize>,
    number: HashMap<String, u32>,
    names: Vec<String>,
    /// The cloud of every point.
    cloud: Vec<u32>,
    coordinates: Vec<f64>,
    masses: Vec<f64>,
}

impl LongTable {
    pub(super) fn read(
        reader: impl Read,
        separator: Option<u8>,
        options: &CloudOptions,
    ) -> Result<Clouds> {
        let mut cells = Cells::new(reader, separator)?;
        let mut record = StringRecord::new();
        if cells.next(&mut record)?.is_none() {
            return Err(bad("csv", "line 1", "the file is empty"));
        }
        let mut table = Self::with_header(&record, options)?;
        while let Some(line) = cells.next(&mut record)? {
            table.push(line, &record)?;
        }
        table.finish()
    }

    /// Finds the columns by the names in the header.
    fn with_header(header: &StringRecord, options: &CloudOptions) -> Result<Self> {
        let all = || header.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let find = |name: &str| {
            let mut places = header.iter().enumerate().filter(|(_, cell)| *cell == name);
            match (places.next(), places.next()) {
                (Some((at, _)), None) => Ok(at),
                (Some(_), Some(_)) => {
                    Err(bad("csv", "header", format!("two columns are `{name}`")))
                }
                (None, _) => {
                    let reason = format!("no column `{name}`; its columns are {}", all());
                    Err(bad("csv", "header", reason))
                }
            }
        };
        let id = find(options.groupby.as_deref().unwrap_or(ID))?;
        let is_axis = |name: &str| {
            options.columns.as_ref().is_some_and(|all| all.iter().any(|one| one == name))
        };
        let usual = || (header.iter().any(|cell| cell == MASS) && !is_axis(MASS)).then_some(MASS);
        let mass = options.weights.as_deref().or_else(usual).map(find).transpose()?;
        let axes = match &options.columns {
            Some(names) => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
            None => {
                (0..header.len()).filter(|&at| at != id && Some(at) != mass).collect::<Vec<_>>()
            }
        };
        if axes.is_empty() {
            let reason = format!("no columns of coordinates; its columns are {}", all());
            return Err(bad("csv", "header", reason));
        }
        let (number, names, cloud) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Self { id, mass, axes, number, names, cloud, coordinates: vec![], masses: vec![] })
    }

    fn push(&mut self, line: u64, record: &StringRecord) -> Result<()> {
        let id = &record[self.id];
        if id.is_empty() {
            return Err(bad("csv", place(line, self.id), "the ID of the cloud is missing"));
        }
        let cloud = if let Some(&cloud) = self.number.get(id) {
            cloud
        } else {
            memory::grow(&mut self.names, "the IDs of clouds", 1, INSTEAD)?;
            let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            self.number.insert(id.to_owned(), next);
            self.names.push(id.to_owned());
            next
        };
        let grow = |list: &mut Vec<f64>, more| memory::grow(list, STEP, more, INSTEAD);
        memory::grow(&mut self.cloud, STEP, 1, INSTEAD)?;
        self.cloud.push(cloud);
        let number =
            |at: usize| record[at].parse::<f64>().map_err(|_| not_a_number(line, at, &record[at]));
        grow(&mut self.coordinates, self.axes.len())?;
        for &at in &self.axes {
            self.coordinates.push(number(at)?);
        }
        if let Some(at) = self.mass {
            grow(&mut self.masses, 1)?;
            self.masses.push(number(at)?);
        }
        Ok(())
    }

    /// Groups the points by cloud; within a cloud they keep the order of the rows.
    fn finish(self) -> Result<Clouds> {
        if self.cloud.is_empty() {
            return Err(bad("csv", "line 1", "there are no rows; a row is a point of a cloud"));
        }
        let (dim, points) = (self.axes.len(), self.cloud.len());
        memory::check(STEP, memory::size_of::<usize>(&[points]), INSTEAD)?;
        let rows = self.cloud.iter().map(|&cloud| cloud as usize).zip(0..);
        let (start, order) = grouped(self.names.len(), rows);
        let with_masses = self.mass.is_some();
        let (coordinates, masses) = if self.cloud.is_sorted() {
            (self.coordinates, self.masses)
        } else {
            let mut coordinates = memory::with_capacity(STEP, points * dim, INSTEAD)?;
            let mut masses = memory::with_capacity(STEP, self.masses.len(), INSTEAD)?;
            for from in order {
                coordinates.extend_from_slice(&self.coordinates[from * dim..][..dim]);
                masses.extend(self.masses.get(from));
            }
            (coordinates, masses)
        };
        let (masses, names) = (with_masses.then_some(masses), Some(self.names));
        StackedPoints { dim, coordinates, start, masses, names }.finish()
    }
}

/// Default names of the ID and mass columns.
const ID: &str = "id";
const MASS: &str = "mass";
