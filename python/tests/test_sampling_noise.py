"""Distances without sampling noise, where the truth is known."""

import numpy as np
import pytest
import treeport as tp
from scipy.optimize import brentq
from scipy.special import gamma, hyp1f1
from scipy.stats import norm, spearmanr
from treeport import _core
from treeport._statistics.sampling_noise import without_noise

SIZES = [(60, 60), (60, 300), (250, 120), (200, 200)]


def shifted(rng, dim, shift, n, m):
    return rng.normal(size=(n, dim)), rng.normal(size=(m, dim)) + shift * np.eye(dim)[0]


def cases(rng, repeats):
    """Pairs of normal samples with a true distance, in R¹ to R³⁰."""
    for dim in (1, 2, 5, 30):
        for shift in (0.0, 1.0, 3.0):
            for n, m in SIZES * repeats:
                yield dim, shift, *shifted(rng, dim, shift, n, m)


def test_the_truth_is_found_whatever_the_sizes():
    rng = np.random.default_rng(0)
    found = {}
    for dim, truth, x, y in cases(rng, 3):
        one = tp.emd_pairs([x, y], [(0, 1)], correct="sampling")
        assert one.uncorrected[0] == pytest.approx(tp.emd(None, None, x, y), rel=1e-9)
        inside = one.lower[0] <= truth <= one.upper[0]
        row = one.value[0] - truth, one.uncorrected[0] - truth, inside, 1 / len(x) + 1 / len(y)
        found.setdefault((dim, truth), []).append(row)
    errors = {case: np.abs(np.mean(rows, axis=0)[:2]) for case, rows in found.items()}
    corrected, uncorrected = np.sum(list(errors.values()), axis=0)
    assert corrected < 0.2 * uncorrected
    for case, (after, before) in errors.items():
        assert after < max(0.2 * before, 0.1 * (1 + case[0] / 10)), case
    rows = np.array([row for rows in found.values() for row in rows], dtype=float)
    assert rows[:, 2].mean() > 0.85, "intervals of 95 %"
    # Within a case, because noise differs more between cases than between sizes.
    ranks = [
        [spearmanr(rows[:, at], rows[:, 3]).statistic for at in (0, 1)]
        for rows in (np.array(one, dtype=float) for one in found.values())
    ]
    after, before = np.mean(ranks, axis=0)
    assert before > 0.4 and abs(after) < 0.2, "12 pairs in each of 12 cases: an error of 0.09"


def test_the_mean_length_of_shift_and_noise_is_inverted(rng):
    def found(length, noise, dim):
        return float(without_noise(np.array([length]), np.array([noise]), dim)[0])

    for dim in (1, 2, 5, 30):
        noise = np.linalg.norm(rng.normal(size=(400_000, dim)), axis=1).mean()
        for shift in (0.3, 1.0, 4.0, 40.0):
            moved = rng.normal(size=(400_000, dim)) + shift * np.eye(dim)[0]
            length = np.linalg.norm(moved, axis=1).mean()
            assert found(length, noise, dim) == pytest.approx(shift, abs=0.15, rel=0.01)
    for dim in (1, 2, 3, 30, 50, 51, 1000):
        for ratio in (1.0003, 1.1, 2.0, 7.9, 7.9999):
            truth = np.sqrt(ratio**2 - 1)
            if dim <= 50:  # the mean of the noncentral χ
                half = brentq(
                    lambda x, *a: hyp1f1(-0.5, a[0] / 2, -x) - a[1], 0.0, 1e4, (dim, ratio)
                )
                truth = np.sqrt(half) * gamma(dim / 2) / gamma((dim + 1) / 2)
            assert found(3 * ratio, 3.0, dim) == pytest.approx(3 * truth, rel=2e-3)
        assert found(8.0001, 1.0, dim) == pytest.approx(found(7.9999, 1.0, dim), rel=1e-3)
        assert found(1.0, 1.0, dim) == pytest.approx(0.0, abs=1e-6)
        assert found(0.9, 1.0, dim) == -found(1.1, 1.0, dim)
        assert found(3.0, 0.0, dim) == 3.0


def test_a_part_of_the_mass_that_moves_is_found_in_noise():
    """A third of the mass moves between clusters in R³⁰, and the rest has noise alone."""
    rng = np.random.default_rng(4)

    def sample(size, share):
        far = np.arange(size) < round(share * size)
        return 0.3 * rng.normal(size=(size, 30)) + 8.0 * far[:, None] * np.eye(30)[0]

    clouds = [sample(size, share) for size in (100, 300, 200) for share in (0.5, 0.8)]
    found = tp.emd_pairs(clouds, [(0, 1), (2, 3), (4, 5), (0, 3), (2, 1)], correct="sampling")
    errors = [np.abs(one - 8 * 0.3).mean() for one in (found.value, found.uncorrected)]
    assert errors[0] < 0.2 * errors[1]


def test_plans_are_sorted_into_bins_of_equal_mass(rng):
    x, y = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
    masses = rng.uniform(0.1, 1.0, size=7)
    clouds = tp.Clouds([(masses / masses.sum(), x), (np.full(5, 0.2), y)])
    ground, measures = _core.Ground.from_points(np.vstack([x, y]), "euclidean"), np.zeros((2, 12))
    measures[0, :7], measures[1, 7:] = clouds.masses[:7], clouds.masses[7:]
    rows = _core.Measures.dense(measures, normalize=False)
    bins = _core.plan_lengths(ground, rows, np.array([[0, 1]]), 1, 8)
    plan = tp.solve(clouds.masses[:7], clouds.masses[7:], x, y).plan.tocoo()
    lengths = np.linalg.norm(x[plan.row] - y[plan.col], axis=1)
    order = np.argsort(lengths)
    # A slow judge: very many equal shares of every move.
    shares = np.repeat(lengths[order], np.rint(plan.data[order] * 800_000).astype(int))
    judge = [part.mean() for part in np.array_split(shares, 8)]
    np.testing.assert_allclose(bins, judge, rtol=1e-3)
    assert bins.mean() == pytest.approx(tp.emd_pairs(clouds, [(0, 1)])[0], rel=1e-12)


def test_tables_have_ids_and_scale_with_masses_and_units(rng):
    clouds = {f"p{at}": rng.normal(size=(30 + 10 * at, 3)) for at in range(4)}
    found = tp.emd_pairwise(tp.Clouds(clouds), correct="sampling")
    assert list(found.value.index) == list(found.noise.columns) == list(clouds)
    assert (np.diag(found.value) == 0).all() and (found.value == found.value.T).all().all()
    pair = tp.emd_pairs(tp.Clouds(clouds), [("p3", "p1"), ("p1", "p3")], correct="sampling")
    assert pair.value == pytest.approx([found.value.loc["p1", "p3"]] * 2, rel=1e-9)
    heavy = tp.Clouds({name: (np.full(len(own), 2.0), own * 10) for name, own in clouds.items()})
    equal = tp.Clouds(heavy, normalize=True)
    ten = tp.emd_pairwise(equal, correct="sampling")
    np.testing.assert_allclose(ten.value, 10 * found.value, rtol=1e-6)
    two = tp.emd_pairwise([([4.0] * 3, np.eye(3)), ([6.0] * 2, np.eye(3)[:2])], correct="sampling")
    # Two units of mass go from each of the two to the third.
    assert two.uncorrected[0, 1] == pytest.approx(4 * np.sqrt(2))
    one = tp.emd_pairs(tp.Clouds([np.eye(2)[:1], np.eye(2)[1:]]), [(0, 1)], correct="sampling")
    assert np.isnan(one.value[0]) and one.uncorrected[0] == pytest.approx(np.sqrt(2))


def test_the_standard_error_is_that_of_the_mean_on_a_line():
    """Far apart, the distance is the difference of means, whose error is known."""
    rng = np.random.default_rng(2)
    widths = []
    for _ in range(30):
        x, y = rng.normal(size=200), rng.normal(10.0, size=100)
        found = tp.emd_pairs([x[:, None], y[:, None]], [(0, 1)], correct="sampling")
        widths.append(found.upper[0] - found.value[0])
    expected = norm.ppf(0.975) * np.sqrt(1 / 200 + 1 / 100)
    assert np.median(widths) == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize(
    ("measures", "options", "message"),
    [
        ([[[0.0], [1.0]], [[2.0]]], {"correct": "noise"}, 'must be "sampling" or None'),
        ([[[0.0], [1.0]], [[2.0]]], {"accuracy": 0.1}, "leave out accuracy"),
        ([[[0.0], [1.0]], [[2.0]]], {"penalty": 1.0}, "leave out accuracy"),
        (np.eye(2), {"points": [[0.0], [1.0]]}, "rows of masses on shared points"),
    ],
)
def test_errors_say_where_it_does_not_apply(measures, options, message):
    given = measures if "points" in options else [np.array(one) for one in measures]
    with pytest.raises(ValueError, match=message):
        tp.emd_pairs(given, [(0, 1)], **{"correct": "sampling", **options})
