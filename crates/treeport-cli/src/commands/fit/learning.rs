//! What `fit` does when it learns: the stages of `auto`, or the learner alone.

use std::mem::discriminant;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use treeport::baseline::{self, Doing, FitOptions, Method, Stage};
use treeport::learn::{Checkpoint, Status, learn, resume};
use treeport::{GroundMetric, Labels, Learned, Measures, Tree};

use super::args::FitArgs;
use super::checkpoint::{self, Job, Keeper};
use crate::interrupt::{self, Paused};
use crate::output::{Output, ProgressBar};

/// What a tree is learned from.
#[derive(Clone, Copy)]
pub(super) struct Lessons<'a> {
    pub(super) start: &'a Tree,
    pub(super) metric: &'a GroundMetric,
    pub(super) measures: &'a Measures,
    pub(super) labels: &'a Labels,
}

/// What learning has come to.
pub(super) struct Outcome {
    /// The best tree.
    pub(super) tree: Tree,
    /// What the learner has done; of `auto` this is one stage.
    pub(super) learned: Learned,
    /// Of `auto`: the best stage, and the errors of all.
    pub(super) stages: Option<(Stage, Vec<(Stage, f64)>)>,
    /// Where Ctrl-C has stopped it, if it has.
    pub(super) stopped: Option<At>,
    /// The checkpoint, if one is there.
    pub(super) kept: Option<PathBuf>,
}

/// Where the work is.
#[derive(Clone, Copy)]
pub(super) enum At {
    Points,
    Learning { step: usize, steps: usize },
    Edges,
}

/// Learns until done or interrupted.
pub(super) fn run(args: &FitArgs, lessons: &Lessons<'_>, output: &Output) -> Result<Outcome> {
    let auto = args.method() == Method::Auto;
    let learn = args.learn_options();
    let options = FitOptions { learn, ..FitOptions::default() };
    let keeper = checkpoint::possible(&args.output).then(|| {
        let job = if auto { Job::Auto(&options) } else { Job::Plain(&options.learn) };
        Keeper::new(&args.output, lessons, job)
    });
    let from = keeper.as_ref().map(Keeper::read).transpose()?.flatten();
    if let Some(from) = &from {
        let epochs = from.history().len() - 1;
        output.note(&format!("going on from step {}, after epoch {epochs}", from.step()));
    }
    let watch = Watch { output, keeper, auto, at: None, bar: ProgressBar::hidden(), kept: Ok(()) };
    if auto {
        staged(from.as_ref(), lessons, &options, watch, args)
    } else {
        plain(from.as_ref(), lessons, &options, watch)
    }
}

fn plain(
    from: Option<&Checkpoint>,
    lessons: &Lessons<'_>,
    options: &FitOptions,
    mut watch: Watch<'_>,
) -> Result<Outcome> {
    let Lessons { start, measures, labels, .. } = *lessons;
    let progress = |status: &Status<'_>| {
        if watch.goes_on(&Doing::Learning(status)) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let learned = match from {
        Some(from) => resume(from, start, measures, labels, &options.learn, progress),
        None => learn(start, measures, labels, &options.learn, progress),
    }?;
    let (at, kept) = watch.end()?;
    // Ctrl-C after the last step has nothing left to stop.
    let stopped = at.filter(|_| interrupt::asked() && !learned.finished);
    Ok(Outcome { tree: learned.tree.clone(), learned, stages: None, stopped, kept })
}

fn staged(
    from: Option<&Checkpoint>,
    lessons: &Lessons<'_>,
    options: &FitOptions,
    watch: Watch<'_>,
    args: &FitArgs,
) -> Result<Outcome> {
    let Lessons { start, metric, measures, labels } = *lessons;
    let watch = Mutex::new(watch);
    let progress =
        |doing: &Doing<'_>| watch.lock().unwrap_or_else(PoisonError::into_inner).goes_on(doing);
    let fitted = match from {
        Some(from) => {
            baseline::resume_fit(from, start, metric, measures, labels, options, &progress)
        }
        None => baseline::fit(start, metric, measures, labels, options, &progress),
    }?;
    let (at, kept) = watch.into_inner().unwrap_or_else(PoisonError::into_inner).end()?;
    let stopped = at.filter(|_| !fitted.finished);
    if matches!(stopped, Some(At::Points)) {
        return Err(before_learning(args).into());
    }
    let stages = Some((fitted.stage, fitted.errors));
    Ok(Outcome { tree: fitted.tree, learned: fitted.learned, stages, stopped, kept })
}

/// What Ctrl-C before the first step leaves: no tree worth a file.
fn before_learning(args: &FitArgs) -> Paused {
    let on = checkpoint::kept(&args.output).map_or_else(
        || "no file was written".into(),
        |path| format!("the same command goes on from `{}`", path.display()),
    );
    Paused(format!("interrupted before learning; {on}"))
}

/// Stops here if Ctrl-C has been pressed.
pub(super) fn check(args: &FitArgs) -> Result<()> {
    if interrupt::asked() { Err(before_learning(args).into()) } else { Ok(()) }
}

/// What hears of the work: the bar, the checkpoints, and Ctrl-C.
struct Watch<'a> {
    output: &'a Output,
    keeper: Option<Keeper>,
    /// Whether more comes after the last step of the learner.
    auto: bool,
    at: Option<At>,
    bar: ProgressBar,
    kept: Result<()>,
}

impl Watch<'_> {
    /// Whether to go on.
    fn goes_on(&mut self, doing: &Doing<'_>) -> bool {
        let stop = interrupt::asked();
        match doing {
            Doing::Points(_) => self.enter(At::Points),
            Doing::Learning(status) => self.step(status, stop),
            Doing::Edges(_) => self.enter(At::Edges),
        }
        !stop && self.kept.is_ok()
    }

    fn step(&mut self, status: &Status<'_>, stop: bool) {
        self.enter(At::Learning { step: status.step, steps: status.steps });
        self.bar.set_position(status.step as u64);
        if let Some(last) = status.history.last() {
            self.bar.set_message(format!("learning, error {:.4}", last.relative_error));
        }
        let last = self.auto && status.step == status.steps;
        if let Some(keeper) = &mut self.keeper {
            self.kept = if stop || last { keeper.write(status) } else { keeper.keep(status) };
        }
    }

    /// Notes where the work is; every stage has its own bar.
    fn enter(&mut self, at: At) {
        let same = self.at.as_ref().map(discriminant) == Some(discriminant(&at));
        self.at = Some(at);
        if same {
            return;
        }
        self.bar.finish_and_clear();
        self.bar = match at {
            At::Points => self.output.spinner("fitting points"),
            At::Edges => self.output.spinner("fitting edges"),
            At::Learning { step, steps } => {
                let bar = self.output.bar("learning", steps);
                bar.set_position(step as u64);
                bar.reset_eta();
                bar
            }
        };
    }

    /// Where the work was last, and the checkpoint that it has left.
    fn end(self) -> Result<(Option<At>, Option<PathBuf>)> {
        self.bar.finish_and_clear();
        self.kept?;
        let path = self.keeper.map(|keeper| keeper.path().to_owned());
        Ok((self.at, path.filter(|path| path.exists())))
    }
}
