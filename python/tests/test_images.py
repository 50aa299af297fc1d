"""Images and volumes: the same as their pixels as points."""

import numpy as np
import pytest
import treeport as tp


def images(shape, seed=0):
    rng = np.random.default_rng(seed)
    pair = rng.random((2, *shape)) * (rng.random((2, *shape)) < 0.6)
    pair[:, 0] += 0.1
    return [one / one.sum() for one in pair]


@pytest.mark.parametrize("shape", [(5, 7), (3, 4, 2), (9,)])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
@pytest.mark.parametrize("period", [False, True])
def test_images_are_their_pixels(shape, metric, period):
    a, b = images(shape)
    spacing = np.array([1.0, 0.5, 2.0][: len(shape)])
    pixels = np.indices(shape).reshape(len(shape), -1).T * spacing
    around = list(np.array(shape) * spacing) if period else None
    judge = tp.emd(a.ravel(), b.ravel(), points=pixels, metric=metric, period=around)
    for one, other in ((a, b), (a.astype(np.float32).astype(float), b), (a.tolist(), b.T.T)):
        if np.abs(np.sum(one) - 1) > 1e-12:
            continue
        solution = tp.solve(one, other, grid=spacing, metric=metric, period=around)
        assert solution.value == pytest.approx(judge, rel=1e-9)
    assert (solution.engine == "edges") == (metric == "manhattan" and len(shape) > 1)
    np.testing.assert_allclose(solution.plan.sum(axis=1), a.ravel(), atol=1e-12)
    field = solution.displacement
    assert field.shape == (*shape, len(shape))
    assert (np.isnan(field[..., 0]) == (a == 0)).all()


def test_displacements_go_the_shorter_way_around():
    one, other = np.zeros((2, 4, 6))
    one[0, 0], other[3, 5] = 1, 1
    straight = tp.solve(one, other, grid=(1.0, 2.0))
    np.testing.assert_array_equal(straight.displacement[0, 0], [3.0, 10.0])
    around = tp.solve(one, other, grid=(1.0, 2.0), period=[4.0, 12.0])
    np.testing.assert_array_equal(around.displacement[0, 0], [-1.0, -2.0])
    assert tp.solve(one, other, grid=1.0).value == pytest.approx(np.hypot(3, 5))
    with pytest.raises(ValueError, match="only images have displacements"):
        _ = tp.solve([1.0], [1.0], [[1.0]]).displacement


def test_fields_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    a, b = images((6, 8))
    ax = tp.solve(a, b, grid=(1.0, 0.5)).plot_displacement(image=a, step=2)
    assert len(ax.images) == 1 and len(ax.collections) == 1
    with pytest.raises(ValueError, match="3 axes"):
        volume = images((2, 2, 2))
        tp.solve(*volume, grid=1.0).plot_displacement()


def test_options_apply_to_images():
    a, b = images((6, 6))
    assert tp.solve(a, 2 * b, grid=1.0, penalty=2.0).value > 0
    assert tp.solve(a, b, grid=1.0, metric="manhattan", mass=0.5).value >= 0
    assert tp.solve(a, b, grid=1.0, order=np.inf).engine == "bottleneck"
    bounds = tp.solve(a, b, grid=1.0, accuracy=0.1)
    assert bounds.upper <= 1.1 * bounds.lower


@pytest.mark.parametrize(
    ("a", "b", "named", "said"),
    [
        (np.ones((3, 4)), np.ones((4, 3)), {}, r"a has shape \(3, 4\) and b \(4, 3\)"),
        ([[1.0, -1.0]], [[1.0, 1.0]], {}, r"a has mass -1.0 at pixel \(0, 1\)"),
        ([[1.0, 1.0]], [[1.0, np.nan]], {}, r"b has mass nan at pixel \(0, 1\)"),
        ([[1.0, 1.0]], [[1.0, 1.0]], {"grid": (1.0,)}, r"spacing of a grid has shape \(1,\)"),
        ([[1.0, 1.0]], [[1.0, 1.0]], {"grid": (1.0, 0.0)}, "grid is 0; the spacing"),
        ([[1.0, 1.0]], [[1.0, 1.0]], {"points": [[0.0]]}, "gives the places of pixels"),
        ([[1.0, 1.0]], [[2.0, 1.0]], {}, "total mass 2 and 3"),
        (None, [[2.0, 1.0]], {}, "a is None"),
    ],
)
def test_bad_images_are_refused(a, b, named, said):
    with pytest.raises(ValueError, match=said):
        tp.solve(a, b, **{"grid": 1.0, **named})
