"""Distances without sampling noise, where the truth is known."""

import numpy as np
import pytest
import treeport as tp
from scipy.stats import norm, spearmanr
from treeport._statistics.sampling_noise import _without_noise

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
    for dim in (1, 2, 5, 30):
        noise = np.linalg.norm(rng.normal(size=(400_000, dim)), axis=1).mean()
        for shift in (0.3, 1.0, 4.0, 40.0):
            moved = rng.normal(size=(400_000, dim)) + shift * np.eye(dim)[0]
            length = np.linalg.norm(moved, axis=1).mean()
            assert _without_noise(length, noise, dim) == pytest.approx(shift, abs=0.15, rel=0.01)
    assert _without_noise(1.0, 1.0, 3) == pytest.approx(0.0, abs=1e-6)
    assert _without_noise(0.9, 1.0, 3) == -_without_noise(1.1, 1.0, 3)
    assert _without_noise(3.0, 0.0, 3) == 3.0
    assert _without_noise(8.0001, 1.0, 5) == pytest.approx(_without_noise(7.9999, 1.0, 5), rel=1e-3)


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
