//! Collections of documents that look like those people have: words as vectors with few leading
//! directions, in topics, and common words in most documents.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rand::RngExt;
use treeport::{Measures, Result};

use super::{Random, normal};

/// Topics of a field, and fields there are.
const TOPICS: usize = 10;
const FIELDS: usize = 40;

/// The share of a document's words that come from its topics.
const ON_TOPIC: f64 = 0.65;

/// What texts are like.
#[derive(Clone, Debug)]
pub struct Texts {
    /// Words there are.
    pub vocabulary: usize,
    /// Coordinates of a word.
    pub dim: usize,
    /// The fewest and the most different words of a document; most have about their geometric mean.
    pub words: RangeInclusive<usize>,
}

impl Texts {
    /// Posts as newsgroups have them: about 65 of 21,366 words with 384 coordinates.
    pub fn posts() -> Self {
        Self { vocabulary: 21_366, dim: 384, words: 20..=200 }
    }

    /// Documents of about so many of 10,000 words with 300 coordinates.
    pub fn short(words: usize) -> Self {
        Self { vocabulary: 10_000, dim: 300, words: (words / 2).max(1)..=words * 2 }
    }

    /// Vectors of length 1, row after row: parts that all words share, those of a field and those of a
    /// topic share, and one of their own, all with axes that matter less and less.
    pub fn vectors(&self, rng: &mut Random) -> Vec<f64> {
        let mut draw = |count: usize| -> Vec<f64> {
            let axis = |at: usize| ((at % self.dim + 1) as f64).powf(-0.4);
            (0..count * self.dim).map(|at| axis(at) * normal(rng)).collect()
        };
        let (common, fields, topics) = (draw(1), draw(FIELDS), draw(FIELDS * TOPICS));
        let mut vectors = draw(self.vocabulary);
        for (word, vector) in vectors.chunks_exact_mut(self.dim).enumerate() {
            let topic = topic_of(word);
            let part = |of: &[f64], at: usize| of[at * self.dim..(at + 1) * self.dim].to_vec();
            let parts = [
                (0.5, part(&common, 0)),
                (0.5, part(&fields, topic / TOPICS)),
                (0.5, part(&topics, topic)),
            ];
            for (share, part) in parts {
                vector.iter_mut().zip(part).for_each(|(x, y)| *x += share * y);
            }
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            for x in vector {
                *x /= length;
            }
        }
        vectors
    }

    /// Documents with a field each and two of its topics.
    ///
    /// # Errors
    /// None: they are measures.
    pub fn documents(&self, count: usize, rng: &mut Random) -> Result<Measures> {
        let mut of_topic = vec![Vec::new(); FIELDS * TOPICS];
        (0..self.vocabulary).for_each(|word| of_topic[topic_of(word)].push(word));
        let rows: Vec<BTreeMap<usize, f64>> =
            (0..count).map(|_| self.document(&of_topic, rng)).collect();
        Ok(Measures::from_rows(self.vocabulary, rows)?.normalized())
    }

    fn document(&self, of_topic: &[Vec<usize>], rng: &mut Random) -> BTreeMap<usize, f64> {
        let (least, most) = (*self.words.start() as f64, *self.words.end() as f64);
        // The mean of three is near the middle more often than not.
        let share = (0..3).map(|_| rng.random::<f64>()).sum::<f64>() / 3.0;
        let words = (least * (most / least).powf(share)).round() as usize;
        let field = rng.random_range(0..FIELDS);
        let topics: [usize; 2] =
            std::array::from_fn(|_| field * TOPICS + rng.random_range(0..TOPICS));
        let mut counts = BTreeMap::new();
        while counts.len() < words.min(self.vocabulary) {
            let word = if rng.random::<f64>() < ON_TOPIC {
                let topic = &of_topic[topics[rng.random_range(0..2)]];
                topic[common_rank(topic.len(), 1.0, rng)]
            } else {
                common_rank(self.vocabulary, 10.0, rng)
            };
            *counts.entry(word).or_insert(0.0) += 1.0;
        }
        counts
    }
}

/// The topic of a word, whose number is its rank by frequency.
fn topic_of(word: usize) -> usize {
    word.wrapping_mul(7919) % (FIELDS * TOPICS)
}

/// A rank below `count`, with a probability like 1/(rank + `flat`).
fn common_rank(count: usize, flat: f64, rng: &mut Random) -> usize {
    let rank = flat * ((count as f64 / flat + 1.0).powf(rng.random::<f64>()) - 1.0);
    (rank as usize).min(count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::seeded;

    #[test]
    fn texts_are_as_long_as_asked_and_vectors_of_length_one() {
        let texts = Texts { vocabulary: 900, dim: 12, words: 5..=20 };
        let rng = &mut seeded(3);
        let vectors = texts.vectors(rng);
        for vector in vectors.chunks_exact(12) {
            assert!((vector.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let documents = texts.documents(50, rng).unwrap();
        assert_eq!((documents.len(), vectors.len()), (50, 900 * 12));
        assert!(documents.iter().all(|document| (5..=20).contains(&document.support().len())));
        let common = documents.iter().filter(|d| d.support().iter().any(|&word| word < 10)).count();
        assert!(common > 25, "{common}");
    }
}
