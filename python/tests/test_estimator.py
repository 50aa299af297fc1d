"""The estimator among its friends from scikit-learn."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks([tp.TreeWasserstein(), tp.TreeWasserstein(method="ultrametric")])
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


def test_threads_share_models_and_measures(words, documents):
    tw, kept = tp.TreeWasserstein(words, epochs=2).fit(documents), tp.Measures(documents)
    asked = [
        lambda: tw.pairwise(documents),
        lambda: tw.pairwise(kept, documents[:3]),
        lambda: tw.model_.kneighbors(kept, n_neighbors=3, normalize=True)[1],
        lambda: tw.transform(documents).toarray(),
        lambda: tw.estimate(documents[:9], documents[9:18], accuracy="flow"),
        lambda: np.concatenate(tw.bounds(documents[:9], documents[9:18])),
    ]
    expected = [ask() for ask in asked]
    fresh = pickle.loads(
        pickle.dumps(tw)
    )  # the first test that asks creates its ground metric and estimator
    wrong = []

    def work(number):
        try:
            for turn in range(3):
                tw.pairwise(kept) if turn else fresh.estimate(
                    documents[:9], documents[9:18], accuracy="flow"
                )
                for ask, right in zip(
                    asked[number:] + asked[:number], expected[number:] + expected[:number]
                ):
                    np.testing.assert_array_equal(ask(), right)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_rows_may_be_wanted_of_equal_totals(words, documents):
    whole = normalized(documents)
    options = {"method": "additive", "epochs": 3}
    ones = tp.TreeWasserstein(words, **options).fit(whole)
    twos = tp.TreeWasserstein(words, normalize=False, **options).fit(2 * whole)
    assert "normalize=True" in repr(ones) and "normalize=False" in repr(twos)
    assert (
        "divided by their totals" in ones._repr_html_inner()
        and "as they are" in twos._repr_html_inner()
    )
    np.testing.assert_allclose(
        twos.pairwise(2 * whole), twos.model_.pairwise(2 * whole), rtol=1e-12, atol=1e-12
    )
    assert -0.3 < twos.score(2 * whole) < 0
    assert twos.distance(2 * whole[0], 2 * whole[1]) == pytest.approx(
        2 * twos.model_.distance(whole[0], whole[1])
    )
    assert twos.coupling(2 * whole[0], 2 * whole[1]).sum() == pytest.approx(2)
    low, high = twos.bounds(2 * whole[:3], 2 * whole[3:6])
    single = tp.emd_pairs(whole, [(0, 3), (1, 4), (2, 5)], points=words)
    assert (low <= 2 * single * (1 + 1e-9)).all() and (2 * single <= high * (1 + 1e-9)).all()
    for refused in (
        lambda: twos.fit(documents),
        lambda: twos.pairwise(documents),
        lambda: twos.score(documents),
    ):
        with pytest.raises(ValueError, match="transport needs equal masses"):
            refused()
    with pytest.raises(ValueError, match="transport needs equal masses"):
        twos.distance(documents[0] * 2, documents[1])


def normalized(measures):
    return measures / measures.sum(axis=1, keepdims=True)


@pytest.fixture
def fitted(words, documents):
    return tp.TreeWasserstein(words).fit(documents)


def test_learning_beats_the_start(words, documents):
    start = tp.TreeWasserstein(words, method="additive", epochs=0).fit(documents)
    learned = tp.TreeWasserstein(words, method="additive", epochs=50).fit(documents)
    assert learned.loss_curve_.shape == learned.validation_loss_curve_.shape == (51,)
    assert learned.loss_curve_[learned.best_epoch_] < start.loss_curve_[0]
    assert start.score(documents) < learned.score(documents) <= 0
    assert learned.score(documents[:30], documents[30:]) < 0
    assert (learned.method_, start.best_epoch_) == ("additive", 0)


@pytest.mark.parametrize("method", ["auto", "additive", "ultrametric", "skip-mst"])
def test_every_method_is_close_to_exact_transport(words, documents, method):
    tw = tp.TreeWasserstein(words, method=method).fit(documents)
    assert -0.25 < tw.score(documents) < 0
    if tw.stage_ != "slices":
        assert tw.tree_.is_ultrametric == (method in ("ultrametric", "skip-mst"))


@pytest.mark.parametrize("init", ["single", "average", "complete", "ward", "closest", "neighbors"])
def test_every_start_can_be_learned_from(words, documents, init):
    assert tp.TreeWasserstein(words, start=init, epochs=5).fit(documents).score(documents) > -0.5


def test_own_labels_and_own_start(words, documents):
    pairs = np.array([(i, j) for i in range(20) for j in range(i)])
    distances = tp.emd_pairs(normalized(documents), pairs, points=words)
    start = tp.linkage(points=words, method="ward")
    tw = tp.TreeWasserstein(start=start).fit(documents, pairs=pairs, distances=distances)
    assert tw.set_params(points=words).score(documents) > -0.3
    kept = tp.TreeWasserstein(method="additive", start=start, epochs=0, scale=False)
    kept.fit(documents, pairs=pairs, distances=distances)
    np.testing.assert_allclose(
        kept.model_.pairwise(np.eye(25)), start.pairwise(np.eye(25)), rtol=1e-12, atol=1e-12
    )


def test_without_a_ground_metric_all_points_are_one_apart(documents):
    tw = tp.TreeWasserstein(epochs=3).fit(documents)
    a, b = normalized(documents)[:2]
    assert tw.distance(a, b) == pytest.approx(np.abs(a - b).sum() / 2)
    assert tw.score(documents) == pytest.approx(0, abs=1e-9)


def test_answers_agree_with_each_other(fitted, documents):
    measures = normalized(documents)
    matrix = fitted.pairwise(documents)
    rows = fitted.transform(documents)
    assert rows.shape == (60, fitted.model_.n_nodes)
    assert len(fitted.get_feature_names_out()) == fitted.model_.n_nodes
    np.testing.assert_allclose(
        fitted.paired(documents[:9], documents[9:18]), np.diag(matrix[:9, 9:18])
    )
    np.testing.assert_allclose(fitted.pairwise(documents[:4], documents), matrix[:4], atol=1e-12)
    np.testing.assert_allclose(fitted.model_.pairwise(measures), matrix, atol=1e-12)
    assert fitted.distance(documents[3], documents[8]) == pytest.approx(matrix[3, 8])
    assert np.abs(rows[[3]] - rows[[8]]).sum() == pytest.approx(matrix[3, 8])
    plan = fitted.coupling(documents[3], documents[8])
    np.testing.assert_allclose(plan.sum(axis=0), measures[8], atol=1e-12)
    assert (sparse.csr_matrix(fitted.transform(sparse.csr_matrix(documents))) != rows).nnz == 0


def test_rows_without_mass_embed_to_zeros(words, documents):
    documents[[0, 7, 59]] = 0
    tw = tp.TreeWasserstein(words).fit(documents)
    rows = tw.transform(documents)
    assert rows.shape[0] == 60
    assert (np.flatnonzero(rows.sum(axis=1) == 0) == [0, 7, 59]).all()
    assert (rows[[5]] != tw.transform(documents[[5]])).nnz == 0
    assert tw.transform(documents[[0]]).nnz == 0
    with pytest.raises(ValueError, match="measure 2 has no mass; drop the row"):
        tw.pairwise(documents[5:9])


def test_same_seed_same_tree_on_any_number_of_threads(words, documents):
    def tree(**options):
        return tp.TreeWasserstein(words, epochs=5, **options).fit(documents).model_

    assert tree(random_state=3, n_jobs=1) == tree(random_state=3, n_jobs=3) == tree(random_state=3)
    assert tree(random_state=3) != tree(random_state=4)
    rng = np.random.default_rng
    assert tree(random_state=rng(5)) == tree(random_state=rng(5))
    generator = rng(5)
    assert tree(random_state=generator) != tree(random_state=generator)
    assert tree(random_state=None) != tree(random_state=None)


def test_neighbors_in_a_pipeline_and_precomputed(words, rng):
    # Two kinds of documents: words on the left, words on the right.
    y = np.arange(60) % 2
    likely = np.where((words[:, 0] > 0) == y[:, None], 1.0, 0.1)
    documents = rng.poisson(likely) + np.eye(60, 25)
    tw = tp.TreeWasserstein(words, epochs=5)
    knn = KNeighborsClassifier(3, metric="manhattan")
    pipeline = make_pipeline(tw, knn).fit(documents[:40], y[:40])
    assert pipeline.score(documents[40:], y[40:]) > 0.8
    tw.fit(documents[:40])
    precomputed = KNeighborsClassifier(3, metric="precomputed")
    precomputed.fit(tw.pairwise(documents[:40]), y[:40])
    predicted = precomputed.predict(tw.pairwise(documents[40:], documents[:40]))
    assert (predicted == pipeline.predict(documents[40:])).mean() > 0.9


def test_grid_search_chooses_by_the_score(words, documents):
    grid = {"method": ["ultrametric", "additive"], "epochs": [0, 20]}
    search = GridSearchCV(tp.TreeWasserstein(words), grid, cv=3).fit(documents)
    assert search.best_params_["epochs"] == 20
    assert -0.3 < search.best_score_ < 0


def test_pickles_have_the_tree_and_not_the_training_data(words, rng):
    documents = rng.random((3000, 25))
    tw = tp.TreeWasserstein(words, n_pairs=50, epochs=2).fit(documents)
    state = pickle.dumps(tw)
    assert len(state) < 10_000 < documents.nbytes // 50
    back = pickle.loads(state)
    assert back.model_ == tw.model_
    assert back.distance(documents[0], documents[1]) == tw.distance(documents[0], documents[1])
    assert not hasattr(clone(tw), "tree_")
    assert clone(tw).get_params()["n_pairs"] == 50


def test_files_have_the_tree(fitted, documents, tmp_path):
    fitted.save(tmp_path / "model.tree")
    back = tp.load(tmp_path / "model.tree")
    assert back.model_ == fitted.model_
    assert (back.pairwise(documents) == fitted.pairwise(documents)).all()
    assert back.score(documents) == fitted.score(documents)
    fitted.save(tmp_path / "small.tree", with_metric=False)
    assert (tmp_path / "small.tree").stat().st_size < (tmp_path / "model.tree").stat().st_size
    back = tp.load(tmp_path / "small.tree")
    assert back.model_ == fitted.model_
    for ask in (back.score, back.fit):
        with pytest.raises(ValueError, match="the file has no ground metric; give one"):
            ask(documents)
    assert back.set_params(points=fitted.points).score(documents) == fitted.score(documents)


def test_verbose_shows_bars(words, documents, capsys, options_of):
    for method in ["auto", "additive", "ctwd"]:
        options = options_of(method, epochs=2)
        tp.TreeWasserstein(words, method=method, verbose=True, **options).fit(documents)
        shown = capsys.readouterr()
        assert "exact distances done in" in shown.err
        assert "fitting done in" in shown.err
        assert shown.out == ""


def test_the_bar_counts(capsys):
    from treeport._progress import Bar

    with Bar("work") as report:
        report("", 3, 0)
        report("step", 25, 100)
    shown = capsys.readouterr().err
    assert "\rwork 0 s" in shown and "\rstep  25% |█████               | 25/100" in shown


SLOW = """
import numpy as np, treeport as tp
rng = np.random.default_rng(0)
points, measures = rng.normal(size=(400, 3)), rng.random((400, 400))
measures /= measures.sum(axis=1, keepdims=True)
"""

# Each takes minutes.
LONG = [
    "tp.emd_pairs(measures, rng.integers(400, size=(100_000, 2)), points=points)",
    "tp.TreeWasserstein(points, n_pairs=100_000).fit(measures)",
    "tp.TreeWasserstein(n_pairs=79_000, epochs=100_000).fit(measures)",
    "tp.TreeWasserstein(points, method='forest', n_trees=100_000, n_pairs=1).fit(measures)",
    "tp.TreeWasserstein(points, n_pairs=1).fit(measures[:2]).estimate(many := np.tile(measures, (20, 1)), many[::-1], 0)",
    "tp.WassersteinNeighbors(points).fit(measures).kneighbors()",
]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way")
def test_ctrl_c_ends_long_work():
    *first, last = LONG
    script = SLOW
    for work in first:
        script += f"""
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    script += f'print("ready", flush=True)\n{last}\n'
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    limit = threading.Timer(120, child.kill)
    limit.start()
    try:
        for work in LONG:
            assert child.stdout.readline() == b"ready\n", work
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            if work is not last:
                assert child.stdout.readline() == b"stopped\n", work
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
        limit.cancel()
    assert b"KeyboardInterrupt" in err
    assert child.returncode != 0


def test_other_threads_go_on_meanwhile():
    # With the interpreter held, the first thread would come to ask only after the work.
    work = """
import os, threading
print("ready", flush=True)
pairs = rng.integers(400, size=(100_000, 2))
work = threading.Thread(target=tp.emd_pairs, args=(measures, pairs), kwargs={"points": points}, daemon=True)
work.start()
work.join(0.05)
print("at work" if work.is_alive() else "done", flush=True)
os._exit(0)"""
    done = subprocess.run([sys.executable, "-c", SLOW + work], capture_output=True, text=True)
    assert done.stdout == "ready\nat work\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_threads_of_its_own(fitted, documents):
    judge = fitted.pairwise(documents)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert (pool.apply_async(fitted.pairwise, [documents]).get(timeout=60) == judge).all()
