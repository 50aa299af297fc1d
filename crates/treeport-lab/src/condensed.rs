//! Symmetric distances stored once: `d(0,1), d(0,2), …, d(0,n−1), d(1,2), …`,
//! the order of `scipy.spatial.distance.pdist`.

/// Where `d(i, j)` stands among the n(n−1)/2 entries.
///
/// # Panics
/// In debug builds, if `i == j` or either is not below `n`.
pub fn index(n: usize, i: usize, j: usize) -> usize {
    debug_assert!(i != j && i < n && j < n, "({i}, {j}) is no pair of {n} points");
    let (i, j) = (i.min(j), i.max(j));
    // Row i starts after i rows of n−1, n−2, … entries; multiplied out, so that i = 0 cannot underflow.
    i * (2 * n - i - 1) / 2 + (j - i - 1)
}

/// `d(i, j)`, which is 0 when `i == j`.
pub fn get(condensed: &[f64], n: usize, i: usize, j: usize) -> f64 {
    if i == j { 0.0 } else { condensed[index(n, i, j)] }
}

/// All `distance(i, j)` with `i < j`, in order.
pub fn from_fn(n: usize, distance: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut all = Vec::with_capacity(n * n.saturating_sub(1) / 2);
    for i in 0..n {
        all.extend((i + 1..n).map(|j| distance(i, j)));
    }
    all
}

/// The same distances as a full n×n table, rows one after the other.
pub fn to_square(condensed: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|e| get(condensed, n, e / n, e % n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_follows_the_order_of_from_fn() {
        for n in 1..12 {
            let all = from_fn(n, |i, j| (100 * i + j) as f64);
            assert_eq!(all.len(), n * (n - 1) / 2);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let expected = if i == j { 0.0 } else { (100 * i.min(j) + i.max(j)) as f64 };
                assert_eq!(get(&all, n, i, j), expected, "({i}, {j}) of {n}");
                assert_eq!(to_square(&all, n)[i * n + j], expected);
            }
        }
    }
}
