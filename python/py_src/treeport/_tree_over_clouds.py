"""Trees over clouds.

The leaves are the points of all clouds, and clouds with new points extend the tree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from ._clouds import Clouds, refuse_essential
from ._inputs import Measures, seed_of
from ._space import answer
from ._types import Floats, Integers

_FITTED = 64  # clouds of the fit whose exact distances to new clouds are computed
_MINKOWSKI = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}  # metrics that support a net


class Net(NamedTuple):
    """Assignment of the points of clouds to leaves, and its transport cost."""

    leaves: Floats  # coordinates of the leaves
    points: Floats  # distinct points of the clouds of the fit
    leaf: Integers  # the leaf of each of these
    slack: float  # mean over clouds of mass times distance to the leaf


def net_of(estimator: Any, clouds: Clouds) -> Net:
    """Returns the distinct points of the clouds as leaves.

    If there are more than `max_points`, it draws that many and assigns each point to the nearest."""
    refuse_essential(clouds)
    points = np.unique(clouds.points + 0.0, axis=0)  # turns -0.0 into 0.0
    most = estimator.max_points
    if most is not None and most < 1:
        raise ValueError(f"max_points is {most}; at least one is needed")
    if most is None or len(points) <= most:
        return Net(points, points, np.arange(len(points)), 0.0)
    order = _MINKOWSKI.get(estimator.metric)
    if order is None or estimator.period is not None:
        known = ", ".join(f'"{name}"' for name in _MINKOWSKI)
        raise ValueError(
            f"max_points makes a net for the metrics {known} without a period; leave it out, or give fewer points"
        )
    rng = np.random.default_rng(seed_of(estimator.random_state))
    leaves = points[np.sort(rng.choice(len(points), most, replace=False))]
    ways, leaf = cKDTree(leaves).query(points, p=order)
    places = _places(points, clouds.points + 0.0)
    return Net(leaves, points, leaf, float(clouds.masses @ ways[places]) / len(clouds))


def _places(points: Floats, wanted: Floats) -> Integers:
    """Returns the index of each wanted point among distinct points, or -1."""
    known = {row.tobytes(): at for at, row in enumerate(np.ascontiguousarray(points))}
    return np.array(
        [known.get(row.tobytes(), -1) for row in np.ascontiguousarray(wanted)], dtype=np.int64
    )


def _rows(clouds: Clouds, at: Integers, width: int) -> sparse.csr_array:
    """Returns the masses of clouds at the leaves, summed over the points of each leaf."""
    rows = sparse.csr_array((clouds.masses, at, clouds.offsets), shape=(len(clouds), width))
    rows.sum_duplicates()
    return rows


def rows_of_fit(estimator: Any, clouds: Clouds) -> Measures:
    """Returns the clouds of a fit as measures on the leaves; stores some for later extensions."""
    for name in ("points", "cost", "graph"):
        if getattr(estimator, name) is not None:
            raise ValueError(
                f"Clouds bring their own points; leave out `{name}`, or give measures on its points"
            )
    net = net_of(estimator, clouds)
    estimator.points_, estimator.slack_ = net.leaves, net.slack
    estimator._net = net
    rows = _rows(clouds, net.leaf[_places(net.points, clouds.points + 0.0)], len(net.leaves))
    estimator._fitted_rows = rows[:_FITTED]
    return Measures(rows, ids=clouds.ids)


def takes_clouds(method: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a method of `TreeWasserstein` accept `Clouds`; new points first extend the tree."""

    @functools.wraps(method)
    def answered(self: Any, *given: Any, **named: Any) -> Any:
        if hasattr(self, "space_"):
            return answer(self, method.__name__, given, named)
        clouds = [one for one in (*given, *named.values()) if isinstance(one, Clouds)]
        if not clouds:
            return method(self, *given, **named)
        larger, rows = placed(self, clouds)
        at = iter(rows)
        given = tuple(next(at) if isinstance(one, Clouds) else one for one in given)
        named = {name: next(at) if isinstance(one, Clouds) else one for name, one in named.items()}
        return method(larger, *given, **named)

    return answered


def placed(estimator: Any, clouds: list[Clouds]) -> tuple[Any, list[Measures]]:
    """Returns an estimator that has all points of the clouds, and the clouds as measures."""
    leaves = estimator._coordinates()
    if leaves is None:
        raise ValueError(
            "Clouds need a tree over points with coordinates: one that was fitted to Clouds, or with `points`"
        )
    net: Optional[Net] = getattr(estimator, "_net", None)
    points = leaves if net is None else net.points
    whole = Clouds.concat([Clouds._of(one._raw, None) for one in clouds])
    refuse_essential(whole)
    if whole.dim != points.shape[1]:
        raise ValueError(
            f"the points of the clouds have {whole.dim} coordinates, those of the tree {points.shape[1]}"
        )
    wanted = whole.points + 0.0
    at = _places(points + 0.0, wanted)
    at = at if net is None else np.where(at < 0, -1, net.leaf[at])
    new = np.unique(wanted[at < 0], axis=0)
    at[at < 0] = len(leaves) + _places(new, wanted[at < 0])
    rows = _rows(whole, at, len(leaves) + len(new))
    larger = estimator if len(new) == 0 else _extended(estimator, new, rows)
    ends = np.cumsum([len(one) for one in clouds])
    parts = [rows[last - len(one) : last] for one, last in zip(clouds, ends)]
    return larger, [Measures(part, ids=one.ids) for part, one in zip(parts, clouds)]


def _extended(estimator: Any, new: Floats, rows: sparse.csr_array) -> Any:
    """Extends the estimator by new points, with edges fitted to `rows` and to clouds of the fit."""
    rows = _in_order(rows)
    key = (new.tobytes(), rows.indptr.tobytes(), rows.indices.tobytes(), rows.data.tobytes())
    kept = getattr(estimator, "_extension", None)
    if kept is not None and kept[0] == key:
        return kept[1]
    fitted = getattr(estimator, "_fitted_rows", None)
    measures = rows
    if fitted is not None:
        before = sparse.csr_array(
            (fitted.data, fitted.indices, fitted.indptr), shape=(fitted.shape[0], rows.shape[1])
        )
        measures = sparse.vstack([before, rows], format="csr")
    larger = estimator.extend(new, measures=measures)
    estimator._extension = (key, larger)  # later calls often have the same clouds
    return larger


def _in_order(rows: sparse.csr_array) -> sparse.csr_array:
    """Returns the distinct rows in a canonical order, which makes distances symmetric."""

    def contents(at: int) -> tuple[bytes, bytes]:
        part = slice(rows.indptr[at], rows.indptr[at + 1])
        return rows.indices[part].tobytes(), rows.data[part].tobytes()

    return rows[
        list({contents(at): at for at in sorted(range(rows.shape[0]), key=contents)}.values())
    ]
