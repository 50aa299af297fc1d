//! Exact transport in batches of small pairs, and between few and many points.

use rand::seq::SliceRandom;
use treeport::{GroundMetric, Measures, PointMetric, Problem, Result, silent};
use treeport_report::sample::positive;

use super::exact::{TimedPairs, on_threads, row};
use super::{Peer, Row, median_seconds_of_both};
use crate::generate::{couples, gaussian_points, seeded};

/// Support sizes of timed batches, with the number of measures per side.
pub(super) const BATCHES: [(usize, usize); 3] = [(10, 100), (30, 50), (100, 10)];

/// Dimensions of the points of a batch: plane, space, and word vectors.
const DIMS: [usize; 3] = [2, 3, 300];

/// Factor from the measures of a batch to the documents per side: more documents share more words.
const DOCUMENTS: usize = 4;

/// Sizes of the timed problem of few against many points.
pub(super) const FEW: usize = 10;
pub(super) const MANY_POINTS: usize = 20_000;

/// Dimension of the lopsided problem.
const LOPSIDED_DIM: usize = 3;

/// Times a batch of `side` × `side` pairs from coordinates on one thread; the peer solves single
/// pairs in an order that repeats no measure.
pub(super) fn batches(
    (support, side): (usize, usize),
    seed: u64,
    report: &mut impl FnMut(&Row),
) -> Result<()> {
    let mut problems = Vec::new();
    for dim in DIMS {
        problems.push((dim, "batch", TimedPairs::apart(side, support, dim, seed)?));
    }
    // Distances between shared words are computed once per document on the left.
    let dim = DIMS[DIMS.len() - 1];
    let problem = TimedPairs::documents(DOCUMENTS * side, support, dim, seed)?;
    problems.push((dim, "batch of documents", problem));
    for (dim, kind, problem) in problems {
        let mut shuffled = problem.pairs.clone();
        shuffled.shuffle(&mut seeded(seed));
        let one_by_one = || -> Result<Vec<f64>> {
            let pair = |&(i, j): &(usize, usize)| {
                Problem::new(&problem.metric, &problem.measures.row(i), &problem.measures.row(j))
                    .value(&silent)
            };
            shuffled.iter().map(pair).collect()
        };
        let batch = || problem.solve(&problem.metric);
        let (ours, theirs) = on_threads(1, || median_seconds_of_both(batch, one_by_one));
        let count = problem.pairs.len();
        let peer = Peer { name: "one pair after another", seconds: theirs / count as f64 };
        let case = format!("coordinates in R^{dim}, {kind}");
        let seconds = ours / count as f64;
        report(&row(support, &case, (count, 1), seconds, Some(peer), vec![]));
    }
    Ok(())
}

/// Times one pair of few against many points, from coordinates; the peer has equal sides and about
/// as many arcs.
pub(super) fn lopsided(few: usize, many: usize, seed: u64) -> Result<Row> {
    let square = (few * many).isqrt();
    let (ours, theirs) = (between(few, many, seed)?, between(square, square, seed)?);
    let solve = |problem: &TimedPairs| problem.solve(&problem.metric);
    let times = || median_seconds_of_both(|| solve(&ours), || solve(&theirs));
    let (seconds, peer) = on_threads(1, times);
    let arcs = |problem: &TimedPairs| {
        let sizes = problem.measures.iter().map(|measure| measure.support().len());
        sizes.product::<usize>() as f64
    };
    let more = vec![
        ("ns_per_arc", 1e9 * seconds / arcs(&ours)),
        ("peer_ns_per_arc", 1e9 * peer / arcs(&theirs)),
    ];
    let peer = Peer { name: "equal sides, as many arcs", seconds: peer };
    let case = format!("coordinates in R^{LOPSIDED_DIM}, {few} × {many} points");
    Ok(row(few, &case, (1, 1), seconds, Some(peer), more))
}

/// Creates one pair with the given numbers of points.
fn between(left: usize, right: usize, seed: u64) -> Result<TimedPairs> {
    let mut rng = seeded(seed);
    let points = gaussian_points(left + right, LOPSIDED_DIM, &mut rng);
    let metric = GroundMetric::from_points(LOPSIDED_DIM, points, PointMetric::Euclidean)?;
    let mut side = |points: std::ops::Range<usize>| -> Vec<(usize, f64)> {
        points.map(|point| (point, positive(&mut rng))).collect()
    };
    let rows = [side(0..left), side(left..left + right)];
    let measures = Measures::from_rows(left + right, rows)?.normalized();
    Ok(TimedPairs { metric, measures, pairs: couples(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_compared_with_single_pairs() {
        let mut rows = vec![];
        batches((4, 3), 1, &mut |row: &Row| rows.push(row.clone())).unwrap();
        assert_eq!(rows.len(), DIMS.len() + 1);
        let pairs: Vec<&str> = rows.iter().map(|row| row.case[1].1.as_str()).collect();
        assert_eq!(pairs, ["9", "9", "9", "144"]);
        assert!(rows.iter().all(|row| row.n == 4 && row.ratio().is_some()));
    }

    #[test]
    fn a_lopsided_problem_has_a_square_one_beside_it() {
        let row = lopsided(3, 75, 1).unwrap();
        assert_eq!((row.n, row.case[0].1.as_str()), (3, "coordinates in R^3, 3 × 75 points"));
        // 225 arcs in both, so the ratio of times is that of the times per arc.
        let by_arc = row.more[1].1 / row.more[0].1;
        assert!((row.ratio().unwrap() / by_arc - 1.0).abs() < 1e-9);
    }
}
