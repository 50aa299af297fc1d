"""A Dask cluster gives the bits of one machine, also when workers are killed meanwhile."""

import os
import signal
import subprocess
import sys
import time

import dask
import dask.array as da
import joblib
import numpy as np
import pytest
import treeport as tp
import treeport.dask as td
from dask.distributed import Client, LocalCluster
from scipy import sparse
from treeport import _core
from treeport._inputs import measures_of


@pytest.fixture(scope="module")
def client():
    """Two processes of one thread each."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def counts(rng, rows, points, mean):
    """Rows of counts, none of them empty, two of them equal."""
    table = rng.poisson(mean, size=(rows, points)).astype(float)
    table[np.arange(rows), rng.integers(points, size=rows)] += 1
    table[rows // 2] = table[0]
    return table


@pytest.fixture(scope="module")
def places():
    return np.random.default_rng(5).normal(size=(300, 3))


@pytest.fixture(scope="module")
def rows():
    # So few points that small blocks on their own would be laid out otherwise than all rows together.
    return counts(np.random.default_rng(6), 90, 300, 0.03)


def models(places):
    trees = [tp.linkage(points=places, method=method) for method in ("average", "single", "ward")]
    return {"tree": trees[0], "forest": tp.Forest(trees, weights=[1, 2, 4])}


@pytest.fixture(scope="module")
def fitted(places, rows):
    return tp.TreeWasserstein(places, n_pairs=60, epochs=3).fit(rows)


def inputs(rows):
    """The same rows in every way that they are taken, and what goes with them."""
    blocks = [dask.delayed(sparse.csr_matrix)(part) for part in (rows[:1], rows[1:50], rows[50:])]
    whole = da.from_array(rows, chunks=(37, 100))
    return [
        (rows, None),
        (rows, (13, 70, 7)),
        (sparse.csr_array(rows), 40),
        (tp.Measures(rows), 64),
        (whole, None),
        (whole, 29),
        (da.from_array(rows, chunks=(31, 300)).map_blocks(sparse.csr_array), None),
        (blocks, (1, 49, 40)),
    ]


def exact_pairs(places, rows, pairs):
    return _core.emd_pairs(
        _core.Ground.from_points(places, "euclidean"), measures_of(rows, True), pairs, 0
    )[1]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_without_a_client_the_default_scheduler_works(fitted, rows, scheduler):
    rows = rows[:30]
    with dask.config.set(scheduler=scheduler):
        for chunks in [None, 1, 12]:
            distances = td.pairwise(None, fitted, rows, chunks=chunks)
            np.testing.assert_array_equal(distances.compute(), fitted.pairwise(rows))
        assert td.score(None, fitted, rows) == fitted.score(rows)


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_pairwise_has_the_bits_of_one_machine(client, places, rows, kind):
    model, rows = models(places)[kind], rows / rows.sum(axis=1, keepdims=True)
    judge, cross = model.pairwise(rows), model.pairwise(rows, rows[:20])
    for A, chunks in inputs(rows):
        distances = td.pairwise(client, model, A, chunks=chunks)
        assert distances.shape == judge.shape and distances.dtype == np.float64
        others = td.pairwise(client, model, A, rows[:20], chunks=chunks)
        found = dask.compute(distances, others)
        np.testing.assert_array_equal(found[0], judge)
        np.testing.assert_array_equal(found[1], cross)


def test_blocks_on_their_own_would_have_other_bits(places, rows):
    model, rows = models(places)["tree"], rows / rows.sum(axis=1, keepdims=True)
    alone = np.concatenate([model.pairwise(row[np.newaxis], rows[:1]) for row in rows])
    assert (alone != model.pairwise(rows)[:, :1]).any(), "or the other tests would show nothing"


def test_none_is_the_current_client_and_a_model_is_sent_once(client, fitted, rows):
    first = td.pairwise(None, fitted, rows, chunks=30)
    sent = len(client.who_has())
    second = td.kneighbors(client, fitted, rows, chunks=20)
    assert len(client.who_has()) == sent
    (key,) = {key for key in client.who_has() if any(key in str(name) for name in first.dask)}
    assert len(client.who_has()[key]) == 2, "on both workers"
    dask.compute(first, second)


def test_nothing_is_worked_out_before_it_is_asked_for(client, fitted):
    read = []

    def block(info):
        read.append(info)
        raise AssertionError("too soon")

    lazy = da.from_delayed(dask.delayed(block)(0), shape=(10, 300), dtype=float)
    with dask.config.set(scheduler="synchronous"):
        td.pairwise(None, fitted, lazy)
        td.kneighbors(None, fitted, lazy, n_neighbors=2)
        td.transform(None, fitted, lazy)
        td.exact(None, fitted, lazy, pairs=[(0, 1)])
    assert not read


@pytest.mark.parametrize("k", [1, 7, 89])
def test_kneighbors_are_the_first_of_the_sorted_rows(client, fitted, rows, k):
    table = fitted.pairwise(rows)
    np.fill_diagonal(table, np.inf)
    order = np.argsort(table, axis=1, kind="stable")[:, :k]
    for A, chunks in inputs(rows):
        distances, numbers = td.kneighbors(client, fitted, A, n_neighbors=k, chunks=chunks)
        found = dask.compute(distances, numbers)
        np.testing.assert_array_equal(found[1], order)
        np.testing.assert_array_equal(found[0], np.take_along_axis(table, order, axis=1))
        assert distances.chunks[0] == numbers.chunks[0]


def test_kneighbors_among_others_keep_ties_in_order(client, places, rows):
    tree = tp.Tree(*(np.array(part) for part in ([4, 4, 4, 4, 4], [1.0, 1.0, 1.0, 1.0, 0.0])))
    queries, others = np.eye(4), np.eye(4)[np.arange(50) % 4]
    distances, numbers = td.kneighbors(client, tree, queries, others, n_neighbors=20, chunks=6)
    order = np.argsort(tree.pairwise(queries, others), axis=1, kind="stable")[:, :20]
    np.testing.assert_array_equal(numbers.compute(), order)


def test_blocks_go_to_a_device_where_one_is_given(client, fitted, rows):
    """The device "tiles" does in NumPy what "cuda" does on a GPU."""
    expected = fitted.pairwise(rows)
    for B in (None, rows[:20]):
        distances = td.pairwise(client, fitted, rows, B, chunks=40, device="tiles")
        assert distances.dtype == np.float32
        table = fitted.pairwise(rows, B)
        if B is not None:
            assert (td.cross(client, fitted, rows, B).compute() == fitted.cross(rows, B)).all()
        np.testing.assert_allclose(distances.compute(), table, rtol=1e-5, atol=1e-6)
    near, numbers = td.kneighbors(client, fitted, rows, n_neighbors=4, chunks=40, device="tiles")
    assert near.dtype == np.float32 and near.compute().dtype == np.float32
    found = np.take_along_axis(expected, numbers.compute(), axis=1)
    np.testing.assert_allclose(near.compute(), found, rtol=1e-5, atol=1e-6)
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_allclose(found, np.sort(expected, axis=1)[:, :4], rtol=1e-5, atol=1e-6)


def test_one_set_and_two_equal_ones_are_different_questions(client, fitted, rows):
    others, itself = (
        td.kneighbors(client, fitted, rows, B, n_neighbors=1)[1] for B in (None, rows)
    )
    found = [future.result() for future in client.compute([others, itself])]
    assert (found[0][:, 0] != np.arange(len(rows))).all()
    assert (fitted.pairwise(rows)[np.arange(len(rows)), found[1][:, 0]] == 0).all()
    both = dask.compute(
        *(td.kneighbors(None, fitted, rows, B, n_neighbors=1)[1] for B in (None, rows))
    )
    assert all((a == b).all() for a, b in zip(both, found))


def test_columns_of_a_frame_go_by_their_names(client, places, rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=[f"p{k}" for k in range(rows.shape[1])])
    nn = tp.WassersteinNeighbors(places, n_neighbors=2).fit(frame)
    expected = nn.kneighbors(frame[:5])
    for given in (frame[:5], frame[:5][frame.columns[::-1]]):
        found = td.kneighbors(client, nn, given, n_neighbors=2)
        assert all((a == b.compute()).all() for a, b in zip(expected, found))


def test_blocks_have_as_many_rows_as_they_say(client, fitted, rows):
    blocks = [dask.delayed(rows[:10]), dask.delayed(rows[10:30])]
    with pytest.raises(ValueError, match="block [01] has [12]0 rows, and `chunks=` says [12]0"):
        td.pairwise(client, fitted, blocks, chunks=(20, 10)).compute()
    assert td.pairwise(client, fitted, rows, chunks=-1).chunks == ((90,), (90,))
    assert td.pairwise(client, fitted, rows, chunks=np.int64(50)).chunks == ((50, 40), (50, 40))
    for chunks in (0, -2, 2.5, "auto", True, (100, -10)):
        with pytest.raises(ValueError, match="chunks is"):
            td.pairwise(client, fitted, rows, chunks=chunks)
    for n_neighbors in (2.5, True):
        with pytest.raises(TypeError, match="n_neighbors"):
            td.kneighbors(client, fitted, rows, n_neighbors=n_neighbors)


def test_points_that_are_all_one_apart_may_be_any_number(client):
    for points in (4, 6):
        rows = np.eye(points)
        assert (td.exact(client, tp.TreeWasserstein(), rows).compute() == 1 - rows).all()
    lazy = [td.exact(None, tp.TreeWasserstein(), np.eye(points)) for points in (4, 6)]
    assert [table.shape for table in dask.compute(*lazy)] == [(4, 4), (6, 6)]


def test_an_index_is_asked_in_blocks_of_queries(client, places, rows):
    near = tp.WassersteinNeighbors(places).fit(rows[:60])
    distances, numbers = near.kneighbors(rows[60:], 4)
    found = dask.compute(*td.kneighbors(client, near, rows[60:], n_neighbors=4, chunks=7))
    np.testing.assert_array_equal(found[0], distances)
    np.testing.assert_array_equal(found[1], numbers)


def cut_in_parts(rows, borders):
    return [rows[begin:end] for begin, end in zip(borders, borders[1:])]


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("k", [1, 4, 70])
def test_parts_on_workers_answer_as_one_index(client, places, rows, tmp_path, k, early_stop):
    collection = np.concatenate([rows[:60], rows[:20]])  # ties within and between parts
    one = tp.WassersteinNeighbors(places).fit(collection)
    parts = [
        tp.WassersteinNeighbors(places).fit(part)
        for part in cut_in_parts(collection, [0, 3, 30, 31, 64, 80])
    ]
    files = [tmp_path / f"{number}.index" for number in range(len(parts))]
    for part, file in zip(parts, files):
        part.save(file)
    distances, numbers, bounds, _ = one.kneighbors(rows[60:], k, return_bounds=True)
    for where, given in [
        (client, files),
        (client, parts),
        (None, [*map(str, files[:2]), *parts[2:]]),
        (client, parts[:1]),
    ]:
        asked = {"n_neighbors": k, "chunks": 13, "return_bounds": True, "early_stop": early_stop}
        found = dask.compute(*td.kneighbors(where, given, rows[60:], **asked))
        if len(given) == 1:
            assert found[1].shape == (30, min(k, 3))
            continue
        np.testing.assert_array_equal(found[0], distances)
        np.testing.assert_array_equal(found[1], numbers)
        assert (found[2] >= distances[:, -1] * (1 - 1e-9)).all() and found[2].shape == (30,)
        beyond = one.kneighbors(rows[60:], k + 1)[0][:, k] if k < 80 else np.inf
        assert (found[2] <= beyond * (1 + 1e-9)).all()


def test_every_worker_has_a_part(client, places, rows, tmp_path):
    files = [tmp_path / f"{number}.index" for number in range(4)]
    for part, file in zip(cut_in_parts(rows, [0, 20, 40, 60, 90]), files):
        tp.WassersteinNeighbors(places).fit(part).save(file)
    before = set(client.who_has())
    lazy = td.kneighbors(client, files, rows[:5], n_neighbors=2)
    sent = {
        key: where
        for key, where in client.who_has().items()
        if key not in before and "load" in str(key)
    }
    assert sorted(len(where) for where in sent.values()) == [1] * 4
    assert len({where for (where,) in sent.values()}) == 2
    again = td.kneighbors(client, files, rows[:5], n_neighbors=2)
    assert (
        len([key for key in client.who_has() if key not in before and "load" in str(key)]) == 4
    ), "read once"
    expected = tp.WassersteinNeighbors(places).fit(rows).kneighbors(rows[:5], 2)
    for found in (lazy, again):
        assert all((a == b).all() for a, b in zip(dask.compute(*found), expected))


def test_parts_that_do_not_fit_are_named(client, places, rows, tmp_path):
    nn, other = (
        tp.WassersteinNeighbors(places).fit(rows),
        tp.WassersteinNeighbors(places + 1).fit(rows),
    )
    nn.save(tmp_path / "a.index")
    other.save(tmp_path / "b.index")
    for where in (client, None):
        with pytest.raises(
            ValueError, match=r"part 1 \(.*b.index\) has other points than part 0 \(.*a.index\)"
        ):
            td.kneighbors(where, [tmp_path / "a.index", tmp_path / "b.index"], rows)
    with pytest.raises(
        ValueError, match="part 1 has .normalize, accuracy. = .True, 0.1., and part 0 has"
    ):
        td.kneighbors(client, [nn, tp.WassersteinNeighbors(places, accuracy=0.1).fit(rows)], rows)
    with pytest.raises(TypeError, match="part 0 is not fitted yet"):
        td.kneighbors(client, [tp.WassersteinNeighbors(places)], rows)
    with pytest.raises(TypeError, match="part 1 is of type int"):
        td.kneighbors(client, [nn, 3], rows)
    with pytest.raises(ValueError, match="the list of parts is empty"):
        td.kneighbors(client, [], rows)
    with pytest.raises(ValueError, match="leave B out"):
        td.kneighbors(client, [nn], rows, rows)
    with pytest.raises(ValueError, match="need no proof"):
        td.kneighbors(client, models(places)["tree"], rows, return_bounds=True)


@pytest.mark.parametrize("accuracy", [0.2, "approximate"])
def test_parts_take_any_accuracy(client, places, rows, accuracy):
    parts = [
        tp.WassersteinNeighbors(places, accuracy=accuracy).fit(part)
        for part in cut_in_parts(rows, [0, 30, 50, 90])
    ]
    asked = [
        dask.compute(*td.kneighbors(client, parts, rows[:9], n_neighbors=5, early_stop=early))
        for early in (True, False)
    ]
    assert all((a == b).all() for a, b in zip(*asked)), "stopping early changes nothing"


def test_transform_embeds_rows(client, fitted, rows):
    rows = rows.copy()
    for A, chunks in inputs(rows):
        found = td.transform(client, fitted.model_, A, chunks=chunks)
        np.testing.assert_array_equal(
            found.compute().toarray(), fitted.model_.embed(rows).toarray()
        )
    rows[3] = 0
    for A, chunks in [(rows, None), (da.from_array(rows, chunks=(37, 100)), 3)]:
        found = td.transform(client, fitted, A, chunks=chunks)
        assert found.shape == (90, fitted.model_.n_nodes)
        np.testing.assert_array_equal(found.compute().toarray(), fitted.transform(rows).toarray())


def test_exact_distances_of_listed_and_of_all_pairs(client, places, rows):
    model = tp.TreeWasserstein(places)  # not fitted
    pairs = np.random.default_rng(0).integers(90, size=(300, 2))
    judge = exact_pairs(places, rows, pairs)
    every = np.stack(np.triu_indices(90, 1), axis=1)
    table = np.zeros((90, 90))
    table[tuple(every.T)] = exact_pairs(places, rows, every)
    for A, chunks in inputs(rows):
        np.testing.assert_array_equal(
            td.exact(client, model, A, pairs=pairs, chunks=chunks).compute(), judge
        )
    for A, chunks in inputs(rows)[-2:]:
        np.testing.assert_array_equal(
            td.exact(client, model, A, chunks=chunks).compute(), table + table.T
        )
    lower = td.exact(client, model, rows[50:], rows[:50], chunks=23)
    turned = [(i, j) for i in range(50, 90) for j in range(50)]
    judge = exact_pairs(places, rows, np.array(turned)).reshape(40, 50)
    np.testing.assert_array_equal(lower.compute(), judge)
    some = td.exact(client, model, rows[50:], rows[:50], pairs=[(3, 40), (39, 0)])
    np.testing.assert_array_equal(some.compute(), [judge[3, 40], judge[39, 0]])


@pytest.mark.parametrize("given", ["cost", "graph", "nothing"])
def test_exact_distances_by_any_ground_metric(client, places, rows, given):
    cost = np.linalg.norm(places[:, None] - places[None], axis=2)
    near = sparse.csr_array(np.where(cost < np.sort(cost, axis=1)[:, 12:13], cost, 0))
    metric = {"cost": {"cost": cost}, "graph": {"graph": near.maximum(near.T)}, "nothing": {}}[
        given
    ]
    model = tp.TreeWasserstein(**metric, n_pairs=50, epochs=2).fit(rows)
    pairs = np.random.default_rng(0).integers(90, size=(100, 2))
    judge = _core.emd_pairs(model._ground(), measures_of(rows, True), pairs, 0, prepare=True)[1]
    for A, chunks in (rows, None), inputs(rows)[-1]:
        found = td.exact(client, model, A, pairs=pairs, chunks=chunks)
        np.testing.assert_array_equal(found.compute(), judge)


@pytest.mark.parametrize("metric", ["points", "graph"])
def test_fit_learns_the_same_from_labels_of_the_cluster(client, tmp_path, places, rows, metric):
    ring = sparse.diags([1.0, 1.5], [1, 7], shape=(300, 300)).tocsr()
    given = {"points": places} if metric == "points" else {"graph": ring + ring.T}
    with_empty = np.concatenate([rows, np.zeros((2, 300))])
    for number, keywords in enumerate([{}, {"client": client}]):
        model = tp.TreeWasserstein(**given, n_pairs=150, epochs=5, random_state=3)
        model.fit(with_empty, **keywords).save(tmp_path / str(number))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    assert td.score(client, model, da.from_array(rows, chunks=(20, 300))) == model.score(rows)
    assert td.score(client, model, rows[:40], rows[40:80]) == model.score(rows[:40], rows[40:80])


def finished(client, name):
    """How many tasks whose name begins so are done."""

    def count(dask_scheduler):
        states = [
            task.state
            for key, task in list(dask_scheduler.tasks.items())
            if (key[0] if isinstance(key, tuple) else str(key).strip("('")).startswith(name)
        ]
        return states.count("memory")

    return client.run_on_scheduler(count)


def kill_in_the_middle(client, name):
    """Kills a worker when some tasks are done; what it had done is lost, however many there were."""
    victim = min(client.run(os.getpid).values())
    until = time.monotonic() + 300
    while finished(client, name) < 6:
        assert time.monotonic() < until, f"six tasks {name} are not done after 300 s"
        time.sleep(0.01)
    os.kill(victim, signal.SIGKILL)
    return victim


def survived(client, victim):
    """Whether there are two workers again, neither of which is the one that was killed."""
    client.wait_for_workers(2, timeout=300)
    return victim not in client.run(os.getpid).values()


def test_a_killed_worker_costs_time_and_nothing_else(client):
    rng = np.random.default_rng(1)
    tree, rows = tp.linkage(points=rng.normal(size=(400, 3))), counts(rng, 1040, 400, 0.3)
    rows /= rows.sum(axis=1, keepdims=True)
    distances = td.pairwise(client, tree, rows, chunks=80).persist()
    victim = kill_in_the_middle(client, "pairwise")
    np.testing.assert_array_equal(distances.compute(), tree.pairwise(rows))
    assert survived(client, victim)


def test_a_worker_killed_while_solving(client):
    rng = np.random.default_rng(2)
    places, rows = rng.normal(size=(300, 2)), counts(rng, 200, 300, 0.5)
    pairs = rng.integers(200, size=(1500, 2))
    distances = td.exact(client, tp.TreeWasserstein(places), rows, pairs=pairs).persist()
    victim = kill_in_the_middle(client, "labels")
    np.testing.assert_array_equal(distances.compute(), exact_pairs(places, rows, pairs))
    assert survived(client, victim)


def test_a_table_larger_than_the_memory_of_a_worker_goes_to_zarr(tmp_path):
    rng = np.random.default_rng(3)
    tree, rows = tp.linkage(points=rng.normal(size=(16, 2))), np.zeros((6500, 16))
    rows[np.arange(6500)[:, None], rng.integers(16, size=(6500, 2))] = 0.5
    rows /= rows.sum(axis=1, keepdims=True)
    limit = 320 << 20
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=":0",
            silence_logs=50,
            local_directory=str(tmp_path),
        ) as cluster,
        Client(cluster) as client,
    ):
        distances = td.pairwise(client, tree, rows, chunks=650)
        assert distances.nbytes > limit
        distances.to_zarr(str(tmp_path / "table.zarr"))
    found = da.from_zarr(str(tmp_path / "table.zarr"))
    some = rng.integers(6500, size=40)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(found[some].compute(), tree.pairwise(rows[some], rows))


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_joblib_backends_do_the_same_work(client, places, rows, fitted, backend, tmp_path):
    near = tp.WassersteinNeighbors(places, n_neighbors=3).fit(rows[:50])
    judges = fitted.pairwise(rows), fitted.pairwise(rows[:9], rows), *near.kneighbors(rows[50:])
    score, out = fitted.score(rows), np.empty((90, 90))
    with joblib.parallel_config(backend=backend, **({"n_jobs": 2} if backend == "loky" else {})):
        again = tp.TreeWasserstein(places, n_pairs=60, epochs=3).fit(rows)
        assert fitted.pairwise(rows, out=out) is out
        found = out, fitted.pairwise(rows[:9], rows), *near.kneighbors(rows[50:])
        assert fitted.score(rows) == score
    assert again.model_ == fitted.model_
    for ours, judge in zip(found, judges):
        np.testing.assert_array_equal(ours, judge)


def test_errors_say_what_to_do(client, fitted, places, rows):
    with pytest.raises(TypeError, match="client is of type str; give a distributed.Client"):
        td.pairwise("here", fitted, rows)
    with pytest.raises(TypeError, match="client is of type str; give a distributed.Client"):
        tp.TreeWasserstein(places).fit(rows, client="here")
    with pytest.raises(TypeError, match="model is not fitted yet; give a Tree"):
        td.pairwise(client, tp.TreeWasserstein(places), rows)
    with pytest.raises(
        TypeError, match="model is of type (Tree|Forest), which has no ground metric"
    ):
        td.exact(client, fitted.model_, rows)
    with pytest.raises(ValueError, match="2 delayed blocks need `chunks=`"):
        td.pairwise(client, fitted, [dask.delayed(rows[:40]), dask.delayed(rows[40:])])
    with pytest.raises(ValueError, match=r"`compute_chunk_sizes\(\)` finds them out"):
        lazy = da.from_array(rows, chunks=(30, 300))
        td.pairwise(client, fitted, lazy[da.from_array(np.arange(90), chunks=30) > 3])
    with pytest.raises(TypeError, match="rows are of type Delayed(?:Leaf)?; give a dask.array"):
        td.pairwise(client, fitted, dask.delayed(rows))
    with pytest.raises(ValueError, match="chunks are of 80 rows together; there are 90 rows"):
        td.pairwise(client, fitted, rows, chunks=(40, 40))
    assert td.kneighbors(client, fitted, rows, n_neighbors=90)[1].shape == (90, 89)  # all there are
    with pytest.raises(ValueError, match="pairs name rows 0 to 90; rows are numbered from 0 to 89"):
        td.exact(client, fitted, rows, pairs=[(0, 1), (90, 0)])
    with pytest.raises(
        ValueError, match=r"the list of pairs has shape \(1, 3\), expected \(n, 2\)"
    ):
        td.exact(client, fitted, rows, pairs=[(0, 1, 2)])
    with pytest.raises(ValueError, match="has its own collection"):
        td.kneighbors(client, tp.WassersteinNeighbors(places).fit(rows), rows, rows)
    wrong = rows.copy()
    wrong[70, 3] = -1
    with pytest.raises(ValueError, match="in the block of rows that begins at row 60: measure 10 "):
        td.pairwise(client, fitted, wrong, chunks=30).compute()


def test_dask_is_imported_when_asked_for_and_named_when_missing():
    code = """
import sys, treeport
assert not {"dask", "distributed"} & set(sys.modules)
sys.modules["dask"] = None
try:
    import treeport.dask
except ImportError as error:
    assert 'pip install "treeport[dask]"' in str(error), error
else:
    raise SystemExit("no error")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Exact tables of clouds and of rows.


@pytest.fixture(scope="module")
def samples():
    """Clouds of other sizes, scales and places, two of them equal."""
    rng = np.random.default_rng(11)
    made = [
        10.0 ** rng.integers(-1, 2) * rng.normal(size=(rng.integers(3, 40), 2)) + rng.normal(size=2)
        for _ in range(13)
    ]
    made[7] = made[2]
    return tp.Clouds(made)


def delayed_blocks(clouds, sizes):
    borders = np.cumsum([0, *sizes])
    return [dask.delayed(clouds[begin:end]) for begin, end in zip(borders, borders[1:])]


def in_blocks(clouds, sizes, **options):
    """Bounds of all pairs, block by block, without Dask."""
    ends, found = np.cumsum([0, *sizes]), np.zeros((2, len(clouds), len(clouds)))
    places = [slice(begin, end) for begin, end in zip(ends, ends[1:])]
    for number, rows in enumerate(places):
        for columns in places[number:]:
            own = tp.emd_pairwise(
                clouds[rows], None if rows == columns else clouds[columns], **options
            )
            for side, table in zip(found, own):
                side[rows, columns], side[columns, rows] = table, table.T
    return found


@pytest.mark.parametrize("device", [None, "tiles"])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_tables_of_clouds_have_the_bits_of_one_machine(client, samples, metric, device):
    options = {"metric": metric, "device": device}
    judge, cross = (
        tp.emd_pairwise(samples, **options),
        tp.emd_pairwise(samples, samples[:4], **options),
    )
    blocks = delayed_blocks(samples, (1, 8, 4)), (1, 8, 4)
    for A, chunks in [(samples, None), (samples, 5), (list(samples), (2, 11)), blocks]:
        distances = td.emd_pairwise(client, A, chunks=chunks, **options)
        assert distances.shape == judge.shape and distances.dtype == np.float64
        np.testing.assert_array_equal(distances.compute(), judge)
    found = td.emd_pairwise(client, samples, samples[:4], chunks=3, **options)
    assert found.chunks == ((3, 3, 3, 3, 1), (3, 1))
    np.testing.assert_array_equal(found.compute(), cross)


@pytest.mark.parametrize("device", [None, "tiles"])
def test_bounds_of_tables_are_proved_and_the_same_again(client, samples, device):
    value = tp.emd_pairwise(samples)
    bounds = td.emd_pairwise(client, samples, accuracy=0.05, device=device)
    assert bounds.lower.chunks == bounds.upper.chunks and len(bounds.lower.chunks[0]) > 1
    lower, upper = dask.compute(bounds.lower, bounds.upper)
    again = in_blocks(samples, bounds.lower.chunks[0], accuracy=0.05, device=device)
    assert (lower <= value * (1 + 1e-9)).all() and (upper >= value * (1 - 1e-9)).all()
    assert (upper - lower <= 0.05 * upper * (1 + 1e-9)).all() and (lower < upper).any()
    assert (lower == again[0]).all() and (upper == again[1]).all()
    assert (lower == lower.T).all() and (upper == upper.T).all()


def test_tables_of_rows_by_points_or_costs(client, places, rows):
    rows = rows[:20] / rows[:20].sum(axis=1, keepdims=True)
    cost = np.linalg.norm(places[:, None] - places[None], axis=2)
    for options in (
        {"points": places},
        {"cost": cost},
        {"cost": cost, "assume_metric": True},
        {"points": places, "period": 3.0},
    ):
        judge = tp.emd_pairwise(rows, **options)
        for A, chunks in [
            (rows, 7),
            (da.from_array(rows, chunks=(9, 100)), None),
            ([dask.delayed(rows)], (20,)),
        ]:
            np.testing.assert_array_equal(
                td.emd_pairwise(client, A, chunks=chunks, **options).compute(), judge
            )
    bounds = dask.compute(
        *td.emd_pairwise(client, rows, rows[:5], points=places, accuracy=0.01, device="tiles")[:2]
    )
    value = tp.emd_pairwise(rows, rows[:5], points=places)
    assert (bounds[0] <= value * (1 + 1e-9)).all() and (bounds[1] >= value * (1 - 1e-9)).all()
    assert (bounds[1] - bounds[0] <= 0.01 * bounds[1] + 1e-12).all()


def test_penalties_go_with_their_points(client, samples):
    heavy = tp.Clouds(
        [(masses * (1 + at % 3), points) for at, (masses, points) in enumerate(samples)]
    )
    prices = np.random.default_rng(0).uniform(1, 5, size=len(heavy.points))
    for penalty in (2.5, prices):
        judge = tp.emd_pairwise(heavy, penalty=penalty)
        np.testing.assert_array_equal(
            td.emd_pairwise(client, heavy, penalty=penalty, chunks=4).compute(), judge
        )
    own = heavy.with_penalties(prices)
    np.testing.assert_array_equal(td.emd_pairwise(client, own, chunks=4).compute(), judge)
    both = np.concatenate([prices, prices[: heavy.offsets[5]]])
    judge = tp.emd_pairwise(heavy, heavy[:5], penalty=both)
    np.testing.assert_array_equal(
        td.emd_pairwise(client, heavy, heavy[:5], penalty=both, chunks=4).compute(), judge
    )
    with pytest.raises(ValueError, match="a device supports no penalty"):
        td.emd_pairwise(client, own, device="tiles")
    with pytest.raises(ValueError, match="have penalties of their own"):
        td.emd_pairwise(client, own, penalty=1.0)
    with pytest.raises(ValueError, match="prices of points do not go together"):
        td.emd_pairwise(client, delayed_blocks(heavy, (13,)), penalty=prices, chunks=(13,))


def test_clouds_that_are_wrong_are_named_before_anything_is_sent(client, samples):
    wrong = [(masses, points.copy()) for masses, points in samples]
    wrong[9][1][2, 1] = np.nan
    with pytest.raises(ValueError, match="cloud 9") as here:
        tp.emd_pairwise(wrong)
    with pytest.raises(ValueError, match="cloud 9") as there:
        td.emd_pairwise(client, wrong)
    assert str(here.value) == str(there.value)
    heavy = [(masses * (1 + (at == 8)), points) for at, (masses, points) in enumerate(samples)]
    with pytest.raises(ValueError, match="clouds 5 and 8 have total mass"):
        td.emd_pairwise(client, heavy, chunks=3)
    with pytest.raises(
        ValueError,
        match="in the block of clouds that begins at cloud 0: clouds 5 and 8 have total mass",
    ):
        td.emd_pairwise(client, delayed_blocks(tp.Clouds(heavy), (13,)), chunks=(13,)).compute()
    with pytest.raises(ValueError, match="in block 1: cloud 3"):
        blocks = [dask.delayed(block, traverse=False) for block in (wrong[:6], wrong[6:])]
        td.emd_pairwise(client, blocks, chunks=(6, 7)).compute()
    with pytest.raises(ValueError, match="block 1 has 7 clouds, and `chunks=` says 6"):
        td.emd_pairwise(client, delayed_blocks(samples, (6, 7)), chunks=(6, 6)).compute()
    with pytest.raises(
        ValueError,
        match="2 delayed blocks need `chunks=`, a tuple with the number of clouds of each",
    ):
        td.emd_pairwise(client, delayed_blocks(samples, (6, 7)))
    with pytest.raises(ValueError, match="clouds in memory do not go together"):
        td.emd_pairwise(client, delayed_blocks(samples, (13,)), samples, chunks=(13,))


def test_options_of_exact_tables_that_no_worker_takes(client, samples, places, rows):
    with pytest.raises(ValueError, match="accuracy"):
        td.emd_pairwise(client, samples, accuracy=-1.0)
    with pytest.raises(ValueError, match="device is 'gpu'; it must be None"):
        td.emd_pairwise(client, samples, device="gpu")
    with pytest.raises(ValueError, match="a device supports no haversine"):
        td.emd_pairwise(client, samples, device="cuda", metric="haversine")
    with pytest.raises(ValueError, match="metric"):
        td.emd_pairwise(client, samples, metric="nearness")
    with pytest.raises(
        TypeError,
        match="measures are of type ndarray; give Clouds, or rows of masses with `points` or `cost`",
    ):
        td.emd_pairwise(client, rows)
    with pytest.raises(ValueError, match="Clouds bring their own points"):
        td.emd_pairwise(client, samples, points=places)
    with pytest.raises(ValueError, match="points and costs are given"):
        td.emd_pairwise(client, rows, points=places, cost=np.zeros((300, 300)))
    with pytest.raises(ValueError, match="have 2 coordinates, those of B 3"):
        td.emd_pairwise(client, samples, tp.Clouds([places]))


def test_a_worker_killed_in_an_exact_table(client):
    rng = np.random.default_rng(4)
    clouds = tp.Clouds([rng.normal(size=(40, 4)) for _ in range(24)])
    bounds = td.emd_pairwise(client, clouds, accuracy=0.02, device="tiles", chunks=2)
    judge = in_blocks(clouds, (2,) * 12, accuracy=0.02, device="tiles")
    lower, upper = dask.persist(*bounds[:2])
    victim = kill_in_the_middle(client, "emd_pairwise")
    found = dask.compute(lower, upper)
    assert all((a == b).all() for a, b in zip(found, judge))
    assert survived(client, victim)
