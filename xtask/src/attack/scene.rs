//! Scenes: folders with every kind of file, and results of undisturbed commands.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::cases::{CASES, Case};
use super::folder::{self, Snapshot};
use super::inputs::{Members, foreign};
use super::process::{MEMORY, ProgramRun};
use super::random::Random;

/// Files of a scene; [`OWN`] makes those of the last three lines.
const INPUTS: &str = "points.csv points.npy matrix.csv matrix.npy edges.csv graph.npz names.txt \
    groups.txt measures.csv measures.npy measures.npz features.tsv some.csv titles.txt more.txt \
    pairs.csv clouds.csv clouds.npz counts.biom \
    model.tree flat.tree model.forest model.nwk labels.csv plan.csv history.csv docs.index clouds.index \
    first.csv.shard second.csv.shard";

/// Commands that make the files of our own formats.
const OWN: [&str; 10] = [
    "fit -q --points points.csv --names names.txt --measures measures.csv --method additive \
     --epochs 3 --history history.csv -o model.tree",
    "fit -q --points points.csv --method single -o flat.tree",
    "fit -q --points points.csv --names names.txt --measures measures.csv --method forest \
     --n-trees 3 -o model.forest",
    "export model.tree -o model.nwk",
    "exact -q --points points.csv --measures measures.csv --n-pairs 40 -o labels.csv",
    "coupling --exact --graph edges.csv --measures measures.csv --pair 2 3 -o plan.csv",
    "index -q --points points.csv --names names.txt --measures measures.csv \
     --measure-names titles.txt --keep 1MB -o docs.index",
    "distance model.tree --measures measures.csv --shard 1/2 -o first.csv.shard",
    "distance model.tree --measures measures.csv --shard 2/2 -o second.csv.shard",
    "index -q --clouds clouds.npz --keep 1MB -o clouds.index",
];

/// Time limit beyond the time of the undisturbed run.
const GRACE: Duration = Duration::from_secs(10);
/// Time limit of an undisturbed run.
const UNDISTURBED: Duration = Duration::from_secs(120);

/// Returns the names of the files of a scene.
pub(super) fn inputs() -> Vec<&'static str> {
    INPUTS.split_whitespace().collect()
}

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
    /// Creates a scene of some points and measures; undisturbed runs use `folder`.
    pub(super) fn new(
        programs: &Programs,
        folder: &Path,
        points: usize,
        measures: usize,
    ) -> Result<Self> {
        let mut scene = Self::without_own_files(programs, folder, points, measures);
        folder::write(folder, &scene.inputs)?;
        for args in OWN {
            let words: Vec<String> = args.split_whitespace().map(ToString::to_string).collect();
            let free = scene.free_job(&words, false, folder);
            let ended = ProgramRun { limit: UNDISTURBED, ..free }.run()?;
            ensure!(ended.success(), "`{args}` fails undisturbed: {}", ended.words());
        }
        scene.inputs = folder::snapshot(folder)?;
        std::fs::remove_dir_all(folder)?;
        Ok(scene)
    }

    /// Creates a scene without the files that our own commands produce.
    pub(super) fn without_own_files(
        programs: &Programs,
        folder: &Path,
        points: usize,
        measures: usize,
    ) -> Self {
        let (inputs, members) = foreign(points, measures);
        let (programs, folder) = (programs.clone(), folder.into());
        Self { inputs, members, programs, folder, references: RefCell::default() }
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
        let job = ProgramRun { limit: UNDISTURBED, ..self.free_job(args, lab, &self.folder) };
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

    /// Describes faults of a folder after a failed run, except results and journals.
    pub(super) fn wrong_before(&self, folder: &Path) -> Result<Vec<String>> {
        let mut found = folder::snapshot(folder)?;
        found.retain(|name, _| !name.starts_with("out"));
        Ok(folder::differences(&found, &self.inputs, |_| false))
    }
}
