//! Random documents that resemble real collections: word vectors with few leading directions,
//! topics, and common words in most documents.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rand::RngExt;
use treeport::{Measures, Result};

use super::{Random, normal};

/// Topics per field, and number of fields.
const TOPICS: usize = 10;
const FIELDS: usize = 40;

/// Share of a document's words that come from its topics.
const ON_TOPIC: f64 = 0.65;

/// Parameters of texts.
#[derive(Clone, Debug)]
pub struct Texts {
    /// Size of the vocabulary.
    pub vocabulary: usize,
    /// Dimension of the word vectors.
    pub dim: usize,
    /// Range of the number of different words per document, concentrated near the geometric mean.
    pub words: RangeInclusive<usize>,
}

impl Texts {
    /// Parameters of newsgroup posts: about 65 of 21,366 words with 384 coordinates.
    pub fn posts() -> Self {
        Self { vocabulary: 21_366, dim: 384, words: 20..=200 }
    }

    /// Parameters of documents of about `words` of 10,000 words with 300 coordinates.
    pub fn short(words: usize) -> Self {
        Self { vocabulary: 10_000, dim: 300, words: (words / 2).max(1)..=words * 2 }
    }

    /// Draws word vectors of length 1, in row-major order: sums of components shared by all words,
    /// by a field, by a topic, and individual ones, with decreasing variance along the axes.
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

    /// Draws documents, each with one field and two of its topics.
    pub fn documents(&self, count: usize, rng: &mut Random) -> Result<Measures> {
        let mut of_topic = vec![Vec::new(); FIELDS * TOPICS];
        (0..self.vocabulary).for_each(|word| of_topic[topic_of(word)].push(word));
        let rows: Vec<BTreeMap<usize, f64>> =
            (0..count).map(|_| self.document(&of_topic, rng)).collect();
        Ok(Measures::from_rows(self.vocabulary, rows)?.normalized())
    }

    fn document(&self, of_topic: &[Vec<usize>], rng: &mut Random) -> BTreeMap<usize, f64> {
        let (least, most) = (*self.words.start() as f64, *self.words.end() as f64);
        // The mean of three uniform numbers is concentrated near the middle.
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

/// Returns the topic of a word, whose number is its rank by frequency.
fn topic_of(word: usize) -> usize {
    word.wrapping_mul(7919) % (FIELDS * TOPICS)
}

/// Draws a rank below `count` with probability proportional to 1/(rank + `flat`).
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
