//! Indices of pairs of points or measures in condensed (upper triangular) order.

/// Returns the number of pairs of `n` items.
pub fn pairs_of(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

/// Returns the least number of items with at least `pairs` pairs.
pub fn size_for(pairs: usize) -> usize {
    let (_, above) = pair_number(pairs);
    // `pair_number` counts from (0, 1): pairs of the first `above` items, plus one for a rest.
    if pairs_of(above) == pairs { above } else { above + 1 }
}

/// Returns the index of (i, j), i < j, among the pairs of `n` items, as SciPy's `pdist` does.
pub fn place(n: usize, i: usize, j: usize) -> usize {
    row_start(n, i) + j - i - 1
}

/// Returns the index of the pair (i, i + 1) in row-by-row order ([`place`]).
pub(crate) fn row_start(n: usize, i: usize) -> usize {
    i * (2 * n - i - 1) / 2
}

/// Returns the pair at an index in row-by-row order ([`place`]).
pub(crate) fn pair_at(n: usize, place: usize) -> (usize, usize) {
    // Counted from the end, rows grow by one: the mirrored order of `pair_number`.
    let (i, j) = pair_number(pairs_of(n) - 1 - place);
    (n - 1 - j, n - 1 - i)
}

/// Returns pair number k of (0,1), (0,2), (1,2), (0,3), …, an order that does not depend on the
/// number of items. j is the largest number with j(j−1)/2 ≤ k.
pub fn pair_number(k: usize) -> (usize, usize) {
    let mut j = f64::midpoint((8.0 * k as f64 + 1.0).sqrt(), 1.0) as usize;
    // The square root rounds for k beyond about 2^50.
    while pairs_of(j) > k {
        j -= 1;
    }
    while pairs_of(j + 1) <= k {
        j += 1;
    }
    (k - pairs_of(j), j)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pair_numbers_count_up() {
        let mut k = 0;
        for j in 1..60 {
            for i in 0..j {
                assert_eq!(pair_number(k), (i, j));
                k += 1;
            }
        }
        let last = 3_000_000_000_usize;
        assert_eq!(pair_number(pairs_of(last)), (0, last));
    }

    #[test]
    fn places_and_pairs_are_inverse() {
        for n in 2..30 {
            let all = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            for (k, (i, j)) in all.enumerate() {
                assert_eq!((place(n, i, j), pair_at(n, k)), (k, (i, j)));
            }
        }
    }

    #[test]
    fn sizes_have_room() {
        for pairs in 0..500 {
            let n = size_for(pairs);
            assert!(pairs_of(n) >= pairs && (n <= 1 || pairs_of(n - 1) < pairs), "{pairs}: {n}");
        }
    }
}
