//! Texts as measures on words: tokens, counts, weights, and the words that have vectors.
//!
//! The steps are those of scikit-learn's `CountVectorizer` and `TfidfVectorizer` without a norm, in
//! the same order of operations, so that both give the same numbers. One difference: a vowel sign
//! that is a character of its own, as in Hindi, belongs to its word and does not end it.

mod stop_words;

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::measures::{Measures, match_names};
use crate::memory;
use crate::names::named;
use crate::tools::csr::Csr;
pub use stop_words::StopWords;

const STEP: &str = "the words of all documents";
const INSTEAD: &str = "give fewer documents";
/// Characters of a document that an error shows.
const SHOWN: usize = 60;

/// Mass of a word in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordWeights {
    /// The number of times that the word occurs.
    #[default]
    Counts,
    /// The count, times 1 plus the logarithm of (1 + documents) / (1 + documents with the word).
    Tfidf,
}

named! { WordWeights, "weights", {
    Counts: "counts", "how often the word occurs";
    Tfidf: "tfidf", "that times the logarithmic rarity of the word";
} }

/// Returns the words of a text in lower case: runs of at least two letters, digits or underscores.
fn words_of(lower: &str) -> impl Iterator<Item = &str> {
    let runs = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    runs.filter(|word| word.chars().nth(1).is_some())
}

/// Counter of the words of documents.
#[derive(Debug, Default)]
pub struct WordCounter {
    stop_words: StopWords,
    number: HashMap<String, u32>,
    start: Vec<usize>,
    /// Words by number and their counts, document by document.
    entries: Vec<(u32, u32)>,
    beginnings: Vec<Box<str>>,
}

impl WordCounter {
    /// Creates a counter that leaves these words out.
    pub fn new(stop_words: StopWords) -> Self {
        Self { stop_words, start: vec![0], ..Self::default() }
    }

    /// Adds a text as a document.
    ///
    /// # Errors
    /// The counts do not fit into memory, or there are more than 2³² words.
    pub fn add_text(&mut self, text: &str) -> Result<()> {
        self.add(words_of(&text.to_lowercase()), beginning(text.chars()))
    }

    /// Adds a document that is split into words already; they keep their upper and lower case.
    ///
    /// # Errors
    /// Errors of [`add_text`](Self::add_text).
    pub fn add_words(&mut self, words: &[impl AsRef<str>]) -> Result<()> {
        let first: Vec<&str> = words.iter().map(AsRef::as_ref).take(SHOWN).collect();
        self.add(words.iter().map(AsRef::as_ref), beginning(first.join(" ").chars()))
    }

    fn add<'a>(&mut self, words: impl Iterator<Item = &'a str>, beginning: Box<str>) -> Result<()> {
        let mut found: Vec<u32> = Vec::new();
        for word in words.filter(|word| !self.stop_words.has(word)) {
            let number = self.number.get(word).copied();
            found.push(number.map_or_else(|| number_of_new(word, &mut self.number), Ok)?);
        }
        found.sort_unstable();
        memory::grow(&mut self.entries, STEP, found.len(), INSTEAD)?;
        let runs = found.chunk_by(|one, other| one == other);
        self.entries.extend(runs.map(|run| (run[0], u32::try_from(run.len()).unwrap_or(u32::MAX))));
        self.start.push(self.entries.len());
        self.beginnings.push(beginning);
        Ok(())
    }

    /// Returns the counts, with the words in alphabetical order.
    pub fn finish(self) -> WordTable {
        let mut words: Vec<(String, u32)> = self.number.into_iter().collect();
        words.sort_unstable();
        let mut column = vec![0; words.len()];
        for (at, (_, number)) in words.iter().enumerate() {
            column[*number as usize] = at;
        }
        let mut counts = Csr {
            rows: self.beginnings.len(),
            cols: words.len(),
            start: self.start,
            indices: Vec::with_capacity(self.entries.len()),
            values: Vec::with_capacity(self.entries.len()),
        };
        for ends in counts.start.windows(2) {
            let entries = self.entries[ends[0]..ends[1]].iter();
            let mut row: Vec<_> = entries.map(|&(word, n)| (column[word as usize], n)).collect();
            row.sort_unstable();
            counts.indices.extend(row.iter().map(|&(word, _)| word));
            counts.values.extend(row.iter().map(|&(_, n)| f64::from(n)));
        }
        let words = words.into_iter().map(|(word, _)| word).collect();
        let masses = counts.values.clone();
        WordTable { words, counts, masses, beginnings: self.beginnings, ids: None }
    }
}

fn number_of_new(word: &str, all: &mut HashMap<String, u32>) -> Result<u32> {
    let (count, max) = (all.len(), u32::MAX as usize);
    let number = u32::try_from(count).map_err(|_| Error::TooManyPoints { count, max })?;
    all.insert(word.into(), number);
    Ok(number)
}

fn beginning(characters: impl Iterator<Item = char>) -> Box<str> {
    let shown = characters.take(SHOWN).map(|c| if c.is_control() { ' ' } else { c });
    shown.collect::<String>().trim().into()
}

/// Counts and masses of the words of documents.
#[derive(Clone, Debug)]
pub struct WordTable {
    words: Vec<String>,
    counts: Csr,
    /// Masses of the entries of `counts`.
    masses: Vec<f64>,
    beginnings: Vec<Box<str>>,
    ids: Option<Vec<String>>,
}

impl WordTable {
    /// Creates a table of counts and masses that were computed elsewhere.
    ///
    /// # Errors
    /// The table has an invalid shape.
    pub fn new(words: Vec<String>, counts: Csr, masses: Vec<f64>) -> Result<Self> {
        // This checks the shape.
        Measures::from_csr_or_empty(words.len(), &counts.start, &counts.indices, &masses)?;
        let beginnings = vec![Box::default(); counts.rows];
        Ok(Self { words, counts, masses, beginnings, ids: None })
    }

    /// Returns the table with IDs of documents, for errors and for the names of the measures.
    #[must_use]
    pub fn with_ids(self, ids: Option<Vec<String>>) -> Self {
        Self { ids, ..self }
    }

    /// Returns the IDs of the documents, if they have any.
    pub fn ids(&self) -> Option<&[String]> {
        self.ids.as_deref()
    }

    /// Returns all words, in alphabetical order if they were counted here.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Sets the masses by the rarity of words among these documents.
    pub fn weigh(&mut self, weights: WordWeights) {
        let mut documents = vec![0; self.words.len()];
        self.counts.indices.iter().for_each(|&word| documents[word] += 1);
        self.weigh_by(weights, self.counts.rows, |word| documents[word]);
    }

    /// Sets the masses of queries by the rarity of words in a collection: measures on points of
    /// these names.
    pub fn weigh_as(&mut self, weights: WordWeights, measures: &Measures, names: &[String]) {
        let mut documents: HashMap<&str, usize> = HashMap::new();
        for measure in measures.iter() {
            let words = measure.support().iter().map(|&point| names[point as usize].as_str());
            words.for_each(|word| *documents.entry(word).or_default() += 1);
        }
        let of: Vec<usize> =
            self.words.iter().map(|word| documents.get(&**word).copied().unwrap_or(0)).collect();
        self.weigh_by(weights, measures.len(), |word| of[word]);
    }

    fn weigh_by(&mut self, weights: WordWeights, total: usize, with: impl Fn(usize) -> usize) {
        self.masses.clone_from(&self.counts.values);
        if weights == WordWeights::Tfidf {
            let rarity = |word| ((1.0 + total as f64) / (1.0 + with(word) as f64)).ln() + 1.0;
            let of: Vec<f64> = (0..self.words.len()).map(rarity).collect();
            let entries = self.masses.iter_mut().zip(&self.counts.indices);
            entries.for_each(|(mass, &word)| *mass *= of[word]);
        }
    }

    /// Returns the documents as measures of total 1 on their known words; other words are left out
    /// and counted.
    ///
    /// # Errors
    /// There are no documents, or one of them has no known word.
    pub fn texts(&self, is_known: impl Fn(&str) -> bool) -> Result<Texts> {
        if self.counts.rows == 0 {
            return Err(Error::NoDocuments);
        }
        let mut times = vec![0.0; self.words.len()];
        let entries = self.counts.indices.iter().zip(&self.counts.values);
        entries.for_each(|(&word, count)| times[word] += count);
        let known: Vec<bool> = self.words.iter().map(|word| is_known(word)).collect();
        let (mut words, mut place) = (Vec::new(), vec![usize::MAX; self.words.len()]);
        let mut unknown = Vec::new();
        for (at, word) in self.words.iter().enumerate().filter(|(at, _)| times[*at] > 0.0) {
            if known[at] {
                place[at] = words.len();
                words.push(word.clone());
            } else {
                unknown.push((word.clone(), times[at].round() as u64));
            }
        }
        unknown.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let absent: u64 = unknown.iter().map(|(_, times)| times).sum();
        let total: f64 = times.iter().map(|times| times.round()).sum();
        let known_share = if total == 0.0 { 1.0 } else { 1.0 - absent as f64 / total };
        let measures = self.measures(&place, words.len())?;
        Ok(Texts { words, measures, unknown, known_share })
    }

    /// Returns the measures on the words that have a place.
    fn measures(&self, place: &[usize], words: usize) -> Result<Measures> {
        let row = |ends: &[usize]| {
            let entries =
                (ends[0]..ends[1]).map(|e| (place[self.counts.indices[e]], self.masses[e]));
            let row: Vec<_> =
                entries.filter(|(word, mass)| *word != usize::MAX && *mass != 0.0).collect();
            let scale = 1.0 / row.iter().map(|(_, mass)| mass).sum::<f64>();
            row.into_iter().map(move |(word, mass)| (word, mass * scale))
        };
        let rows: Vec<_> = self.counts.start.windows(2).map(row).collect();
        let mut without = (0..rows.len()).filter(|&row| rows[row].len() == 0);
        if let Some(first) = without.next() {
            let id = self.ids.as_ref().map_or_else(|| first.to_string(), |ids| ids[first].clone());
            return Err(Error::NoKnownWord {
                without: 1 + without.count(),
                documents: self.counts.rows,
                id,
                beginning: self.beginnings[first].clone(),
            });
        }
        let measures = Measures::from_rows(words, rows)?;
        match &self.ids {
            Some(ids) => measures.with_names(ids.clone()),
            None => Ok(measures),
        }
    }
}

/// Documents as measures on words.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The known words of the documents, in alphabetical order.
    pub words: Vec<String>,
    /// The documents, on these words; their totals are 1.
    pub measures: Measures,
    /// Words that are not known and how often they occur, the most frequent first.
    pub unknown: Vec<(String, u64)>,
    /// The share of all words of all documents that are known.
    pub known_share: f64,
}

/// Share of unknown words above which [`Texts::warning`] returns a warning.
const MANY: f64 = 0.2;

impl Texts {
    /// Returns the measures on points of these names, which have to include all words.
    ///
    /// # Errors
    /// Two points have one name, or a word is not among them.
    pub fn on(&self, names: &[String]) -> Result<Measures> {
        let places = match_names(&self.words, names)?;
        let rows =
            self.measures.iter().map(|row| row.iter().map(|(word, mass)| (places[word], mass)));
        let measures = Measures::from_rows(names.len(), rows)?;
        match self.measures.names() {
            Some(ids) => measures.with_names(ids.to_vec()),
            None => Ok(measures),
        }
    }

    /// Returns a warning if more than a fifth of the words are not known.
    pub fn warning(&self) -> Option<String> {
        let some: Vec<&str> = self.unknown.iter().take(5).map(|(word, _)| &**word).collect();
        (self.known_share < 1.0 - MANY).then(|| {
            let share = 100.0 * (1.0 - self.known_share);
            let some = some.join(", ");
            format!(
                "{share:.0}% of the text has no vector, such as {some}; these words are left out"
            )
        })
    }
}

#[cfg(test)]
mod tests;
