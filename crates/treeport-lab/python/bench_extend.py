"""How much accuracy new points cost: ``treeport-lab bench extend``.

A share of all points is left out of the fit and added by `extend`. The output is the mean relative error against exact
distances on pairs of measures over all points: of the extended tree, of the old tree with the mass of each new point on the
nearest old one, and of a tree fitted to all points.
"""

from __future__ import annotations

import argparse
import os
import pathlib

import numpy as np
import treeport as tp
from scipy import sparse
from scipy.spatial import cKDTree

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
PAIRS = 400


def documents(folder: pathlib.Path) -> tuple[np.ndarray, sparse.csr_array]:
    points = np.load(folder / "embeddings.npy").astype(np.float64)
    rows = sparse.csr_array(sparse.load_npz(folder / "docs.npz"))
    return points, rows[np.diff(rows.indptr) >= 3]


def around(points: np.ndarray, seed: int, near: int, size: int) -> sparse.csr_array:
    """Samples of points, each among those near a random one."""
    rng = np.random.default_rng(seed)
    found = cKDTree(points).query(points[rng.integers(len(points), size=600)], k=near)[1]
    at = np.array([rng.choice(some, size, replace=False) for some in found])
    parts = np.full(at.size, 1 / size), at.ravel(), np.arange(0, at.size + 1, size)
    return sparse.csr_array(parts, shape=(600, len(points)))


def cells(folder: pathlib.Path) -> tuple[np.ndarray, sparse.csr_array]:
    points = np.load(folder / "points.npy").astype(np.float64)
    return points, around(points, 1, 300, 60)


def plane(_: pathlib.Path) -> tuple[np.ndarray, sparse.csr_array]:
    points = np.random.default_rng(3).uniform(size=(2_000, 2))
    return points, around(points, 2, 200, 30)


SETS = {"plane": plane, "twitter": documents, "bbcsport": documents, "rnaseq_10x": cells}


def error(
    model: tp.TreeWasserstein, rows: sparse.csr_array, pairs: np.ndarray, exact: np.ndarray
) -> float:
    found = model.paired(rows[pairs[:, 0]], rows[pairs[:, 1]])
    return float(np.mean(np.abs(found - exact) / exact))


def judged(
    points: np.ndarray, rows: sparse.csr_array, share: float, whole: tp.TreeWasserstein
) -> tuple[float, ...]:
    rng = np.random.default_rng(0)
    order = rng.permutation(len(points))
    new = np.sort(order[: max(1, round(share * len(points)))])
    old = np.sort(order[len(new) :])
    half = rows.shape[0] // 2
    train, test = rows[:half][:, old], rows[half:]
    train = train[np.diff(train.indptr) > 0]
    tw = tp.TreeWasserstein(points=points[old], random_state=0).fit(train)
    pairs = rng.integers(test.shape[0], size=(PAIRS, 2))
    exact = tp.emd_pairs(test / 1.0, pairs, points=points)
    pairs, exact = pairs[exact > 0], exact[exact > 0]
    extended = test[:, np.concatenate([old, new])]
    nearest = cKDTree(points[old]).query(points[new])[1]
    moved = test[:, old] + test[:, new] @ sparse.csr_array(
        (np.ones(len(new)), (np.arange(len(new)), nearest)), shape=(len(new), len(old))
    )
    return (
        error(tw.extend(points[new]), extended, pairs, exact),
        error(tw, sparse.csr_array(moved), pairs, exact),
        error(whole, test, pairs, exact),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=pathlib.Path, default=os.environ.get("TREEPORT_DATA", "data")
    )
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    args = parser.parse_args()
    print(f"{'set':12} {'new':>5} {'extended':>9} {'on nearest':>11} {'fitted to all':>14}")
    for name in args.sets:
        folder = pathlib.Path(args.data) / name
        if name != "plane" and not folder.is_dir():
            print(f"{name:12} is not in {args.data}")
            continue
        points, rows = SETS[name](folder)
        whole = tp.TreeWasserstein(points=points, random_state=0).fit(rows[: rows.shape[0] // 2])
        for share in SHARES:
            extended, on_nearest, fitted = judged(points, rows, share, whole)
            print(
                f"{name:12} {share:5.0%} {extended:9.4f} {on_nearest:11.4f} {fitted:14.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
