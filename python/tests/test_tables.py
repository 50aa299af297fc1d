"""Tables into arrays of the caller's, in blocks."""

import _thread
import threading

import numpy as np
import pytest
import treeport as tp


def models():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    tree = tp.linkage(points=points)
    A, B = rng.random((90, 40)), rng.random((7, 40))
    A, B = A / A.sum(1, keepdims=True), B / B.sum(1, keepdims=True)
    fitted = tp.TreeWasserstein(points=points, method="cluster").fit(A)
    return [tree, tp.Forest([tree, tree.scaled(0.3)]), fitted], A, B


@pytest.fixture(params=[None, 130_000], ids=["unlimited", "little memory"])
def memory(request):
    yield request.param
    tp.set_memory_limit(None)


def test_a_table_of_ones_own_gets_the_same_numbers(memory, tmp_path):
    answering, A, B = models()
    for model in answering:
        square, cross = model.pairwise(A), model.pairwise(A, B)
        tp.set_memory_limit(memory)
        file = np.memmap(tmp_path / "table", dtype=np.float64, mode="w+", shape=(90, 90))
        for out in [
            np.full((90, 90), np.nan),
            np.full((90, 90), np.nan, order="F"),
            np.full((180, 270), np.nan)[::-2, ::3],
            file,
        ]:
            assert model.pairwise(A, out=out) is out
            np.testing.assert_array_equal(out, square)
        out = np.full((90, 7), np.nan)
        assert model.pairwise(A, B, out=out) is out
        np.testing.assert_array_equal(out, cross)
        tp.set_memory_limit(None)
    assert tp.Tree.from_newick("(a:1,b:2);").pairwise(
        np.empty((0, 2)), out=np.empty((0, 0))
    ).shape == (0, 0)


def test_a_table_that_does_not_fit_is_filled_in_blocks(memory):
    if memory is None:
        pytest.skip("it fits")
    tree = tp.Tree.from_newick("(a:1,b:2);")
    measures = np.tile([[1.0, 0.0], [0.0, 1.0]], (100, 1))
    tp.set_memory_limit(memory)
    with pytest.raises(MemoryError, match="`out=` a memory map in Python"):
        tree.pairwise(measures)
    out = tree.pairwise(measures, out=np.empty((200, 200)))
    np.testing.assert_array_equal(
        out, np.where(np.add.outer(np.arange(200), np.arange(200)) % 2, 3.0, 0.0)
    )


def test_what_is_no_table_says_what_is_expected():
    tree = tp.Tree.from_newick("(a:1,b:2);")
    measures = [[1, 0], [0, 1]]
    fixed = np.empty((2, 2))
    fixed.flags.writeable = False
    expected = r"expected a writeable, aligned numpy array of float64 with shape \(2, 2\)"
    for out, said in [
        ([[0.0] * 2] * 2, "out is of type list"),
        (np.empty((2, 3)), r"out has dtype float64 and shape \(2, 3\)"),
        (np.empty((2, 2), np.float32), r"out has dtype float32 and shape \(2, 2\)"),
        (np.empty((2, 2), ">f8"), r"out has dtype >f8 and shape"),
        (np.empty(33, np.uint8)[1:].view(np.float64).reshape(2, 2), "out is not aligned"),
        (fixed, "out is read-only"),
    ]:
        with pytest.raises(ValueError, match=f"{said}.*; {expected}"):
            tree.pairwise(measures, out=out)
    with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
        tree.pairwise(measures, [[1, 0]], out=np.empty((2, 2)))


@pytest.mark.usefixtures("ctrl_c")
def test_filling_a_table_is_interrupted():
    n = 400
    tree = tp.linkage(points=np.arange(float(n))[:, None])
    measures = np.random.default_rng(0).random((6000, n))
    measures /= measures.sum(1, keepdims=True)
    out = np.empty((6000, 6000))
    measures = tp.Measures(measures)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tree.pairwise(measures, out=out, n_jobs=1)
