"""`accuracy=ε` means one thing at every door: upper ≤ (1 + ε) · lower, and of neighbors (1 + ε) times the true distance of the rank.

Exact values are the judge.
"""

import numpy as np
import pytest
import treeport as tp
import treeport.dask

ERRORS = [0.5, 0.1, 0.02]
N, DIM = 200, 4


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(size=(N, DIM))


@pytest.fixture(scope="module")
def masses():
    return np.random.default_rng(2).dirichlet(np.ones(N), size=10)


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(3)
    return [rng.normal(size=(size, DIM)) + rng.normal(size=DIM) for size in (230, 80, 210, 90)]


def grid(points):
    """The weights of a graph whose distances are not those of a line."""
    weights = np.linalg.norm(points[:, None] - points[None], axis=2)
    return np.where(weights < np.quantile(weights, 0.3), weights, 0)


def squared(points):
    return ((points[:, None] - points[None]) ** 2).sum(axis=2)


PAIRS = np.array([(0, 1), (2, 3), (4, 5)])

#: Each door: (lower, upper) and the exact values, from (masses, points, clouds, ε).
DOORS = {
    "emd, points": lambda A, x, clouds, error: (
        tp.emd(A[0], A[1], points=x, accuracy=error)[:2],
        tp.emd(A[0], A[1], points=x),
    ),
    "emd, two sets": lambda A, x, clouds, error: (
        tp.emd(None, None, *clouds[:2], accuracy=error)[:2],
        tp.emd(None, None, *clouds[:2]),
    ),
    "emd, squared": lambda A, x, clouds, error: (
        tp.emd(A[0], A[1], points=x, metric="sqeuclidean", accuracy=error)[:2],
        tp.emd(A[0], A[1], points=x, metric="sqeuclidean"),
    ),
    "emd, a matrix": lambda A, x, clouds, error: (
        tp.emd(A[0], A[1], squared(x), accuracy=error)[:2],
        tp.emd(A[0], A[1], squared(x)),
    ),
    "emd, a graph": lambda A, x, clouds, error: (
        tp.emd(A[0], A[1], graph=grid(x), accuracy=error)[:2],
        tp.emd(A[0], A[1], graph=grid(x)),
    ),
    "emd, a penalty": lambda A, x, clouds, error: (
        tp.emd(A[0], 2 * A[1], points=x, penalty=0.7, accuracy=error)[:2],
        tp.emd(A[0], 2 * A[1], points=x, penalty=0.7),
    ),
    "emd, a mass": lambda A, x, clouds, error: (
        tp.emd(A[0], A[1], points=x, mass=0.5, accuracy=error)[:2],
        tp.emd(A[0], A[1], points=x, mass=0.5),
    ),
    "emd, potentials": lambda A, x, clouds, error: (
        tp.emd(A[0], A[1], points=x, accuracy=error, return_plan=True, return_potentials=True)[:2],
        tp.emd(A[0], A[1], points=x),
    ),
    "emd, a device": lambda A, x, clouds, error: (
        tp.emd(None, None, *clouds[:2], accuracy=error, device="tiles")[:2],
        tp.emd(None, None, *clouds[:2]),
    ),
    "solve": lambda A, x, clouds, error: (
        ((found := tp.solve(A[0], A[1], points=x, accuracy=error)).lower, found.value),
        tp.emd(A[0], A[1], points=x),
    ),
    "emd_pairs": lambda A, x, clouds, error: (
        tp.emd_pairs(A, PAIRS, points=x, accuracy=error)[:2],
        tp.emd_pairs(A, PAIRS, points=x),
    ),
    "emd_pairs, a device": lambda A, x, clouds, error: (
        tp.emd_pairs(clouds, [(0, 2), (0, 1)], accuracy=error, device="tiles")[:2],
        tp.emd_pairs(clouds, [(0, 2), (0, 1)]),
    ),
    "emd_pairwise": lambda A, x, clouds, error: (
        tp.emd_pairwise(clouds, accuracy=error)[:2],
        tp.emd_pairwise(clouds),
    ),
    "emd_pairwise, two sets": lambda A, x, clouds, error: (
        tp.emd_pairwise(A[:3], A[3:6], points=x, accuracy=error)[:2],
        tp.emd_pairwise(A[:3], A[3:6], points=x),
    ),
    "dask": lambda A, x, clouds, error: (
        [
            part.compute()
            for part in tp.dask.emd_pairwise(None, clouds, accuracy=error, chunks=2)[:2]
        ],
        tp.emd_pairwise(clouds),
    ),
    "bounds": lambda A, x, clouds, error: (
        fitted(x, A).bounds(A[:3], A[3:6], accuracy=error),
        fitted(x, A).estimate(A[:3], A[3:6], accuracy="exact"),
    ),
}

#: Doors that solve exactly whatever the accuracy is.
EXACT = {"emd, a matrix", "emd, a penalty", "emd, a mass"}


def fitted(points, masses):
    return tp.TreeWasserstein(points, method="average", normalize=False).fit(masses)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("door", DOORS)
def test_bounds_are_so_close_and_hold(door, error, masses, points, clouds):
    (lower, upper), exact = DOORS[door](masses, points, clouds, error)
    lower, upper, exact = (np.asarray(part) for part in (lower, upper, exact))
    assert (lower <= exact * (1 + 2e-9)).all() and (exact <= upper * (1 + 2e-9)).all()
    assert (upper <= (1 + error) * lower + 1e-12 * (exact == 0)).all()
    if error == ERRORS[0]:
        assert (np.max(upper - lower) > 1e-6) == (door not in EXACT), "this accuracy spares work"


@pytest.mark.parametrize("error", ERRORS)
def test_estimates_are_so_close(error, masses, points):
    model = fitted(points, masses)
    exact = model.estimate(masses[:5], masses[5:], accuracy="exact")
    close = model.estimate(masses[:5], masses[5:], accuracy=error)
    assert (abs(close - exact) <= error * exact).all()


@pytest.fixture(scope="module")
def collection(points):
    """A collection, queries, and all exact distances between them."""
    rng = np.random.default_rng(4)
    rows, queries = (rng.dirichlet(np.full(N, 0.1), size=size) for size in (60, 8))
    return rows, queries, tp.emd_pairwise(queries, rows, points=points)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("device", [None, "tiles"])
def test_neighbors_are_so_close(error, device, points, collection):
    rows, queries, judge = collection
    near = tp.WassersteinNeighbors(points, n_neighbors=5, accuracy=error, device=device).fit(rows)
    found, numbers, bounds, _ = near.kneighbors(queries, return_bounds=True)
    true = np.sort(judge, axis=1)[:, :5]
    assert (found <= (1 + error) * true * (1 + 1e-9)).all()
    # The distances of those that are found are their own.
    np.testing.assert_allclose(found, np.take_along_axis(judge, numbers, axis=1), rtol=1e-9)
    others = judge.copy()
    np.put_along_axis(others, numbers, np.inf, axis=1)
    assert (bounds <= others.min(axis=1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("error", ERRORS)
def test_neighbors_of_clouds_are_so_close(error, clouds):
    rng = np.random.default_rng(5)
    many = [rng.normal(size=(70, DIM)) + rng.normal(size=DIM) for _ in range(20)]
    true, _ = (
        tp.WassersteinNeighbors(n_neighbors=4).fit(tp.Clouds(many)).kneighbors(tp.Clouds(clouds))
    )
    near = tp.WassersteinNeighbors(n_neighbors=4, accuracy=error).fit(tp.Clouds(many))
    assert (near.kneighbors(tp.Clouds(clouds))[0] <= (1 + error) * true * (1 + 1e-9)).all()
