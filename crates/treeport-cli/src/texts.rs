//! Texts in place of measures, for `index` and `nearest`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use treeport::io::word_vectors::WordVectors;
use treeport::search::IndexFile;
use treeport::texts::{StopWords, Texts, WordTable, WordWeights};
use treeport::{Geometry, GroundMetric, Measures};

use crate::args::choice;
use crate::input;
use crate::output::Output;
use crate::progress::watched;
use crate::source;

/// Texts, and how their words are weighed.
#[derive(Args, Clone, Debug)]
pub(crate) struct TextArgs {
    /// Texts in place of measures: a folder with a file for each, whose paths are their names, or a
    /// file with a line for each; UTF-8, gzip or not.
    #[arg(long, value_name = "PATH", help_heading = "Texts", group = "collection")]
    pub(crate) texts: Option<PathBuf>,
    /// Words to leave out: english, none, or a file with one per line.
    #[arg(long, value_name = "WORDS", default_value = "english", help_heading = "Texts")]
    #[arg(requires = "texts")]
    stop_words: PathBuf,
    /// The mass of a word in a text: how often it occurs (counts), or that times its logarithmic
    /// rarity (tfidf). Every text is divided by its total.
    #[arg(long, value_name = "HOW", default_value = "counts", help_heading = "Texts")]
    #[arg(value_parser = choice::<WordWeights>(), hide_possible_values = true, requires = "texts")]
    word_weights: WordWeights,
}

impl TextArgs {
    /// Reads texts and the vectors of their words, as points with names.
    pub(crate) fn with_vectors(
        &self,
        path: &Path,
        vectors: &Path,
        geometry: impl Into<Geometry>,
        output: &Output,
    ) -> Result<(GroundMetric, Vec<String>, Measures)> {
        let mut table = self.count(path, output)?;
        table.weigh(self.word_weights);
        let wanted: BTreeSet<String> = table.words().iter().cloned().collect();
        let vectors_of = |progress: &treeport::Progress<'_>| match source::piped(vectors)? {
            Some(bytes) => {
                WordVectors::of_reader(&bytes[..], Some(bytes.len()), Some(&wanted), progress)
            }
            None => WordVectors::read(vectors, Some(&wanted), progress),
        };
        let found = watched(output, vectors_of).with_context(|| input::name(vectors))?;
        let places = found.words.iter().zip(0..);
        let place: HashMap<&str, usize> = places.map(|(word, at)| (word.as_str(), at)).collect();
        let texts = known(&table, path, |word| place.contains_key(word), output)?;
        let vector = |word: &String| {
            let start = place[word.as_str()] * found.dim;
            found.coordinates[start..start + found.dim].iter().copied().map(f64::from)
        };
        let points = texts.words.iter().flat_map(vector).collect();
        let metric = GroundMetric::from_points(found.dim, points, geometry)
            .with_context(|| input::name(vectors))?;
        // Python's searches divide rows by their totals, too, which rounding leaves near 1.
        Ok((metric, texts.words, texts.measures.normalized()))
    }

    /// Reads texts on the words of an index. Their rarity is that in the index.
    pub(crate) fn on_words(
        &self,
        path: &Path,
        file: &IndexFile,
        index: &Path,
        output: &Output,
    ) -> Result<Measures> {
        let Some(words) = &file.point_names else {
            let name = input::name(index);
            bail!("{name}: its points have no names, which the words of `--texts` need");
        };
        let mut table = self.count(path, output)?;
        table.weigh_as(self.word_weights, file.index.measures(), words);
        let there: HashSet<&str> = words.iter().map(String::as_str).collect();
        let texts = known(&table, path, |word| there.contains(word), output)?;
        Ok(texts.on(words).with_context(|| input::name(index))?.normalized())
    }

    fn count(&self, path: &Path, output: &Output) -> Result<WordTable> {
        let stop_words = match self.stop_words.to_str() {
            Some("english") => StopWords::english(),
            Some("none") => StopWords::default(),
            _ => source::read_text(&self.stop_words)?.lines().map(str::to_owned).collect(),
        };
        let piped = source::piped(path)?.is_some();
        let text = piped.then(|| source::read_text(path)).transpose()?;
        watched(output, |progress| match &text {
            Some(text) => WordTable::of_lines(text, stop_words.clone(), progress),
            None => WordTable::read(path, stop_words.clone(), progress),
        })
    }
}

/// Returns the texts on known words; prints a warning if many words are not known.
fn known(
    table: &WordTable,
    path: &Path,
    is_known: impl Fn(&str) -> bool,
    output: &Output,
) -> Result<Texts> {
    let texts = table.texts(is_known).with_context(|| input::name(path))?;
    if let Some(warning) = texts.warning() {
        output.note(&format!("warning: {}: {warning}", input::name(path)));
    }
    Ok(texts)
}
