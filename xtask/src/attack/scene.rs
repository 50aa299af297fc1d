//! Scenes: folders with one file of every kind that the programs read, and the results of
//! undisturbed commands on them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::cases::{CASES, Case};
use super::folder::{self, Snapshot};
use super::inputs::{Members, foreign};
use super::process::{MEMORY, ProgramRun};
use super::random::Random;

/// Files of a scene.
pub(super) const INPUTS: [&str; 29] = [
    "points.csv",
    "points.npy",
    "matrix.csv",
    "matrix.npy",
    "edges.csv",
    "graph.npz",
    "names.txt",
    "groups.txt",
    "measures.csv",
    "measures.npy",
    "measures.npz",
    "features.tsv",
    "some.csv",
    "titles.txt",
    "more.txt",
    "pairs.csv",
    "model.tree",
    "flat.tree",
    "model.forest",
    "model.nwk",
    "labels.csv",
    "history.csv",
    "docs.index",
    "first.csv.shard",
    "second.csv.shard",
    "clouds.csv",
    "clouds.npz",
    "clouds.index",
    "counts.biom",
];

/// Time limit beyond the time of the undisturbed run.
const GRACE: Duration = Duration::from_secs(10);

/// Paths of the programs.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) treeport: PathBuf,
    pub(super) lab: PathBuf,
    /// An interpreter that can import treeport, if there is one.
    pub(super) python: Option<PathBuf>,
}

/// Result of an undisturbed run.
#[derive(Debug)]
pub(super) struct Reference {
    /// Files written by the run.
    pub(super) files: Snapshot,
    pub(super) stdout: Vec<u8>,
    pub(super) took: Duration,
}

/// Inputs, and references computed on demand.
pub(super) struct Scene {
    pub(super) inputs: Snapshot,
    /// Members of the archives among them.
    pub(super) members: HashMap<&'static str, Members>,
    programs: Programs,
    /// Folder of the undisturbed runs.
    folder: PathBuf,
    references: RefCell<HashMap<String, Rc<Reference>>>,
}

impl Scene {
    /// Creates a scene with the given numbers of points and measures; undisturbed runs use
    /// `folder`.
    pub(super) fn new(
        programs: &Programs,
        folder: &Path,
        points: usize,
        measures: usize,
    ) -> Result<Self> {
        let mut scene = Self::without_own_files(programs, folder, points, measures);
        for (args, files) in [
            (
                "fit -q --points points.csv --names names.txt --measures measures.csv \
                 --method additive --epochs 3 --history out.csv -o out.tree",
                &[("out.tree", "model.tree"), ("out.csv", "history.csv")][..],
            ),
            (
                "fit -q --points points.csv --method single -o out.tree",
                &[("out.tree", "flat.tree")],
            ),
            (
                "fit -q --points points.csv --names names.txt --measures measures.csv \
                 --method forest --n-trees 3 -o out.forest",
                &[("out.forest", "model.forest")],
            ),
            ("export model.tree -o out.nwk", &[("out.nwk", "model.nwk")]),
            (
                "exact -q --points points.csv --measures measures.csv --n-pairs 40 -o out.csv",
                &[("out.csv", "labels.csv")],
            ),
            (
                "index -q --points points.csv --names names.txt --measures measures.csv \
                 --measure-names titles.txt --keep 1MB -o out.index",
                &[("out.index", "docs.index")],
            ),
            (
                "distance model.tree --measures measures.csv --shard 1/2 -o out.csv.shard",
                &[("out.csv.shard", "first.csv.shard")],
            ),
            (
                "distance model.tree --measures measures.csv --shard 2/2 -o out.csv.shard",
                &[("out.csv.shard", "second.csv.shard")],
            ),
            (
                "index -q --clouds clouds.npz --keep 1MB -o out.index",
                &[("out.index", "clouds.index")],
            ),
        ] {
            let words: Vec<String> = args.split_whitespace().map(ToString::to_string).collect();
            let made = scene.reference(&words, false)?;
            for (from, to) in files {
                let bytes = made.files.get(*from).with_context(|| format!("no `{from}`"))?;
                scene.inputs.insert((*to).into(), bytes.clone());
            }
        }
        Ok(scene)
    }

    /// Creates a scene without the files that our own commands produce.
    pub(super) fn without_own_files(
        programs: &Programs,
        folder: &Path,
        points: usize,
        measures: usize,
    ) -> Self {
        let (mut inputs, members) = foreign(points, measures);
        for name in INPUTS {
            inputs.entry(name.to_owned()).or_insert_with(|| b"to be made\n".to_vec());
        }
        Self {
            inputs,
            members,
            programs: programs.clone(),
            folder: folder.into(),
            references: RefCell::default(),
        }
    }

    /// Creates a job in a folder; its time limit is that of the undisturbed run plus a margin.
    pub(super) fn job(&self, case: &Case, folder: &Path) -> Result<ProgramRun> {
        let limit = self.of(case)?.took + GRACE;
        Ok(ProgramRun { limit, ..self.free_job(&case.words(), case.lab, folder) })
    }

    /// Creates a job from any words.
    pub(super) fn free_job(&self, args: &[String], lab: bool, folder: &Path) -> ProgramRun {
        let program = if lab { &self.programs.lab } else { &self.programs.treeport };
        ProgramRun {
            program: program.clone(),
            args: args.to_vec(),
            folder: folder.into(),
            memory: MEMORY,
            stdout: None,
            limit: GRACE,
        }
    }

    /// Returns the undisturbed run of a case.
    pub(super) fn of(&self, case: &Case) -> Result<Rc<Reference>> {
        self.reference(&case.words(), case.lab)
    }

    /// Returns the undisturbed run of any words.
    pub(super) fn reference(&self, args: &[String], lab: bool) -> Result<Rc<Reference>> {
        let key = format!("{lab} {}", args.join(" "));
        if let Some(known) = self.references.borrow().get(&key) {
            return Ok(known.clone());
        }
        folder::write(&self.folder, &self.inputs)?;
        let job = ProgramRun {
            limit: Duration::from_secs(120),
            ..self.free_job(args, lab, &self.folder)
        };
        let ended = job.run()?;
        ensure!(ended.success(), "`{}` fails undisturbed: {}", job.shown(), ended.words());
        let mut files = folder::snapshot(&self.folder)?;
        files.retain(|name, _| !self.inputs.contains_key(name));
        std::fs::remove_dir_all(&self.folder)?;
        let made = Rc::new(Reference { files, stdout: ended.stdout, took: ended.took });
        self.references.borrow_mut().insert(key, made.clone());
        Ok(made)
    }

    /// Draws a case among those for which `fits` is true.
    pub(super) fn draw(random: &mut Random, fits: impl Fn(&Case) -> bool) -> &'static Case {
        let fitting: Vec<&'static Case> = CASES.iter().filter(|case| fits(case)).collect();
        fitting[random.below(fitting.len())]
    }

    /// Describes what is wrong with the files of a folder after a successful run.
    pub(super) fn wrong_after(&self, case: &Case, folder: &Path) -> Result<Vec<String>> {
        let mut expected = self.inputs.clone();
        expected.extend(self.of(case)?.files.clone());
        let loose = |name: &str| case.timed && name.starts_with("out");
        Ok(folder::differences(&folder::snapshot(folder)?, &expected, loose))
    }

    /// Describes what is wrong with the files of a folder after a failed run, which may leave only
    /// complete results and journals.
    pub(super) fn wrong_before(&self, folder: &Path) -> Result<Vec<String>> {
        let mut found = folder::snapshot(folder)?;
        found.retain(|name, _| !name.starts_with("out"));
        Ok(folder::differences(&found, &self.inputs, |_| false))
    }
}
