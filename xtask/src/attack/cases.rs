//! Attacked commands: all of them, on every kind of input.
//!
//! Outputs of a command begin with `out`; every other word that names a file of the scene is an
//! input.

/// A command, to be run in the folder of a scene.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// The program is `treeport-lab`, not `treeport`.
    pub(super) lab: bool,
    pub(super) args: &'static str,
    /// Its output contains times, so that runs differ.
    pub(super) timed: bool,
    /// It runs long enough to be interrupted by a signal.
    pub(super) long: bool,
}

const fn long(args: &'static str) -> Case {
    Case { lab: false, args, timed: false, long: true }
}

const fn short(args: &'static str) -> Case {
    Case { lab: false, args, timed: false, long: false }
}

const fn timed(case: Case) -> Case {
    Case { timed: true, ..case }
}

const fn lab(case: Case) -> Case {
    Case { lab: true, ..case }
}

/// All cases. Rounds refer to a case by its index, so new ones are appended.
pub(super) const CASES: &[Case] = &[
    long("fit -q --points points.npy --measures measures.npz --history out.csv -o out.tree"),
    long("fit -q --points points.csv --measures measures.csv --method forest -o out.forest"),
    long(
        "fit -q --graph edges.csv --measures measures.csv --method additive --epochs 20 \
         --history out.csv -o out.tree",
    ),
    long("fit -q --matrix matrix.npy --measures measures.npy --method ultrametric -o out.tree"),
    long("fit -q --graph graph.npz --n-pairs 3000 -o out.tree"),
    long(
        "fit -q --points points.csv --measures measures.npz --labels labels.csv --n-trees 4 \
         --epochs 5 --method learned-forest -o out.forest",
    ),
    long("fit -q --matrix matrix.csv --method ultratwd -o out.tree"),
    long(
        "fit -q --points points.csv --measures measures.csv --names names.txt --start model.nwk \
         --pairs pairs.csv --seed 3 -o out.tree",
    ),
    long("fit -q --points points.npy --measures measures.npy --method sliced-ctwd -o out.forest"),
    long("fit -q --graph edges.csv --measures measures.csv --method auto -o out.tree"),
    short("fit -q --points points.npy --method quadtree --metric manhattan -o out.tree"),
    short(
        "fit -q --graph edges.csv --measures measures.npz --method additive --start model.tree --scale false -o out.tree",
    ),
    long("exact -q --points points.npy --measures measures.npz -o out.csv"),
    long("exact -q --graph edges.csv --measures measures.csv -o out.csv"),
    long(
        "exact -q --matrix matrix.npy --assume-metric --measures measures.npy --n-pairs 300 -o out.csv",
    ),
    short("exact --graph graph.npz --measures measures.csv --pairs pairs.csv --json"),
    short("distance model.tree --measures measures.npz -o out.csv"),
    short("distance model.forest --measures measures.csv --measure-names titles.txt -o out.csv"),
    short("distance model.forest --measures measures.npy -o out.npy"),
    short("distance model.nwk --names names.txt --measures measures.csv --against measures.csv"),
    short("distance model.nwk --measures measures.npz --normalize --pairs pairs.csv --json"),
    short("coupling model.tree --measures measures.npz --pair 0 1 -o out.csv"),
    short("coupling --exact --graph edges.csv --measures measures.csv --pair 2 3"),
    short("coupling model.forest --names names.txt --measures measures.csv --pair 1 1 --json"),
    short("certify --graph edges.csv --measures measures.csv --pair 2 3 --plan plan.csv"),
    short("embed model.tree --measures measures.npz -o out.npz"),
    short("embed model.forest --measures measures.csv --measure-names titles.txt -o out.csv"),
    long("estimate -q --points points.npy --measures measures.npz --bounds -o out.csv"),
    long(
        "estimate -q --graph edges.csv --measures measures.csv --accuracy 0.02 --bounds -o out.csv",
    ),
    short(
        "estimate model.forest --matrix matrix.csv --measures measures.npy --labels labels.csv \
         --accuracy tree -o out.csv",
    ),
    timed(long("eval model.tree model.nwk --points points.npy --measures measures.npz")),
    timed(short(
        "eval model.forest --matrix matrix.npy --measures measures.csv --labels labels.csv --json",
    )),
    timed(long(
        "compare --graph edges.csv --measures measures.csv --methods additive,forest,mean-label",
    )),
    short("nearest model.tree --measures measures.npz -k 3 -o out.csv"),
    short(
        "nearest model.nwk --measures measures.csv --measure-names titles.txt --queries measures.npy",
    ),
    short("export model.tree -o out.nwk"),
    short("export flat.tree --format linkage -o out.npy"),
    short("export model.forest --format json -o out.json"),
    short("export model.nwk --names names.txt -o out.svg"),
    short("export model.tree --measures measures.npz -o out.npz"),
    short("export model.forest --measures measures.npz --queries measures.npz --most 5 -o out.sql"),
    short(
        "export model.tree --measures measures.csv --measure-names titles.txt --table t -o out.sql",
    ),
    timed(long(
        "report -q model.tree model.forest --points points.npy --names names.txt \
         --measures measures.csv --measure-names titles.txt --history history.csv \
         --groups groups.txt -o out.html",
    )),
    short("report -q model.nwk -o out.html"),
    short("plot tree model.tree --groups groups.txt --title <b> -o out.svg"),
    short("plot loss model.tree --history history.csv -o out.svg"),
    long("plot scatter model.forest --graph edges.csv --measures measures.csv -o out.svg"),
    timed(long("demo -q -o out")),
    short("man -o out"),
    short("completions bash"),
    lab(timed(long("reproduce uniform --quick --dims 2 --runs 1 -o out"))),
    lab(timed(short("reproduce four-points --quick -o out"))),
    lab(timed(long("reproduce recovered-tree --quick -o out"))),
    // The file contains what fits into memory, so a low limit gives another file.
    long("index -q --points points.npy --measures measures.npz --keep 1MB -o out.index"),
    long("index -q --graph edges.csv --measures measures.csv --keep 0 -o out.index"),
    short(
        "index -q docs.index --add measures.csv --measure-names more.txt --remove 0,m1 -o out.index",
    ),
    short("nearest docs.index --queries measures.csv --query-names titles.txt -k 3 -o out.csv"),
    short("nearest docs.index --radius 0.5 --json"),
    short("nearest docs.index --accuracy 0.1 -o out.csv"),
    short("nearest docs.index --queries measures.npy --accuracy approximate"),
    long("exact -q --points points.npy --measures measures.npz --shard 2/3 -o out.csv.shard"),
    short("distance model.forest --measures measures.npy --shard 1/2 -o out.npy.shard"),
    short("nearest docs.index -k 3 --shard 3/3 -o out.csv.shard"),
    short("distance model.tree --measures features.tsv --transpose --square -o out.tsv"),
    long("exact -q --points points.csv --measures features.tsv --transpose -o out.csv"),
    short("merge second.csv.shard first.csv.shard -o out.csv"),
    short("distance model.tree --measures some.csv --missing warn -o out.csv"),
    short("exact -q --graph edges.csv --measures some.csv -o out.csv"),
    long("exact -q --clouds clouds.csv -o out.csv"),
    short("exact -q --clouds clouds.npz --accuracy 0.1 --pairs pairs.csv -o out.csv"),
    long("index -q --clouds clouds.csv --keep 1MB -o out.index"),
    short("index -q clouds.index --clouds clouds.npz --remove 0 -o out.index"),
    short("nearest clouds.index --queries clouds.csv -k 3 -o out.csv"),
    short("unifrac model.nwk --measures counts.biom -o out.tsv"),
    long("exact -q --points points.npy --measures measures.npz --accuracy 0.001 -o out.csv"),
    long("exact -q --clouds clouds.csv --penalty 0.5 -o out.csv"),
    short("exact -q --matrix matrix.npy --measures measures.npy --mass 0.3 -o out.csv"),
    short("index -q --clouds clouds.csv --penalty 0.5 -o out.index"),
];

impl Case {
    /// Returns the words of the command.
    pub(super) fn words(&self) -> Vec<String> {
        self.args.split_whitespace().map(ToString::to_string).collect()
    }

    /// Checks whether the command has this file as a word.
    pub(super) fn reads(&self, file: &str) -> bool {
        self.args.split_whitespace().any(|word| word == file)
    }

    /// Returns the outputs of the command.
    pub(super) fn writes(&self) -> impl Iterator<Item = &'static str> {
        self.args.split_whitespace().filter(|word| *word == "out" || word.starts_with("out."))
    }

    /// Returns the name of the subcommand.
    pub(super) fn command(&self) -> &'static str {
        self.args.split_whitespace().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::scene;

    #[test]
    fn every_file_of_the_scene_is_read_by_a_command() {
        for file in scene::inputs() {
            assert!(CASES.iter().any(|case| case.reads(file)), "{file}");
        }
    }

    #[test]
    fn every_file_that_is_read_is_in_the_scene() {
        let is_file = |word: &&str| {
            let ending = word.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
            !ending.is_empty() && !ending.starts_with(|c: char| c.is_ascii_digit())
        };
        for case in CASES {
            for word in case.args.split_whitespace().filter(is_file) {
                let known = scene::inputs().contains(&word) || case.writes().any(|out| out == word);
                assert!(known, "{word} of {}", case.args);
            }
        }
    }
}
