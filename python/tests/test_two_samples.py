"""The permutation test of two samples, judged by plain loops and by simulation."""

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.stats import wasserstein_distance
from treeport._statistics.permutations import Stopping


def distance(x, y):
    return tp.emd(None, None, x, y)


@pytest.mark.parametrize("exact", [False, True])
def test_every_comparison_is_the_one_of_exact_distances(rng, exact):
    x, y = rng.normal(size=(90, 3)), rng.normal(0.2, size=(60, 3))
    found = tp.two_sample_test(x, y, n_resamples=60, stop_above=None, exact=exact)
    assert found.statistic == pytest.approx(distance(x, y), rel=1e-9)
    points, generator = np.vstack([x, y]), np.random.default_rng(0)
    splits = generator.permuted(np.tile(np.arange(150), (60, 1)), axis=1) < 90
    judge = np.array([distance(points[split], points[~split]) for split in splits])
    lower, upper = found.null_bounds[:2]
    assert (lower <= judge * (1 + 1e-9)).all() and (judge <= upper * (1 + 1e-9)).all()
    assert (upper <= 1.03 * lower).all()
    assert found.pvalue == (np.count_nonzero(judge >= found.statistic) + 1) / 61
    assert 1 / 61 < found.pvalue < 1
    if exact:
        np.testing.assert_allclose(found.null_distribution, judge, rtol=1e-9)


def test_no_comparison_is_left_open_within_the_bounds(rng):
    """The statistic lies within the null distribution, where bounds do not decide."""
    x, y = rng.normal(size=(100, 6)), rng.normal(size=(80, 6))
    near = tp.two_sample_test(x, y, n_resamples=99, stop_above=None)
    exact = tp.two_sample_test(x, y, n_resamples=99, stop_above=None, exact=True)
    assert near.pvalue == exact.pvalue
    lower, upper = near.null_bounds[:2]
    assert not ((lower < near.statistic) & (near.statistic < upper)).any()
    assert np.count_nonzero(lower == upper) > 0, "some are decided by exact distances"


def test_p_values_are_valid_for_every_way_to_draw():
    """Size at 0.05 of unequal samples, paired samples, strata and early stops."""
    rng = np.random.default_rng(1)
    runs, ways = 400, {"plain": [], "early": [], "paired": [], "strata": []}
    strata = ([0] * 12 + [1] * 6, [0] * 3 + [1] * 8)
    shift = 3.0 * np.array(strata[0]), 3.0 * np.array(strata[1])
    for run in range(runs):
        x, y = rng.exponential(size=18), rng.exponential(size=11)
        draw = {"n_resamples": 59, "random_state": run}
        ways["plain"].append(tp.two_sample_test(x, y, stop_above=None, **draw).pvalue)
        ways["early"].append(tp.two_sample_test(x, y, **draw).pvalue)
        pair = rng.normal(size=12)  # two measurements of one thing, each with its own error
        a, b = pair + 0.3 * rng.normal(size=12), pair + 0.3 * rng.normal(size=12)
        ways["paired"].append(tp.two_sample_test(a, b, paired=True, **draw).pvalue)
        given = {"strata": strata, **draw}
        ways["strata"].append(tp.two_sample_test(x + shift[0], y + shift[1], **given).pvalue)
    for way, pvalues in ways.items():
        size = np.mean(np.array(pvalues) <= 0.05)
        # 400 runs: three standard errors are 0.033.
        assert 0.017 < size < 0.083, (way, size)
    assert np.mean(np.array(ways["plain"]) <= 0.5) == pytest.approx(0.5, abs=0.08)
    early, plain = (np.array(ways[way]) <= 0.05 for way in ("early", "plain"))
    assert (early == plain).all(), "an early stop changes no decision at `stop_above`"


def test_strata_and_pairs_find_what_a_plain_test_misses(rng):
    batch = np.repeat([0, 1], 40)
    x, y = (rng.normal(size=(80, 2)) + 20.0 * batch[:, None] for _ in range(2))
    y = y + [0.8, 0.0]
    assert tp.two_sample_test(x, y).pvalue > 0.05
    assert tp.two_sample_test(x, y, strata=(batch, batch)).pvalue < 0.01
    person = rng.normal(size=100)
    before, after = person, person + 0.15 + 0.05 * rng.normal(size=100)
    assert tp.two_sample_test(before, after).pvalue > 0.05
    assert tp.two_sample_test(before, after, paired=True).pvalue < 0.01


def test_an_early_stop_gives_h_over_l():
    stopping = Stopping.of(999, 0.05)
    assert stopping.most == 50
    exceeds = np.zeros(200, dtype=bool)
    exceeds[1::2] = True
    assert stopping.end(exceeds[:64]) is None and stopping.end(exceeds) == 100
    assert stopping.pvalue(exceeds[:100]) == 0.5
    whole = np.zeros(999, dtype=bool)
    assert stopping.end(whole) == 999 and stopping.pvalue(whole) == 1 / 1000
    whole[:49] = True
    assert stopping.pvalue(whole) == 50 / 1000
    # At the last permutation h / l may be `stop_above` itself, and the whole test is above it.
    last = np.zeros(100, dtype=bool)
    last[-5:] = True
    assert Stopping.of(100, 0.05).pvalue(last) == 6 / 101 > 0.05
    assert Stopping.of(100, None).pvalue(np.ones(100, dtype=bool)) == 1.0


def test_ties_count_as_at_least_as_far():
    same = tp.two_sample_test([1.0] * 5, [1.0] * 4, n_resamples=39)
    assert same.statistic == 0 and same.pvalue == 1.0
    few = tp.two_sample_test([0.0], [1.0], n_resamples=39, stop_above=None)
    assert few.statistic == 1.0 and few.pvalue == 1.0, "both splits of two points are equal"


def test_samples_come_in_every_form(rng):
    x, y = rng.normal(size=(20, 2)), rng.normal(0.5, size=(15, 2))
    plain = tp.two_sample_test(x, y, n_resamples=99)
    columns = ["height", "weight"]
    forms = [
        (pd.DataFrame(x, columns=columns), pd.DataFrame(y, columns=columns)),
        (tp.Clouds([x]), tp.Clouds([y])),
        ((None, x), (np.full(15, 3.0), y)),
        (x.tolist(), y.tolist()),
    ]
    for one, other in forms:
        found = tp.two_sample_test(one, other, n_resamples=99)
        assert (found.statistic, found.pvalue) == (plain.statistic, plain.pvalue)
    line = tp.two_sample_test(x[:, 0], pd.Series(y[:, 0]), n_resamples=99)
    assert line.statistic == pytest.approx(wasserstein_distance(x[:, 0], y[:, 0]))
    assert (
        tp.two_sample_test(x, y, n_resamples=99, n_jobs=1).null_distribution.tobytes()
        == plain.null_distribution.tobytes()
    )


def test_masses_go_with_their_points():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    a, b = rng.uniform(0.5, 2.0, size=12), rng.uniform(0.5, 2.0, size=9)
    found = tp.two_sample_test((a, x), (b, y), n_resamples=19, stop_above=None, exact=True)
    generator, points = np.random.default_rng(0), np.vstack([x, y])
    masses = np.append(a / a.mean(), b / b.mean())
    splits = generator.permuted(np.tile(np.arange(21), (19, 1)), axis=1) < 12
    for value, split in zip(found.null_distribution, splits):
        left, right = masses[split], masses[~split]
        judge = tp.emd(left / left.sum(), right / right.sum(), points[split], points[~split])
        assert value == pytest.approx(judge)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (([[0.0, 1.0]], [[0.0]]), {}, "x have 2 coordinates, those of y 1"),
        (([[0.0]], [[np.nan]]), {}, "y has nan in row 0, coordinate 0"),
        (([], [1.0]), {}, "x has no points"),
        (([1.0, 2.0], [1.0]), {"paired": True}, "x has 2, y 1"),
        (([1.0, 2.0], [1.0]), {"strata": ([0], [0])}, "1 strata for the 2 rows of x"),
        (([1.0], [1.0]), {"strata": (["a"], ["b"])}, "no stratum in common"),
        (([1.0], [1.0]), {"n_resamples": 0}, "n_resamples is 0"),
        (([1.0], [1.0]), {"stop_above": 1.5}, "stop_above is 1.5"),
        ((([-1.0], [[0.0]]), [1.0]), {}, "masses of x"),
        ((tp.Clouds([[[0.0]], [[1.0]]]), [1.0]), {}, "x are 2 clouds"),
        ((pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})), {}, "column 0 is a on the left"),
        ((pd.DataFrame({"a": ["red"]}), [1.0]), {}, "column a"),
    ],
)
def test_errors_name_the_place(given, options, message):
    with pytest.raises(ValueError, match=message):
        tp.two_sample_test(*given, **options)
