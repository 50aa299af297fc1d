//! `treeport plot`: writes one figure as a picture, for papers.
//!
//! `resvg` renders PNG from the SVG. It and its dependencies take 45 s to compile without
//! optimization and minutes with it, so PNG is a feature (`png`) that is off by default.

use std::path::PathBuf;
use std::process::ExitCode;
use std::slice;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use treeport::learn::Epoch;
use treeport::silent;
use treeport_report::Place;
use treeport_report::chart::{Dot, histogram_svg, scatter_svg, support_svg};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};
use treeport_report::loss_chart::loss_svg;
use treeport_report::report::Test;

use crate::args::TestArgs;
use crate::input::{self, MetricAndModels};
use crate::output::Output;
use crate::progress::prepare;
use crate::rows;

const EXAMPLE: &str = "\
Examples:
  treeport plot tree model.tree -o tree.svg
  treeport plot loss model.tree --history loss.csv -o loss.svg
  treeport plot scatter model.tree --points words.npy --measures docs.npz -o scatter.png

SVG pictures follow the light or dark scheme of the page they are on; PNG pictures are light, at twice
the size, and need a treeport built with `--features png`.";

/// Options of `treeport plot`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_group("MetricSource", |group| group.required(false)))]
pub(crate) struct PlotArgs {
    /// The figure to draw.
    #[arg(value_enum)]
    figure: Figure,
    /// A tree or a forest that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    test: TestArgs,
    /// Losses that `fit --history` has written (.csv); for the figure `loss`.
    #[arg(long, value_name = "FILE", required_if_eq("figure", "loss"))]
    history: Option<PathBuf>,
    /// A group for every point, one per line; groups color the tree.
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Heading of the picture [default: what it shows].
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Unit of distances, such as km.
    #[arg(long, value_name = "TEXT", default_value = "")]
    unit: String,
    /// The file to write (.svg, .png) [default: SVG on stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// The dendrogram.
    Tree,
    /// Training and validation loss by epoch.
    Loss,
    /// Predicted against exact distances.
    Scatter,
    /// The distribution of errors.
    Errors,
    /// Errors by the size of the supports.
    Support,
}

/// Runs `treeport plot`.
pub(crate) fn run(args: &PlotArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "a picture goes", &["svg", "png"])?;
    let as_png = file.and_then(input::extension).is_some_and(|ending| ending == "png");
    if let Some(path) = file.filter(|_| as_png && !cfg!(feature = "png")) {
        bail!(
            "cannot write `{}`: this treeport was built without PNG; write .svg, or build it with `--features png`",
            path.display()
        );
    }
    let svg = draw(args, output)?;
    let picture = if as_png { png(&svg)? } else { svg.into_bytes() };
    rows::write(file, output, |out, _| Ok(out.write_all(&picture)?))?;
    let figure = args.figure.to_possible_value();
    let figure = figure.as_ref().map_or("", |value| value.get_name());
    rows::wrote(output, "plot", file, json!({"figure": figure}), figure)?;
    Ok(ExitCode::SUCCESS)
}

/// Draws the figure as SVG.
fn draw(args: &PlotArgs, output: &Output) -> Result<String> {
    let title = |default: &str| args.title.clone().unwrap_or_else(|| default.to_owned());
    if args.figure == Figure::Loss {
        let path = args.history.as_deref().context("give `--history`")?;
        return Ok(loss(&title("Loss while learning"), &input::history(path)?));
    }
    if args.figure == Figure::Tree {
        let model = input::named_model(&args.model, &args.test.ground.names)?;
        if model.tree().is_none() {
            output.note("the picture shows the tree with the largest weight");
        }
        let groups = args.groups.as_deref();
        let groups = groups.map(|path| input::counted_names(path, model.points(), "points"));
        let options = DendrogramOptions {
            title: title(&args.model.file_stem().unwrap_or_default().to_string_lossy()),
            unit: args.unit.clone(),
            groups: groups.transpose()?,
            ..DendrogramOptions::default()
        };
        return Ok(dendrogram_svg(&model, &options));
    }
    predictions(args, &title, output)
}

/// Draws training and validation loss by epoch.
pub(crate) fn loss(title: &str, history: &[Epoch]) -> String {
    let training: Vec<f64> = history.iter().map(|e| e.training_loss).collect();
    let validation: Vec<f64> = history.iter().filter_map(|e| e.validation_loss).collect();
    loss_svg(title, &training, &validation, Place::File)
}

/// Draws the figures that need test pairs.
fn predictions(args: &PlotArgs, title: &dyn Fn(&str) -> String, output: &Output) -> Result<String> {
    if args.test.data.measures.measures.is_none() {
        bail!("this figure needs test pairs: a ground metric and `--measures`");
    }
    let paths = slice::from_ref(&args.model);
    let (metric, mut read) = MetricAndModels::with_metric(&args.test.ground, paths)?;
    let model = read.models.remove(0);
    prepare(&metric, output)?;
    let data = args.test.data.test(&metric, model.names(), output)?;
    let (predicted, exact) =
        (model.pairs(data.measures(), data.pairs(), &silent)?, data.distances());
    let test = Test { metric: &metric, data: &data, names: None };
    let errors = test.errors(&predicted);
    let place = Place::File;
    Ok(match args.figure {
        Figure::Errors => histogram_svg(&title("Relative errors"), &errors, place),
        Figure::Support => {
            support_svg(&title("Relative error by support"), &test.supports(), &errors, place)
        }
        _ => {
            let dot = |(&exact, &predicted): (&f64, &f64)| Dot {
                exact,
                predicted,
                tip: String::new(),
                plan: None,
            };
            let dots: Vec<Dot> = exact.iter().zip(&predicted).map(dot).collect();
            scatter_svg(&title("Predicted and exact distances"), &dots, &args.unit, place)
        }
    })
}

/// Renders an SVG picture as PNG at twice its size, for print.
#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>> {
    use resvg::{tiny_skia, usvg};

    const FONTS: [&str; 5] = ["Helvetica", "Arial", "Liberation Sans", "Noto Sans", "DejaVu Sans"];
    const SCALE: f32 = 2.0;
    /// 100 million pixels take 400 MB, which is more than a picture needs.
    const MOST_PIXELS: f32 = 1e8;
    let mut options = usvg::Options { font_family: "sans-serif".into(), ..Default::default() };
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    // The renderer takes "sans-serif" for Arial, and silently omits text without a font.
    let known = |name: &str| fonts.faces().any(|face| face.families.iter().any(|f| f.0 == name));
    let first = || fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
    let usual = FONTS.iter().find(|name| known(name)).map(ToString::to_string);
    let family = usual.or_else(first).context("there are no fonts for the text; write .svg")?;
    fonts.set_sans_serif_family(family);
    let picture = usvg::Tree::from_str(svg, &options).context("cannot read our own picture")?;
    let size = picture.size();
    let scale = SCALE.min((MOST_PIXELS / (size.width() * size.height())).sqrt());
    let (width, height) = (size.width() * scale, size.height() * scale);
    let mut pixels = tiny_skia::Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .context("the picture is too large")?;
    resvg::render(&picture, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().context("cannot encode the picture")
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str) -> Result<Vec<u8>> {
    bail!("this treeport was built without PNG")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the feature: the text changes the picture.
    #[test]
    fn pictures_become_pixels_or_say_why_not() {
        let picture = |title| png(&loss_svg(title, &[3.0, 2.0, 1.0], &[], Place::File));
        match picture("Loss") {
            Ok(bytes) => {
                assert!(cfg!(feature = "png") && bytes.starts_with(b"\x89PNG"));
                assert_ne!(bytes, picture("").expect("the same without a title"));
            }
            Err(error) => {
                let expected = if cfg!(feature = "png") { "no fonts" } else { "without PNG" };
                assert!(error.to_string().contains(expected), "{error}");
            }
        }
    }
}
