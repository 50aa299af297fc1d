//! A model's file with its additional content: the calibration of estimates and the ground metric.
//!
//! Both are optional and stored beside the model, so that readers of the model alone can read these
//! files too. They are the keys `calibration` and `metric` of the header entry and the tensors
//! `metric.…`, with a second checksum, `extra_checksum`, over all of them.
//!
//! | metric | tensors |
//! | --- | --- |
//! | `points`, with its name and the number of coordinates | `metric.coordinates` (`F64`) |
//! | `matrix`, and whether the triangle inequality is promised | `metric.distances` (`F64` or `F32`) |
//! | `graph` | `metric.ends` (`U32`, two for each edge), `metric.weights` (`F64`) |
//! | `discrete` | none |

use std::borrow::Cow;
use std::path::Path;

use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use super::container::{Checksum, Content, Extra, File, from_bytes, object, to_bytes};
use super::file::in_files;
use super::{forest, tree};
use crate::accuracy::Level;
use crate::error::{Error, Result};
use crate::estimate::{Calibration, Statistic};
use crate::metric::{GroundMetric, Period, PointMetric, Storage};
use crate::model::Model;
use crate::names::Named;

/// Content of a model's file: everything that was fitted.
///
/// # Example
/// ```
/// use treeport::io::ModelFile;
/// use treeport::{GroundMetric, Linkage, Model, PointMetric, linkage, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
/// let model = Model::Tree(linkage(&metric, Linkage::Average, &silent)?);
/// let whole = ModelFile { model, calibration: None, metric: Some(metric) };
/// let again = ModelFile::from_bytes(&whole.to_bytes()?)?;
/// assert_eq!(again.model, whole.model);
/// assert_eq!(again.metric.map(|metric| metric.distance(0, 2)), Some(5.0));
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// The tree or forest.
    pub model: Model,
    /// Calibration of its estimates from labels.
    pub calibration: Option<Calibration>,
    /// Distances between the points.
    pub metric: Option<GroundMetric>,
}

in_files! {
    ModelFile, decode,
    /// Writes the file atomically.
    ///
    /// # Errors
    /// The metric and the model have different numbers of points; the file cannot be written.
}

impl ModelFile {
    /// Returns the bytes of the file; equal content gives equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if let Some(metric) = &self.metric
            && metric.points() != self.model.points()
        {
            return Err(Error::PointCount {
                measures: self.model.points(),
                points: metric.points(),
            });
        }
        let extra = self.extra();
        match &self.model {
            Model::Tree(tree) => tree.to_bytes_with(&extra),
            Model::Forest(forest) => forest.to_bytes_with(&extra),
        }
    }

    fn extra(&self) -> Extra<'_> {
        let mut extra = Extra::default();
        if let Some(calibration) = &self.calibration {
            extra.keys.push(("calibration", calibration_value(calibration)));
        }
        if let Some(metric) = &self.metric {
            let (value, tensors) = metric_parts(metric);
            extra.keys.push(("metric", value));
            extra.tensors = tensors;
        }
        if !extra.keys.is_empty() {
            let tensors = extra.tensors.iter().map(|(.., bytes)| &bytes[..]);
            let sum = checksum(extra.keys.iter().map(|(_, value)| value), tensors);
            extra.keys.push(("extra_checksum", json!(sum)));
        }
        extra
    }
}

/// Decodes a tree or forest file; error messages name `path`.
pub(super) fn decode_model(bytes: &[u8], path: &Path) -> Result<Model> {
    match tree::decode(bytes, path) {
        // If the file is neither, the error of the tree says more.
        Err(not_a_tree @ Error::NotATree { .. }) => match forest::decode(bytes, path) {
            Err(Error::NotAForest { .. }) => Err(not_a_tree),
            forest => Ok(Model::Forest(forest?)),
        },
        tree => Ok(Model::Tree(tree?)),
    }
}

pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<ModelFile> {
    let model = decode_model(bytes, path)?;
    let content = if model.tree().is_some() { Content::Tree } else { Content::Forest };
    let file = File::open(content, bytes, path)?;
    let (calibration, metric) = (file.key("calibration"), file.key("metric"));
    let Some(stored) = file.key("extra_checksum").and_then(Value::as_str) else {
        return match calibration.or(metric) {
            None => Ok(ModelFile { model, calibration: None, metric: None }),
            Some(_) => Err(file.missing("extra_checksum")),
        };
    };
    let tensors = metric.map(|value| tensors_of(&file, value)).transpose()?.unwrap_or_default();
    let found = checksum(calibration.into_iter().chain(metric), tensors.iter().copied());
    if stored != found {
        let reason = format!("its second checksum is {stored}, but the contents give {found}");
        return Err(file.damaged(reason));
    }
    let calibration =
        calibration.map(|value| read_calibration(value).ok_or_else(|| file.missing("calibration")));
    let metric = metric.map(|value| {
        let metric = read_metric(value, &tensors, model.points());
        let metric = metric.unwrap_or_else(|| Err(file.missing("metric")));
        let metric = metric.map_err(|error| match error {
            damaged @ Error::DamagedTree { .. } => damaged,
            other => file.damaged(format!("its ground metric: {other}")),
        })?;
        if metric.points() == model.points() { Ok(metric) } else { Err(file.missing("metric")) }
    });
    let (calibration, metric) = (calibration.transpose()?, metric.transpose()?);
    Ok(ModelFile { model, calibration, metric })
}

/// Computes the CRC-32 over the additional content.
fn checksum<'a>(
    keys: impl Iterator<Item = &'a Value>,
    tensors: impl Iterator<Item = &'a [u8]>,
) -> String {
    Checksum::default().values(keys).tensors(tensors).names(None)
}

fn calibration_value(calibration: &Calibration) -> Value {
    let levels = calibration.levels.map(Named::name);
    object(vec![
        ("arcs_blend", json!(calibration.arcs_blend)),
        ("factors", json!(calibration.factors)),
        ("flow_blend", json!(calibration.flow_blend)),
        ("flow_width", json!(calibration.flow_width)),
        ("levels", json!(levels)),
        ("mean_of_plans", json!(calibration.statistic == Statistic::Mean)),
    ])
}

fn read_calibration(value: &Value) -> Option<Calibration> {
    let list = |key: &str| value.get(key)?.as_array();
    let factors: Vec<f64> = list("factors")?.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let level = |name: &Value| name.as_str()?.parse::<Level>().ok();
    let levels: Vec<Level> = list("levels")?.iter().map(level).collect::<Option<_>>()?;
    let mean = value.get("mean_of_plans")?.as_bool()?;
    let blend = |key: &str| -> Option<Option<[f64; 2]>> {
        let Some(shares) = value.get(key).filter(|shares| !shares.is_null()) else {
            return Some(None);
        };
        let shares = shares.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()?;
        Some(Some(shares.try_into().ok()?))
    };
    let calibration = Calibration {
        factors: factors.try_into().ok()?,
        levels: levels.try_into().ok()?,
        statistic: if mean { Statistic::Mean } else { Statistic::Least },
        flow_width: value.get("flow_width")?.as_f64()?,
        flow_blend: blend("flow_blend")?,
        ..Calibration::default()
    }
    .with_arcs_blend(blend("arcs_blend")?);
    calibration.check().ok().map(|()| calibration)
}

pub(crate) type Tensors<'a> = Vec<(&'static str, Dtype, Cow<'a, [u8]>)>;

/// Converts a metric to a JSON value with [`GroundMetric::is_metric`], and tensors.
pub(crate) fn metric_parts(metric: &GroundMetric) -> (Value, Tensors<'_>) {
    let doubles = |values: &[f64]| -> Cow<'_, [u8]> {
        to_bytes(values.iter().copied(), f64::to_le_bytes).into()
    };
    if let (Some((dim, coordinates)), Some(name)) = (metric.coordinates(), metric.point_metric()) {
        let mut keys =
            vec![("dim", json!(dim)), ("kind", json!("points")), ("name", json!(name.name()))];
        // Written only if there is a period, so that other files keep their bytes.
        keys.extend(metric.period().map(|period| ("period", period_value(period))));
        return (object(keys), vec![("metric.coordinates", Dtype::F64, doubles(coordinates))]);
    }
    if let Some(edges) = metric.edges() {
        let ends = to_bytes(edges.iter().flat_map(|&(a, b, _)| [a, b]), u32::to_le_bytes);
        let weights = to_bytes(edges.iter().map(|edge| edge.2), f64::to_le_bytes);
        let ends = ("metric.ends", Dtype::U32, ends.into());
        let weights = ("metric.weights", Dtype::F64, weights.into());
        return (object(vec![("kind", json!("graph"))]), vec![ends, weights]);
    }
    let Some(storage) = metric.matrix() else {
        return (object(vec![("kind", json!("discrete"))]), vec![]);
    };
    let (dtype, bytes) = match storage {
        Storage::F64(distances) => (Dtype::F64, doubles(distances)),
        Storage::F32(distances) => {
            (Dtype::F32, to_bytes(distances.iter().copied(), f32::to_le_bytes).into())
        }
    };
    let single = dtype == Dtype::F32;
    let keys = vec![
        ("is_metric", json!(metric.is_metric())),
        ("kind", json!("matrix")),
        ("single", json!(single)),
    ];
    (object(keys), vec![("metric.distances", dtype, bytes)])
}

/// Converts a period to a number, or to a list with null for coordinates without a period.
pub(super) fn period_value(period: &Period) -> Value {
    match period {
        Period::All(period) => json!(period),
        Period::Each(periods) => json!(periods),
    }
}

pub(super) fn read_period(value: &Value) -> Option<Period> {
    if let Some(period) = value.as_f64() {
        return Some(Period::All(period));
    }
    let one = |period: &Value| {
        if period.is_null() { Some(None) } else { period.as_f64().map(Some) }
    };
    Some(Period::Each(value.as_array()?.iter().map(one).collect::<Option<_>>()?))
}

/// Returns the tensors of a metric, in the order in which they are written.
pub(crate) fn tensors_of<'a>(file: &File<'a>, value: &Value) -> Result<Vec<&'a [u8]>> {
    match value.get("kind").and_then(Value::as_str) {
        Some("points") => Ok(vec![file.tensor("metric.coordinates", Dtype::F64)?]),
        Some("matrix") => {
            let single = value.get("single").and_then(Value::as_bool) == Some(true);
            let dtype = if single { Dtype::F32 } else { Dtype::F64 };
            Ok(vec![file.tensor("metric.distances", dtype)?])
        }
        Some("graph") => Ok(vec![
            file.tensor("metric.ends", Dtype::U32)?,
            file.tensor("metric.weights", Dtype::F64)?,
        ]),
        Some("discrete") => Ok(vec![]),
        _ => Err(file.missing("metric")),
    }
}

/// Decodes the metric of `n` points; `None` if keys or tensors are missing.
pub(crate) fn read_metric(
    value: &Value,
    tensors: &[&[u8]],
    n: usize,
) -> Option<Result<GroundMetric>> {
    let doubles = |bytes: &[u8]| -> Vec<f64> { from_bytes(bytes, f64::from_le_bytes) };
    match (value.get("kind")?.as_str()?, tensors) {
        ("points", [coordinates]) => {
            let dim = usize::try_from(value.get("dim")?.as_u64()?).ok()?;
            let name: PointMetric = value.get("name")?.as_str()?.parse().ok()?;
            let period = match value.get("period") {
                Some(period) => Some(read_period(period)?),
                None => None,
            };
            let geometry = name.with_optional_period(period);
            Some(GroundMetric::from_points(dim, doubles(coordinates), geometry))
        }
        ("matrix", [distances]) => {
            let metric = if value.get("single")?.as_bool()? {
                GroundMetric::from_condensed_f32(n, from_bytes(distances, f32::from_le_bytes))
            } else {
                GroundMetric::from_condensed(n, doubles(distances))
            };
            let promised = value.get("is_metric")?.as_bool()?;
            Some(metric.and_then(|m| if promised { m.assume_metric() } else { Ok(m) }))
        }
        ("graph", [ends, weights]) => {
            let ends: Vec<usize> = from_bytes(ends, |bytes| u32::from_le_bytes(bytes) as usize);
            let (ends, weights) = (ends.as_chunks().0, doubles(weights));
            let edges: Vec<_> =
                ends.iter().zip(weights).map(|(&[a, b], weight)| (a, b, weight)).collect();
            Some(GroundMetric::from_edges(n, &edges))
        }
        ("discrete", []) => Some(GroundMetric::discrete(n)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{Linkage, linkage};
    use crate::model::forest::Forest;

    fn metrics() -> Vec<GroundMetric> {
        let points = vec![0.0, 1.0, 5.0, -2.5, 3.0, 1e-3];
        let matrix = vec![1.0, 4.0, 5.0];
        let edges = [(0, 1, 2.0), (1, 2, 0.0), (0, 2, 7.0), (1, 0, 3.0)];
        vec![
            GroundMetric::from_points(2, points.clone(), PointMetric::Euclidean).unwrap(),
            GroundMetric::from_points(2, points, PointMetric::Cosine).unwrap(),
            GroundMetric::from_condensed(3, matrix.clone()).unwrap(),
            GroundMetric::from_condensed(3, matrix).unwrap().assume_metric().unwrap(),
            GroundMetric::from_condensed_f32(3, vec![1.0, 4.0, 5.0]).unwrap(),
            GroundMetric::from_edges(3, &edges).unwrap(),
            GroundMetric::discrete(3).unwrap(),
        ]
    }

    /// All parts of a metric, for a bitwise comparison.
    fn contents(metric: &GroundMetric) -> String {
        let (points, matrix) = (metric.coordinates(), metric.matrix());
        format!("{metric:?} {} {points:?} {matrix:?} {:?}", metric.is_metric(), metric.edges())
    }

    #[test]
    fn what_older_files_say_of_arcs_is_not_used() {
        let mut value = calibration_value(&calibration());
        let keys = value.as_object_mut().unwrap();
        keys.remove("arcs_blend");
        keys.remove("flow_blend");
        keys["levels"] = json!(["tree", "tree", "tree", "exact"]);
        let read = read_calibration(&value).unwrap();
        let by_default = Calibration::default();
        let arcs = Level::Arcs as usize;
        assert_eq!((read.levels[arcs], read.factors[arcs]), (Level::Arcs, 1.0));
        assert_eq!((read.arcs_blend, read.flow_blend), (by_default.arcs_blend, None));
        assert_eq!(read.levels[Level::Flow as usize], Level::Tree);
    }

    fn calibration() -> Calibration {
        let levels = [Level::Tree, Level::Tree, Level::Arcs, Level::Exact];
        let factors = [0.1 + 0.2, 1.0 / 3.0, 1e-9, 1.0];
        let (flow_blend, arcs_blend) = (Some([0.3, 0.6]), [0.25, 0.5]);
        let statistic = Statistic::Mean;
        Calibration { factors, levels, statistic, flow_width: 0.07, flow_blend, arcs_blend }
    }

    fn whole(metric: &GroundMetric) -> ModelFile {
        let tree = linkage(metric, Linkage::Average, &crate::silent).unwrap();
        let metric = Some(metric.clone());
        ModelFile { model: Model::Tree(tree), calibration: Some(calibration()), metric }
    }

    #[test]
    fn everything_comes_back_to_the_last_bit() {
        for metric in metrics() {
            let tree = whole(&metric);
            let trees = vec![tree.model.trees()[0].clone(); 2];
            let forest =
                ModelFile { model: Forest::uniform(trees).unwrap().into(), ..tree.clone() };
            for file in [tree, forest] {
                let bytes = file.to_bytes().unwrap();
                let again = ModelFile::from_bytes(&bytes).unwrap();
                assert_eq!((&again.model, again.calibration), (&file.model, file.calibration));
                let read = again.metric.as_ref().expect("a metric");
                assert_eq!(contents(read), contents(&metric));
                assert_eq!(again.to_bytes().unwrap(), bytes);
                // Readers of the model alone read the same file.
                assert_eq!(Model::from_bytes(&bytes).unwrap(), file.model);
            }
        }
    }

    #[test]
    fn a_model_alone_is_the_file_of_the_model() {
        let model = whole(&metrics()[0]).model;
        let alone = ModelFile { model: model.clone(), calibration: None, metric: None };
        let bytes = alone.to_bytes().unwrap();
        assert_eq!(bytes, model.to_bytes().unwrap());
        let again = ModelFile::from_bytes(&bytes).unwrap();
        assert!(again.calibration.is_none() && again.metric.is_none());
    }

    #[test]
    fn no_byte_can_change_unnoticed() {
        for metric in metrics() {
            let file = whole(&metric);
            let good = file.to_bytes().unwrap();
            for at in 0..good.len() {
                let mut bytes = good.clone();
                bytes[at] ^= 1;
                // Unused whitespace and names of keys may change; decoded content may not.
                let Ok(read) = ModelFile::from_bytes(&bytes) else { continue };
                assert_eq!((read.model, read.calibration), (file.model.clone(), file.calibration));
                assert_eq!(read.metric.as_ref().map(contents), Some(contents(&metric)), "{at}");
            }
        }
    }

    #[test]
    fn a_metric_over_other_points_is_refused() {
        let model = whole(&metrics()[0]).model;
        let metric = Some(GroundMetric::discrete(4).unwrap());
        let error = ModelFile { model, calibration: None, metric }.to_bytes().unwrap_err();
        assert!(matches!(error, Error::PointCount { measures: 3, points: 4 }));
    }
}
