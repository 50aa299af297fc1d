"""All pairs of persistence diagrams, and the nearest of some, against GUDHI: ``treeport-lab bench diagrams``.

Diagrams are those of loops (H1) in Rips complexes of noisy circles, figure eights and clusters; without GUDHI, random ones
of the same kind: many points near the diagonal, and a few far from it. One thread. GUDHI solves a sample of the pairs, and all
its values are compared with ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import time

import numpy as np

import treeport as tp

HAS_GUDHI = importlib.util.find_spec("gudhi") is not None and importlib.util.find_spec("ot") is not None
RUNS = 3
QUERIES = 50


def shape(rng: np.random.Generator, kind: int) -> np.ndarray:
    """A noisy circle, figure eight, or five clusters in the plane."""
    count = int(rng.integers(60, 200))
    angle = rng.uniform(0, 2 * np.pi, count)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    side = np.stack([rng.choice([-1.0, 1.0], count), np.zeros(count)], axis=1)
    centers = 2 * rng.normal(size=(5, 2))[rng.integers(5, size=count)]
    points = (circle, circle + side, centers + 0.3 * rng.normal(size=(count, 2)))[kind]
    return points + rng.uniform(0.05, 0.25) * rng.normal(size=points.shape)


def by_rips(rng: np.random.Generator, kind: int) -> np.ndarray:
    """The loops of a shape; those that are still open at the end are left out."""
    import gudhi

    complex_ = gudhi.RipsComplex(points=shape(rng, kind), max_edge_length=3.0)
    simplices = complex_.create_simplex_tree(max_dimension=2)
    simplices.compute_persistence()
    loops = simplices.persistence_intervals_in_dimension(1)
    return loops[np.isfinite(loops).all(axis=1)]


def at_random(rng: np.random.Generator, kind: int) -> np.ndarray:
    count = int(rng.integers(2, 46))
    birth = rng.uniform(0.1, 0.6, count)
    life = rng.exponential(0.06, count)
    life[: kind + 1] += rng.uniform(0.5, 1.2, min(count, kind + 1))
    return np.stack([birth, birth + life], axis=1)


def gudhi_seconds(diagrams: list[np.ndarray], pairs: np.ndarray, table: np.ndarray) -> float:
    """The time that GUDHI takes for a pair; its values have to be ours."""
    from gudhi.wasserstein import wasserstein_distance

    begun = time.perf_counter()
    found = [wasserstein_distance(diagrams[i], diagrams[j], order=1, internal_p=2) for i, j in pairs]
    took = time.perf_counter() - begun
    np.testing.assert_allclose(table[pairs[:, 0], pairs[:, 1]], found, rtol=1e-7, atol=1e-9)
    return took / len(pairs)


def nearest(diagrams: list[np.ndarray], table: np.ndarray) -> tuple[float, float]:
    """The times of building an index of all but 50 diagrams, and of one of those 50 queries for 10 neighbors."""
    begun = time.perf_counter()
    index = tp.WassersteinNeighbors(n_neighbors=10, n_jobs=1).fit(tp.diagrams(diagrams[QUERIES:]))
    built = time.perf_counter() - begun
    begun = time.perf_counter()
    found, _ = index.kneighbors(tp.diagrams(diagrams[:QUERIES]))
    asked = (time.perf_counter() - begun) / QUERIES
    expected = np.sort(table[:QUERIES, QUERIES:], axis=1)[:, :10]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    return built, asked


def main() -> None:
    parser = argparse.ArgumentParser(prog="treeport-lab bench diagrams --", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="diagrams (default: 500)")
    parser.add_argument("--sample", type=int, default=2_000, help="pairs that GUDHI solves (default: 2000)")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    make = by_rips if HAS_GUDHI else at_random
    diagrams = [make(rng, at % 3) for at in range(given.count)]
    sizes = [len(one) for one in diagrams]
    print(f"{given.count} diagrams {'of Rips complexes' if HAS_GUDHI else 'at random'}: {min(sizes)} to {max(sizes)} points, {np.mean(sizes):.1f} on average")
    took = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        table = tp.emd_pairwise(tp.diagrams(diagrams), n_jobs=1)
        took.append(time.perf_counter() - begun)
    pairs = given.count * (given.count - 1) // 2
    ours = np.median(took) / pairs
    print(f"treeport: {np.median(took):.2f} s for {pairs} pairs, {1e6 * ours:.1f} µs each (median of {RUNS})")
    built, asked = nearest(diagrams, table)
    brute = ours * (given.count - QUERIES)
    print(f"treeport: 10 nearest of {given.count - QUERIES} in {1e3 * asked:.2f} ms, every pair solved in {1e3 * brute:.2f} ms; index built in {built:.2f} s")
    if HAS_GUDHI:
        theirs = gudhi_seconds(diagrams, rng.integers(given.count, size=(given.sample, 2)), table)
        print(f"gudhi: {1e6 * theirs:.1f} µs each, {theirs / ours:.1f} times as long; 10 nearest {theirs * (given.count - QUERIES) / asked:.0f} times")
    else:
        print("gudhi: not installed, or POT is not (`pip install gudhi POT`)")


if __name__ == "__main__":
    main()
