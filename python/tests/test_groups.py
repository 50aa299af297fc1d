"""PERMANOVA and PERMDISP, judged by plain formulas, by simulation and by scikit-bio."""

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import f_oneway
from treeport._statistics.groups import from_centers


def plain_pseudo_f(table, groups):
    """PERMANOVA by its definition: sums over pairs."""
    n, names = len(table), sorted(set(groups))
    total = sum(table[i, j] ** 2 for i in range(n) for j in range(i)) / n
    within = 0.0
    for name in names:
        own = [i for i in range(n) if groups[i] == name]
        within += sum(table[i, j] ** 2 for i in own for j in own if j < i) / len(own)
    return ((total - within) / (len(names) - 1)) / (within / (n - len(names))), 1 - within / total


def test_statistics_are_those_of_plain_formulas(rng):
    points = rng.normal(size=(30, 3))
    groups = [*"aaaaaaaaaabbbbbbbbbbbbbbbcccca"]
    points[10:25] *= 1.7
    table = squareform(pdist(points))
    found = tp.group_test(table, groups, n_resamples=99)
    assert (found.statistic, found.r_squared) == pytest.approx(plain_pseudo_f(table, groups))
    labels = np.array(groups)
    away = []
    for name in "abc":
        own = points[labels == name]
        radius = np.linalg.norm(own - own.mean(axis=0), axis=1)
        away.append(radius * np.sqrt(len(own) / (len(own) - 1)))
        assert found.spread[name] == pytest.approx(away[-1].mean())
    assert found.spread_statistic == pytest.approx(f_oneway(*away).statistic)
    shuffled = np.random.default_rng(0).permuted(np.tile(np.arange(30), (64, 1)), axis=1)
    judge = [plain_pseudo_f(table, list(labels[order]))[0] for order in shuffled]
    np.testing.assert_allclose(found.null_distribution[:64], judge)
    exceeding = np.count_nonzero(found.null_distribution >= found.statistic)
    assert found.pvalue == (exceeding + 1) / 100


def test_statistics_are_those_of_scikit_bio(rng):
    stats = pytest.importorskip("skbio.stats.distance")
    from skbio import DistanceMatrix

    for kind in ("euclidean", "cityblock"):
        table = squareform(pdist(rng.normal(size=(24, 2)) ** 3, kind))
        groups = ["a", "b", "c"] * 8
        matrix = DistanceMatrix(table)
        found = tp.group_test(matrix, groups)
        judge = stats.permanova(matrix, groups, permutations=999, seed=1)
        assert found.statistic == pytest.approx(judge["test statistic"])
        assert found.pvalue == pytest.approx(judge["p-value"], abs=0.06)
        if kind == "euclidean":  # scikit-bio leaves out imaginary axes
            judge = stats.permdisp(matrix, groups, test="centroid", permutations=999, seed=1)
            assert found.spread_statistic == pytest.approx(judge["test statistic"])


def test_p_values_have_the_right_size_within_strata():
    rng = np.random.default_rng(5)
    runs, pvalues, blind, spreads = 300, [], [], []
    batch, groups = np.repeat([0, 1], [14, 10]), np.array([0] * 10 + [1] * 4 + [0] * 2 + [1] * 8)
    for run in range(runs):
        points = rng.normal(size=(24, 2)) + 1.5 * batch[:, None]
        given = {"n_resamples": 59, "random_state": run}
        table = cdist(points, points)
        found = tp.group_test(table, groups, strata=batch, **given)
        pvalues.append(found.pvalue)
        blind.append(tp.group_test(table, groups, **given).pvalue)
        points -= 1.5 * batch[:, None] - 3.0 * groups[:, None]  # other places, equal spread
        spreads.append(tp.group_test(cdist(points, points), groups, **given).spread_pvalue)
    # Three standard errors are 0.038; members are exchangeable up to the error of the centers.
    assert np.mean(np.array(pvalues) <= 0.05) == pytest.approx(0.05, abs=0.038)
    assert np.mean(np.array(spreads) <= 0.05) == pytest.approx(0.05, abs=0.045)
    assert np.mean(np.array(blind) <= 0.05) > 0.3, "without strata batches pass for groups"


def test_place_and_spread_are_told_apart(rng):
    groups = np.repeat(["near", "far"], 20)
    moved, wide = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    moved[20:] += 2.0
    wide[20:] *= 4.0
    place, spread = (tp.group_test(cdist(one, one), groups) for one in (moved, wide))
    assert place.pvalue == 0.001 and place.spread_pvalue > 0.05
    assert spread.spread_pvalue == 0.001
    assert spread.spread["far"] > 3 * spread.spread["near"]


def test_clouds_are_compared_by_their_exact_distances(rng):
    clouds = tp.Clouds({f"p{at}": rng.normal(0.3 * (at % 3), size=(20, 2)) for at in range(12)})
    groups = pd.Series({f"p{at}": "xyz"[at % 3] for at in reversed(range(12))})
    found = tp.group_test(clouds, groups, n_resamples=99)
    table = tp.emd_pairwise(clouds)
    for given in (groups, dict(groups), list("xyz" * 4)):
        again = tp.group_test(table, given, n_resamples=99)
        assert (again.statistic, again.pvalue) == (found.statistic, found.pvalue)
    reference = tp.group_test(np.asarray(table), list("xyz" * 4), n_resamples=99, metric="cosine")
    assert reference.statistic == found.statistic


def test_groups_without_variation_are_no_errors():
    table = squareform(
        [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    )  # two pairs; a third of permutations keep them
    found = tp.group_test(table, [0, 0, 1, 1], n_resamples=99)
    assert found.statistic == np.inf and found.r_squared == 1.0 and found.pvalue > 0.2
    assert found.spread_statistic == 0 and found.spread_pvalue == 1.0
    assert (from_centers(np.zeros((3, 3)), np.array([[0, 0, 1]])) == 0).all()
    equal = tp.group_test(np.zeros((4, 4)), [0, 0, 1, 1], n_resamples=9)
    assert equal.r_squared == 0.0 and equal.pvalue == 1.0


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        ([0, 0, 0, 0], {}, "all 4 members are in one group"),
        ([0, 1, 2, 3], {}, "every group has one member"),
        ([0, 1], {}, "2 groups for 4 rows"),
        ([0, 0, 1, None], {}, "groups have no label at position 3"),
        ([0, 0, 1, 1], {"strata": [0, 0, 1, 1]}, "members of one group only"),
        ({0: 1}, {}, "given by ID"),
    ],
)
def test_errors_say_what_is_wrong(groups, options, message):
    with pytest.raises(ValueError, match=message):
        tp.group_test(squareform([1.0] * 6), groups, **options)
    with pytest.raises(ValueError, match="distance of rows 0 and 2 is -0.5; the test squares"):
        tp.group_test(squareform([1.0, -0.5, 1.0, 1.0, 1.0, 1.0]), [0, 0, 1, 1])
    table = pd.DataFrame(squareform([1.0] * 3), index=list("abc"), columns=list("abc"))
    with pytest.raises(ValueError, match="groups have no entry for c"):
        tp.group_test(table, {"a": 0, "b": 1})


def test_results_print_on_a_line_and_errors_say_how_to_group(rng):
    cells = pd.DataFrame(rng.normal(size=(80, 2)), columns=["u", "v"])
    cells["patient"] = [f"p{row % 8}" for row in range(80)]
    cells["group"] = ["ill" if row % 8 < 4 else "well" for row in range(80)]
    clouds = tp.Clouds(cells, groupby="patient", columns=["u", "v"])
    groups = cells.groupby("patient")["group"].first()
    found = tp.group_test(clouds, groups)
    assert "null_distribution=<999>" in repr(found) and "\n" not in repr(found)
    with pytest.raises(ValueError, match="no entry for p0; give one for each, such as"):
        tp.group_test(clouds, cells["group"])
    with pytest.raises(ValueError, match=r"`Clouds\(frame, groupby="):
        tp.group_test(cells, groups)
    test = tp.two_sample_test([1.0, 2.0], [3.0, 4.0], n_resamples=9)
    assert "null_bounds=Bounds(lower=<2>, upper=<2>" in repr(test)
    center = tp.barycenter(clouds, n_points=5)
    assert repr(center).startswith("Barycenter(points=<5 × 2>, masses=<5>, value=")
