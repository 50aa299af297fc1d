//! One sentence of advice: solve exactly, or fit which method, and from how many pairs on.

use std::fmt;

use treeport::show_time;

use super::{ComparedMethod, Comparison, Contender};
use crate::svg::tick_text;

/// What to do for all pairs of some measures, with the times behind it.
///
/// [`Display`](fmt::Display) writes the sentence. Times of a pair are measured on one thread and
/// divided by the number of threads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Advice {
    /// Number of pairs.
    pub pairs: usize,
    /// Seconds to solve all of them exactly.
    pub exact_seconds: f64,
    /// The fit with the smallest error of those that are at least twice as fast as solving; `None`
    /// if there is none.
    pub fit: Option<FitCost>,
    /// Seconds of one exact distance, on one thread.
    exact_pair: f64,
}

/// Costs of a fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FitCost {
    /// Name of the method.
    pub method: String,
    /// Mean relative error.
    pub error: f64,
    /// Seconds of the labels and of building the model.
    pub build_seconds: f64,
    /// Seconds for all pairs.
    pub pairs_seconds: f64,
    /// From this number of pairs on, the fit with its labels takes less time than solving, and
    /// solving takes at least five seconds.
    pub pays_from: f64,
}

/// Share of the time of an exact distance that a fitted method may take to be advised.
const MOST_TIME: f64 = 0.5;

/// Seconds of solving for which a fit is not worth its error.
const SHORT: f64 = 5.0;

impl Advice {
    pub(super) fn new(comparison: &Comparison, pairs: usize, threads: usize) -> Option<Self> {
        let exact = comparison.rows.iter().find(|row| row.contender == Contender::Exact)?;
        let (exact_pair, threads) = (exact.pair_seconds, threads.max(1) as f64);
        let is_fast = |row: &&ComparedMethod| {
            let is_fit = matches!(row.contender, Contender::Fit(_)) && row.solved_exactly.is_none();
            is_fit && row.scaled.mean.is_finite() && row.pair_seconds <= MOST_TIME * exact_pair
        };
        let cost = |row: &ComparedMethod| {
            let labels = comparison.labels.0 as f64 * exact_pair / threads;
            let build_seconds = labels + row.build_seconds;
            FitCost {
                method: row.name.clone(),
                error: row.scaled.mean,
                build_seconds,
                pairs_seconds: pairs as f64 * row.pair_seconds / threads,
                pays_from: (build_seconds * threads / (exact_pair - row.pair_seconds))
                    .max(SHORT * threads / exact_pair),
            }
        };
        Some(Self {
            pairs,
            exact_seconds: pairs as f64 * exact_pair / threads,
            fit: comparison.rows.iter().find(is_fast).map(cost),
            exact_pair,
        })
    }

    /// Returns whether to solve all pairs exactly: a fit takes longer, or solving only seconds.
    pub fn is_to_solve(&self) -> bool {
        self.fit.as_ref().is_none_or(|fit| self.pairs as f64 <= fit.pays_from)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pairs, exact) = (tick_text(self.pairs as f64), show_time(self.exact_seconds));
        let Some(fit) = &self.fit else {
            return write!(
                f,
                "Solve exactly: all {pairs} pairs take about {exact}, and no fitted method takes less than half \
                 of the {} of an exact distance.",
                crate::text::seconds(self.exact_pair)
            );
        };
        let FitCost { method, error, build_seconds, pairs_seconds, pays_from } = fit;
        let error = format!("{:.1} %", 100.0 * error);
        if self.is_to_solve() {
            let from = tick_text(one_digit(*pays_from));
            return write!(
                f,
                "Solve exactly: all {pairs} pairs take about {exact}; a fit ({method}, {error} off on average) \
                 pays from about {from} pairs on."
            );
        }
        write!(
            f,
            "Fit {method}: labels and fit take about {}, all {pairs} pairs then about {}, {error} off on average; \
             solving them exactly takes about {exact}.",
            show_time(*build_seconds),
            show_time(*pairs_seconds)
        )
    }
}

/// Rounds a number to its first digit, because it rests on measured times.
fn one_digit(value: f64) -> f64 {
    let digit = 10f64.powf(value.max(1.0).log10().floor());
    (value / digit).round() * digit
}

#[cfg(test)]
mod tests {
    use treeport::Method;

    use super::*;

    fn comparison(tree_pair: f64) -> Comparison {
        let score = |mean| treeport::Score::new(&[1.0 + mean], &[1.0]);
        let row = |contender, mean, build, pair| {
            super::super::unbuilt(contender, (score(mean), score(mean)), (build, pair))
        };
        let rows = vec![
            row(Contender::Exact, 0.0, 0.0, 1e-3),
            row(Contender::Fit(Method::Auto), 0.02, 9.9, tree_pair),
            row(Contender::Fit(Method::Tree), 0.1, 1.0, 1e-6),
        ];
        Comparison { rows, labels: (100, 100), all_pairs: 4_950, constant_guess: 0.5 }
    }

    #[test]
    fn a_fit_pays_from_where_both_take_equally_long() {
        let advice = comparison(1e-4).advice(1).expect("exact is there");
        let fit = advice.fit.clone().expect("auto is fast");
        assert!((fit.build_seconds - 10.0).abs() < 1e-9);
        let at = fit.pays_from;
        assert!((at * 1e-3 - (10.0 + at * 1e-4)).abs() < 1e-9);
        assert!(advice.is_to_solve());
        assert_eq!(
            advice.to_string(),
            "Solve exactly: all 4,950 pairs take about 5 seconds; a fit (auto, 2.0 % off on average) pays from about \
             10,000 pairs on."
        );
        let many = Advice::new(&comparison(1e-4), 1_000_000, 2).expect("exact is there");
        assert!(!many.is_to_solve());
        assert!(
            many.to_string().starts_with("Fit auto: labels and fit take about 10 seconds"),
            "{many}"
        );
    }

    #[test]
    fn slow_methods_are_not_advised() {
        let advice = comparison(9e-4).advice(1).expect("exact is there");
        assert_eq!(advice.fit.map(|fit| fit.method).as_deref(), Some("tree"));
        let mut none = comparison(9e-4);
        none.rows.truncate(2);
        let said = none.advice(1).expect("exact is there").to_string();
        assert!(said.contains("no fitted method takes less than half of the 1.00 ms"), "{said}");
        none.rows.remove(0);
        assert_eq!(none.advice(1), None);
    }
}
