//! Hidden trees come back: the section "Changing Tree Structure" of [CTW24].

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treeport::{
    GroundMetric, Kind, Labeled, LearnOptions, Linkage, Measures, Tree, learn, linkage, silent,
};

/// The hidden ultrametric: {0, 3} and {1, 2} at distance 2, everything else at 4.
const HIDDEN: [f64; 6] = [4.0, 4.0, 2.0, 2.0, 4.0, 4.0];

/// The adversarial start: {0, 1} and {2, 3} together instead.
const ADVERSARIAL: [f64; 6] = [2.0, 4.0, 4.0, 4.0, 4.0, 2.0];

fn single_linkage(condensed: [f64; 6]) -> Tree {
    linkage(
        &GroundMetric::from_condensed(4, condensed.to_vec()).unwrap(),
        Linkage::Single,
        &treeport::silent,
    )
    .unwrap()
}

/// 200 pairs of random measures with their transport distance on the hidden tree.
fn hidden_labels(rng: &mut Xoshiro256PlusPlus) -> Labeled {
    let masses: Vec<f64> = (0..400 * 4).map(|_| rng.random()).collect();
    let measures = Measures::from_dense(4, &masses).unwrap().normalized();
    let pairs: Vec<(usize, usize)> = (0..200).map(|k| (2 * k, 2 * k + 1)).collect();
    let distances = single_linkage(HIDDEN).pairs(&measures, &pairs, &silent).unwrap();
    Labeled::new(&measures, pairs, distances).unwrap()
}

fn recover(start: &Tree, seed: u64) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let data = hidden_labels(&mut rng);
    let options = LearnOptions {
        kind: Kind::Ultrametric,
        epochs: 100,
        learning_rate: 1.0,
        seed,
        ..Default::default()
    };
    let learned = learn(start, &data, &options, &silent).unwrap();
    let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
    pairs
        .zip(HIDDEN)
        .map(|((i, j), hidden)| (learned.tree.leaf_distance(i, j) - hidden).abs())
        .fold(0.0, f64::max)
}

#[test]
fn the_adversarial_start_is_overcome() {
    let error = recover(&single_linkage(ADVERSARIAL), 0);
    assert!(error < 1e-6, "largest difference {error}");
}

#[test]
fn a_hundred_random_starts_all_recover_the_hidden_tree() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(17);
    let errors: Vec<f64> = (0..100)
        .map(|seed| {
            let start = std::array::from_fn(|_| rng.random_range(10.0..20.0));
            recover(&single_linkage(start), seed)
        })
        .collect();
    let failed: Vec<_> = errors.iter().enumerate().filter(|(_, e)| **e >= 1e-6).collect();
    assert!(failed.is_empty(), "{} of 100 starts failed: {failed:?}", failed.len());
}
