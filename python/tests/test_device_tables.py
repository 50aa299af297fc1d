"""Tiles of single precision, judged by the library; on the CPU in NumPy, on a GPU where there is one."""

import sys

import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from treeport._devices import memory_errors, tables

try:
    import torch
    import triton  # noqa: F401

    DEVICES = ["tiles", "cuda"] if torch.cuda.is_available() else ["tiles"]
except ImportError:
    DEVICES = ["tiles"]

POINTS = 90


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(4)
    trees = [tp.linkage(points=rng.normal(size=(POINTS, 3))) for _ in range(3)]
    return trees[0], tp.Forest(trees, [0.5, 0.3, 0.2])


def measures(count, support, seed):
    """Rows with a few masses, most of them near the first points."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, POINTS))
    likely = 1 / np.arange(1, POINTS + 1)
    for row in rows:
        row[rng.choice(POINTS, support, replace=False, p=likely / likely.sum())] = (
            rng.random(support) + 0.1
        )
    return rows / rows.sum(axis=1, keepdims=True)


def bound(model, A, B):
    """What rounding may do."""
    rows = [
        None if X is None else tables.SparseRows(*model._raw.embed(model._measures(X), 0)[:3])
        for X in (A, B)
    ]
    return tables.rounding(*rows, tables.sides(tables.TableEngine(), *rows, model.n_nodes)[0])


@pytest.mark.parametrize("support", [1, 4, 40])
def test_tables_are_those_of_the_library_but_for_rounding(models, device, support):
    A, B = measures(300, support, 1), measures(270, 2 * support, 2)
    for model in models:
        for left, right in [(A, None), (A, B), (B[:1], A), (A[:1], None)]:
            exact = model.pairwise(left, right)
            found = model.pairwise(
                left, sparse.csr_array(right) if right is not None else None, device=device
            )
            assert found.dtype == np.float32
            assert np.abs(found - exact).max() <= bound(model, left, right) < 1e-3
            if right is None:
                assert (found == found.T).all() and (found.diagonal() == 0).all()
            else:
                assert (model.cross(left, right) == exact).all()
                assert (model.cross(left, right, device=device) == found).all()
            out = np.empty(exact.shape)
            assert model.pairwise(left, right, device=device, out=out) is out
            assert (out == found).all()


def test_every_split_of_columns_and_rows_gives_the_same(models, monkeypatch):
    A = measures(600, 6, 3)
    exact, usual = models[0].pairwise(A), models[0].pairwise(A, device="tiles")
    allowed = bound(models[0], A, None)
    monkeypatch.setattr(tables.TableEngine, "block", 256)
    assert (models[0].pairwise(A, device="tiles") == usual).all()
    for frequent in (-1.0, 2.0):  # all columns dense, and none
        monkeypatch.setattr(tables.TableEngine, "frequent", frequent)
        assert np.abs(models[0].pairwise(A, device="tiles") - exact).max() <= 3 * allowed


def test_what_all_rows_have_in_common_is_left_out(device):
    tree = tp.Tree.from_newick("(((a:1,b:1):1000000,c:3):1,(d:1,e:1):1);")
    A = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0.5, 0.5, 0, 0, 1]])
    np.testing.assert_array_equal(tree.pairwise(A, device=device), tree.pairwise(A))


@pytest.mark.parametrize("one_set", [True, False])
def test_neighbors_are_those_of_the_table(models, device, one_set, monkeypatch):
    monkeypatch.setattr(tables.TableEngine, "block", 256)
    A, B = measures(520, 9, 5), None if one_set else measures(300, 9, 6)
    for model in models:
        exact, single = model.pairwise(A, B), model.pairwise(A, B, device=device)
        if one_set:
            np.fill_diagonal(exact, np.inf)
            np.fill_diagonal(single, np.inf)
        for table, where in [(exact, None), (single, device)]:
            distances, numbers = model.kneighbors(A, B, 7, device=where)
            order = np.argsort(table, axis=1, kind="stable")[:, :7]
            assert (numbers == order).all() and numbers.dtype == np.int64
            assert (distances == np.take_along_axis(table, order, axis=1)).all()


def test_equal_distances_are_ordered_by_number(device):
    star = tp.Tree.from_newick("(a:1,b:1,c:1,d:1,e:1);")
    assert star.kneighbors(np.eye(5), n_neighbors=3, device=device)[1].tolist() == [
        [1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2],
    ]  # fmt: skip


def test_the_estimator_divides_by_totals(words, documents, device):
    tw = tp.TreeWasserstein(words, method="average").fit(documents)
    shares = documents / documents.sum(axis=1, keepdims=True)
    assert (
        tw.pairwise(documents, device=device) == tw.model_.pairwise(shares, device=device)
    ).all()
    for where in (None, device):
        found = tw.kneighbors(documents, n_neighbors=3, device=where)
        expected = tw.model_.kneighbors(shares, n_neighbors=3, device=where)
        assert all((a == b).all() for a, b in zip(found, expected))


def test_what_does_not_fit_is_refused(models, device):
    tree, A = models[0], measures(5, 3, 7)
    with pytest.raises(ValueError, match="mass"):
        tree.pairwise(A, 2 * A, device=device)
    with pytest.raises(ValueError, match=r"shape \(5, 5\)"):
        tree.pairwise(A, device=device, out=np.empty((4, 5), np.float32))
    with pytest.raises(ValueError, match="float32 or float64"):
        tree.pairwise(A, device=device, out=np.empty((5, 5), np.int32))
    with pytest.raises(TypeError, match="n_neighbors"):
        tree.kneighbors(A, n_neighbors=2.5)
    with pytest.raises(ValueError, match="cuda:1"):
        tree.pairwise(A, device="gpu")


def test_what_single_precision_cannot_hold_is_refused(models, device):
    A = measures(4, 3, 8)
    for size in (1e39, 1e300, 1e-30, 1e-300):
        with pytest.raises(ValueError, match="single precision"):
            models[0].pairwise(size * A, device=device)
        with pytest.raises(ValueError, match="single precision"):
            models[0].kneighbors(size * A, n_neighbors=1, device=device)


def test_none_have_no_neighbors(models, device):
    A, none = measures(4, 3, 9), np.zeros((0, POINTS))
    for where in (None, device):
        distances, numbers = models[0].kneighbors(none, A, 2, device=where)
        assert distances.shape == numbers.shape == (0, 2)
        assert models[0].pairwise(none, A, device=where).shape == (0, 4)
        # All there are, where they are fewer.
        distances, numbers = models[0].kneighbors(A[:1], n_neighbors=1, device=where)
        assert distances.shape == numbers.shape == (1, 0)
        assert models[0].kneighbors(A, n_neighbors=9, device=where)[1].shape == (4, 3)
        assert models[0].kneighbors(A[:2], A, 9, device=where)[1].shape == (2, 4)


def test_without_pytorch_the_extra_is_named(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "treeport._devices.tables_cuda", None)
    with pytest.raises(ImportError, match=r"treeport\[gpu\]"):
        models[0].pairwise(measures(2, 3, 1), device="cuda")


def test_a_full_device_is_a_memory_error():
    class OutOfMemoryError(RuntimeError):
        pass

    with (
        pytest.raises(MemoryError, match="fewer rows"),
        memory_errors("measures", "cuda", "rows at a time"),
    ):
        raise OutOfMemoryError("no room")
    with (
        pytest.raises(RuntimeError, match="other"),
        memory_errors("measures", "cuda", "rows at a time"),
    ):
        raise RuntimeError("other")
