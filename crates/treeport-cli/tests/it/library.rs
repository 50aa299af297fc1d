//! The command line adds nothing to the library: both fit the same model, byte for byte.
//!
//! The Python package is compared with the command line by its own tests.

use std::fmt::Write;

use treeport::estimate::calibration;
use treeport::io::ModelFile;
use treeport::{FitOptions, GroundMetric, Labeled, Measures, Method, PointMetric, fit, silent};

use crate::determinism::with_plane;

const PAIRS: usize = 25;
const SEED: u64 = 3;

#[test]
fn every_method_is_the_same_from_the_library_and_from_the_command_line() {
    let folder = with_plane(24);
    let (points, many) = (folder.read("points.csv"), folder.read("many.csv"));
    let metric = GroundMetric::read_points_csv(&points[..], PointMetric::Euclidean);
    let metric = metric.expect("points").0;
    let measures = Measures::read_csv(&many[..]).expect("measures").normalized();
    let data = Labeled::sample(&metric, &measures, PAIRS, SEED, &silent).expect("labels");
    let mut labels = String::from("left,right,distance\n");
    for ((left, right), distance) in data.pairs().iter().zip(data.distances()) {
        writeln!(labels, "{left},{right},{distance}").expect("a string takes all");
    }
    folder.write("labels.csv", labels);
    for &method in Method::ALL {
        for (given, labeled) in [
            (format!("--measures many.csv --normalize --n-pairs {PAIRS}"), Some(&data)),
            ("--measures many.csv --normalize --labels labels.csv".into(), Some(&data)),
            (String::new(), None),
        ] {
            if labeled.is_none() && method.supports().labels {
                continue;
            }
            let options = FitOptions { seed: SEED, ..FitOptions::of(method) };
            let fitted = fit(&metric, labeled, &options, &silent).expect("a model");
            folder.json(&format!(
                "fit --points points.csv {given} --method {method} --seed {SEED} --json -o model"
            ));
            let calibration = labeled
                .map(|data| calibration(&metric, &fitted.model, data, &silent).expect("labels"));
            let model = fitted.model;
            let file = ModelFile { model, calibration, metric: None };
            let ours = file.to_bytes().expect("a file");
            assert!(folder.read("model") == ours, "{method} {given}: the files differ");
        }
    }
}
