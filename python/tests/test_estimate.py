"""Estimates and bounds, judged by exact solvers."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.spatial.distance import cdist

LEVELS = ["tree", "flow", "arcs", "exact"]


def sets(rng, points, support, count):
    """Random measures on `support` of `points` points each."""
    masses = np.zeros((count, points))
    for row in masses:
        row[rng.choice(points, support, replace=False)] = rng.exponential(size=support)
    return masses / masses.sum(axis=1, keepdims=True)


# Supports of 6 are solved exactly at every level above "tree"; those of 70 are not at "flow", and with one
# tree not at "arcs" either.
@pytest.mark.parametrize("method", ["additive", "forest"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "sqeuclidean"])
def test_bounds_hold_on_hundreds_of_pairs(rng, method, metric, options_of):
    points, options = rng.normal(size=(120, 3)), options_of(method, n_trees=4, epochs=3)
    for support in (6, 70):
        A, B = sets(rng, 120, support, 60), sets(rng, 120, support, 60)
        tw = tp.TreeWasserstein(points, metric=metric, method=method, n_pairs=40, **options)
        tw.fit(A)
        pairs = np.stack([np.arange(60), np.arange(60, 120)], axis=1)
        judge = tp.emd_pairs(np.vstack([A, B]), pairs, points=points, metric=metric)
        widths = []
        for level in LEVELS:
            lower, upper = tw.bounds(A, B, accuracy=level)
            assert (lower <= judge).all() and (judge <= upper).all()
            widths.append(np.mean(upper - lower))
        # But for rounding: exact answers at two levels are widened alike.
        assert (np.diff(widths) <= 1e-14).all()
        np.testing.assert_allclose(tw.estimate(A, B, accuracy="exact"), judge, rtol=1e-9)
        for tolerance in (0, 0.02, 0.3):
            close = tw.estimate(A, B, accuracy=tolerance)
            assert (np.abs(close - judge) <= (tolerance + 1e-9) * judge).all()
            lower, upper = tw.bounds(A, B, accuracy=tolerance)
            assert (lower <= judge).all() and (judge <= upper).all()
            assert (upper <= (1 + tolerance + 1e-9) * lower).all()


def test_estimates_agree_with_another_solver(rng):
    ot = pytest.importorskip("ot")
    points = rng.normal(size=(80, 2))
    A, B = sets(rng, 80, 30, 100), sets(rng, 80, 30, 100)
    tw = tp.TreeWasserstein(points, method="forest", n_trees=3).fit(A[:30])
    cost = cdist(points, points)
    judge = np.array([ot.emd2(a, b, cost) for a, b in zip(A, B)])
    np.testing.assert_allclose(tw.estimate(A, B, accuracy="exact"), judge, rtol=1e-8)
    lower, upper = tw.bounds(A, B)
    assert (lower <= judge * (1 + 1e-9)).all() and (judge * (1 - 1e-9) <= upper).all()
    error = [np.mean(np.abs(tw.estimate(A, B, accuracy=level) - judge) / judge) for level in LEVELS]
    assert error[3] < 1e-9 <= error[0] < 0.2 and error[2] <= error[0]


# Supports of 150 are far too large to be solved exactly at "arcs": a matrix here promises nothing, so that shared mass may
# have to move.
@pytest.mark.parametrize(
    "kind", ["euclidean", "manhattan", "cosine", "sqeuclidean", "matrix", "wide"]
)
def test_sweeps_bound_what_another_solver_finds(rng, kind):
    ot = pytest.importorskip("ot")
    points = rng.normal(size=(400, 60 if kind == "wide" else 3))
    A, B = sets(rng, 400, 150, 30), sets(rng, 400, 150, 30)
    metric = kind if kind not in ("matrix", "wide") else "euclidean"
    cost = cdist(points, points, "cityblock" if metric == "manhattan" else metric)
    if kind == "matrix":
        noise = np.triu(rng.uniform(0.5, 1.5, size=cost.shape), 1)
        cost = cost * (noise + noise.T)
    ground = {"cost": cost} if kind == "matrix" else {"points": points, "metric": metric}
    tw = tp.TreeWasserstein(**ground, method="average", n_pairs=20).fit(A)
    judge = np.array([ot.emd2(a, b, cost, numItermax=1_000_000) for a, b in zip(A, B)])
    lower, upper = tw.bounds(A, B, accuracy="arcs")
    assert (lower <= judge * (1 + 1e-9)).all() and (judge * (1 - 1e-9) <= upper).all()
    assert np.mean(upper / lower - 1) < 0.25
    value = tw.estimate(A, B, accuracy="arcs")
    assert (lower <= value).all() and (value <= upper).all()
    assert np.mean(np.abs(value - judge) / judge) < 0.05
    # Whoever comes first.
    back = tw.bounds(B, A, accuracy="arcs")
    np.testing.assert_allclose(back, (lower, upper), rtol=1e-6)


def test_older_calibrations_say_nothing_of_arcs(rng):
    points = rng.normal(size=(40, 2))
    A = sets(rng, 40, 20, 30)
    tw = tp.TreeWasserstein(points, n_pairs=30, epochs=3).fit(A)
    before = tw.estimate(A[:5], A[5:10], "flow")
    for key in ("flow_blend", "arcs_blend"):
        del tw.calibration_[key]
    old = pickle.loads(pickle.dumps(tw))
    assert (old.estimate(A[:5], A[5:10], "flow") == before).all()
    assert len(old.estimate(A[:5], A[5:10], "arcs")) == 5


def test_labels_calibrate_the_levels(rng, tmp_path):
    points = rng.normal(size=(150, 2))
    A, B = sets(rng, 150, 100, 50), sets(rng, 150, 100, 50)
    tw = tp.TreeWasserstein(points, method="single", scale=False, n_pairs=60).fit(A)
    kept = tw.calibration_
    assert kept["exact"] == 1.0 and kept["tree"] > 1 > kept["flow"]
    np.testing.assert_allclose(
        tw.estimate(A, B, "tree"), kept["tree"] * tw.paired(A, B), rtol=1e-12
    )
    judge = tw.estimate(A, B, accuracy="exact")
    assert np.median(tw.estimate(A, B, "flow") / judge) == pytest.approx(1, abs=0.1)
    # A file remembers it; a tree alone has none, and there a plan costs no less than the best.
    tw.save(tmp_path / "model", with_metric=False)
    back = tp.load(tmp_path / "model").set_params(points=points)
    assert (back.estimate(A, B, "flow") == tw.estimate(A, B, "flow")).all()
    tw.model_.save(tmp_path / "model")
    tw = tp.load(tmp_path / "model").set_params(points=points)
    assert tw.calibration_ is None
    assert (tw.estimate(A, B, "flow") >= judge * (1 - 1e-9)).all()


@pytest.mark.parametrize("method", ["auto", "forest"])
def test_what_is_loaded_answers_as_what_was_fitted(rng, method, tmp_path):
    points = rng.normal(size=(60, 3))
    A, B = sets(rng, 60, 30, 25), sets(rng, 60, 30, 25)
    cost = tp.TreeWasserstein(points, method="single").fit(A)  # any matrix will do
    cost = cost.model_.pairwise(np.eye(60))
    graph = nx.connected_watts_strogatz_graph(60, 4, 0.3, seed=1)
    for number, (u, v) in enumerate(graph.edges):
        graph.edges[u, v]["weight"] = number % 5
    frame, other = (
        pd.DataFrame(masses, columns=[f"word {k}" for k in range(60)]) for masses in (A, B)
    )
    for ground in (
        {"points": points, "metric": "cosine"},
        {"cost": cost},
        {"cost": cost.astype(np.float32)},
        {"graph": graph},
        {},
    ):
        rows, others = (A, B) if "graph" in ground else (frame, other)
        tw = tp.TreeWasserstein(**ground, method=method, n_trees=3 if method == "forest" else None)
        tw.fit(rows)
        tw.save(tmp_path / "whole")
        back = tp.load(tmp_path / "whole")
        assert back.calibration_ == tw.calibration_
        for level in (*LEVELS, 0.05):
            estimate = tw.estimate(rows, others, level)
            assert (back.estimate(A, B, level) == estimate).all()
            for ours, theirs in zip(back.bounds(A, B, level), tw.bounds(rows, others, level)):
                assert (ours == theirs).all()
        assert back.score(A) == tw.score(rows)
        assert back.model_.names == tw.model_.names
        if "graph" not in ground:
            shuffled = frame[frame.columns[::-1]]
            assert (back.estimate(shuffled, B) == tw.estimate(frame, other)).all()
        # Fitted again on what came from the file, it is the same again.
        again = back.set_params(method=method, n_trees=tw.n_trees).fit(rows)
        assert again.model_ == tw.model_


def test_another_ground_metric_is_noticed(words, documents):
    tw = tp.TreeWasserstein(words).fit(documents)
    before = tw.estimate(documents[:9], documents[9:18], "exact")
    np.testing.assert_array_equal(before, tw.estimate(documents[:9], documents[9:18], "exact"))
    after = tw.set_params(points=2 * words).estimate(documents[:9], documents[9:18], "exact")
    np.testing.assert_allclose(after, 2 * before)


def test_files_need_a_ground_metric_for_estimates(words, documents, tmp_path):
    tw = tp.TreeWasserstein(words, method="forest", n_trees=2).fit(documents)
    tw.save(tmp_path / "model", with_metric=False)
    back = tp.load(tmp_path / "model")
    with pytest.raises(ValueError, match="the file has no ground metric; give one"):
        back.estimate(documents[:3], documents[3:6])
    back.set_params(points=words)
    for ours, theirs in zip(
        back.bounds(documents[:3], documents[3:6]), tw.bounds(documents[:3], documents[3:6])
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_one_thread_and_many_agree(words, documents):
    answers = []
    for n_jobs in (1, 3):
        tw = tp.TreeWasserstein(words, method="forest", n_trees=2, n_jobs=n_jobs).fit(documents)
        answers.append(tw.estimate(documents[:30], documents[30:], accuracy=0.05))
    np.testing.assert_array_equal(*answers)


def test_verbose_shows_bars(words, documents, capsys):
    tw = tp.TreeWasserstein(words, method="forest", n_trees=2, verbose=True).fit(documents)
    tw.estimate(documents[:3], documents[3:6])
    shown = capsys.readouterr().err
    for title in ("exact distances", "fitting", "calibrating", "estimating"):
        assert f"{title} done in" in shown


@pytest.mark.parametrize(
    ("accuracy", "shown"),
    [
        ("high", "high"),
        ("approximate", "approximate"),
        (-0.1, "-0.1"),
        (float("nan"), "NaN"),
        (None, "None"),
        (True, "True"),
    ],
)
def test_bad_accuracies_are_named(documents, accuracy, shown):
    tw = tp.TreeWasserstein(epochs=1).fit(documents)
    message = f"the accuracy of an estimate is `{shown}`; it must be tree, flow, arcs, exact or a number of at least 0"
    with pytest.raises(ValueError) as caught:
        tw.estimate(documents[:3], documents[3:6], accuracy=accuracy)
    assert str(caught.value) == message
