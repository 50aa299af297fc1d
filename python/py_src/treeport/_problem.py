"""One transport problem: parsing of measures and costs, and their common order of points."""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._card import check_for_device, engine_of
from ._devices import memory_errors
from ._ground import (
    coordinates,
    costs,
    directed,
    directed_costs,
    geometry,
    names_of_ground,
    nodes_by_name,
    one_of,
    places_of_ground,
)
from ._inputs import Floats, Integers, Places, labels_of, row, support, texts, unmapped, width
from ._penalties import Penalty, penalty_of
from ._progress import bar
from ._solution import Moves, Names, Potentials, Solution


# An empty context manager.
_NOTHING = nullcontext()


def _uniform(count: int) -> Floats:
    """Returns equal masses with a total of 1."""
    return np.full(count, 1 / max(count, 1))


def no_masses(side: int) -> ValueError:
    """Returns the error for an empty list, which other packages interpret as equal masses."""
    return ValueError(f"{'ab'[side]} has no masses; give one for each point, or `None` for the same mass at every point")


class Problem:
    """Two measures and the costs between them, in the types of the compiled half."""

    def __init__(
        self,
        a: Any,
        b: Any,
        points: Any,
        points_b: Any,
        cost: Any,
        graph: Any,
        metric: str,
        weight: Optional[str],
        period: Any,
    ) -> None:
        self._of = points, points_b, cost, graph
        self._metric, self._period = metric, period
        self.names: Names = (names_of_ground(*self._ground(0), 0), names_of_ground(*self._ground(1), 1))
        self._check_labels(a, b)
        self.a, self.b = self._row(a, 0), self._row(b, 1)
        self._shape = width(self.a), width(self.b)
        self._places: Optional[tuple[Integers, Integers]] = None
        self.costs: Any
        if points_b is not None:
            self.costs = (*self._two_sets(points, points_b, cost, graph), geometry(metric, period))
        elif points is None and cost is None and period is None and (adjacency := directed(graph, weight)) is not None:
            self._along(adjacency)
        else:
            self.costs = costs(points, cost, graph, metric, weight, period)

    def _row(self, measure: Any, side: int) -> Any:
        """Parses a measure in the order of the points of its side; `None` is uniform."""
        if measure is None:
            return _uniform(self._side(side).size)
        found = row(unmapped(measure, lambda: self._side(side)), self.names[side])
        if width(found) == 0:
            raise no_masses(side)
        return found

    def penalty(self, penalty: Any) -> Penalty:
        """Returns penalties in the order of the masses."""
        has_matrix = isinstance(self.costs, np.ndarray) and self.costs.ndim == 2 and self._places is None
        found = penalty_of(penalty, has_matrix or self._of[1] is not None)
        if self._places is None or found is None or isinstance(found, (int, float)):
            return found
        both = found if isinstance(found, tuple) else (found, found)
        for prices, size in zip(both, self._shape):
            if len(prices) != size:
                raise ValueError(f"there are {len(prices)} penalties and {size} nodes; give one for each")
        return both[0][self._places[0]], both[1][self._places[1]]

    def _check_labels(self, a: Any, b: Any) -> None:
        """Raises an error if the measures have different labels and the points have no names."""
        left, right = labels_of(a), labels_of(b)
        points, points_b, cost, _ = self._of
        # Default labels are numbers in some libraries and text in others.
        if left is None or right is None or texts(left) == texts(right) or points_b is not None:
            return
        if self.names[0] is not None or self.names[1] is not None:
            return
        # Rows and columns of a cost matrix may be different points, whose labels may differ.
        if cost is not None and (len(left) != len(right) or set(left).isdisjoint(right)):
            return
        raise ValueError(
            f"a is about {_some(left)}, and b about {_some(right)}, and the points have no names; bring both into one "
            "order (`b.reindex(a.index)`), or give names to the points: an index to `points`, index and columns to `cost`"
        )

    def _ground(self, side: int) -> tuple[Any, Any, Any]:
        """Returns points, cost and graph of one side."""
        points, points_b, cost, graph = self._of
        if points_b is not None:
            points, cost = points_b if side == 1 else cost if points is None else points, None
        return points, cost, graph

    def _side(self, side: int) -> Places:
        """Returns the points of `a` or of `b`."""
        one_of(*self._ground(side))
        return places_of_ground(*self._ground(side), side)

    def _two_sets(self, points: Any, points_b: Any, cost: Any, graph: Any) -> tuple[Floats, Floats]:
        """Returns the coordinates of both sides, given by name or as third and fourth arguments."""
        if not hasattr(points_b, "obsm") and np.ndim(points_b) == 0:
            raise ValueError(
                f"points_b is {points_b!r}; the fourth argument is the coordinates of the points of b, and "
                "everything after it is given by name"
            )
        given = 3 - (points is None) - (cost is None) - (graph is None)
        if given != 1 or graph is not None:
            raise ValueError(
                "points_b are the coordinates of the points of b, so give those of a as points (or both in "
                "the place of the cost matrix), and neither cost nor graph"
            )
        sets = coordinates(cost if points is None else points), coordinates(points_b)
        for name, size, of, where in zip("ab", self._shape, sets, ("points", "points_b")):
            if size != len(of):
                raise ValueError(f"{name} has {size} masses, and {where} has {len(of)} rows")
        if sets[0].shape[1] != sets[1].shape[1]:
            raise ValueError(
                f"points has {sets[0].shape[1]} coordinates a point, points_b {sets[1].shape[1]}; "
                "they have to live in one space"
            )
        return sets

    def _along(self, adjacency: Any) -> None:
        """Computes costs along a directed graph, only from the support of `a` to that of `b`."""
        nodes = adjacency.shape[0]
        if self._shape != (nodes, nodes):
            raise ValueError(
                f"the measures live on {self._shape[0]} and {self._shape[1]} points, the graph on {nodes}"
            )
        (left, self.a), (right, self.b) = _support(self.a), _support(self.b)
        self.costs = directed_costs(adjacency, left, right, self.names[0])
        self._places = left, right

    def solve(
        self,
        wanted: str,
        *,
        mass: Optional[float] = None,
        penalty: Any = None,
        accuracy: Union[str, float, None] = None,
        time: Optional[float] = None,
        device: Optional[str] = None,
        verbose: bool = False,
    ) -> Solution:
        """Solves the problem for its value, plan, potentials or rates."""
        if mass is not None and penalty is not None:
            raise ValueError("give mass or penalty, not both")
        engine = None
        if device is not None:
            check_for_device(not isinstance(self.costs, tuple), self._metric, mass, penalty, self._period)
            engine = engine_of(device)
        if wanted == "rates" and self._places is not None:
            raise ValueError(
                "rates of a directed graph are unknown at points without mass; give the lengths of all shortest paths as `cost`"
            )
        penalty = self.penalty(penalty)
        fits = _NOTHING if device is None else memory_errors("points", device, "points")
        named = _NOTHING if self._of[3] is None else nodes_by_name(self._of[3])
        with bar("exact distance", verbose) as report, named, fits:
            begun = perf_counter()
            found = _core.solve(
                self.a,
                self.b,
                self.costs,
                wanted=wanted,
                accuracy=accuracy,
                seconds=time,
                mass=mass,
                penalty=penalty,
                device=engine,
                report=report,
            )
            seconds = perf_counter() - begun
        duals = self._spread(found.potentials), self._spread(found.rates)
        return Solution(found, seconds, self.moves(found.moves), *duals)

    def moves(self, entries: tuple[Any, Any, Floats]) -> Moves:
        """Converts a plan to the numbers of all points."""
        source, target, mass = entries
        if self._places is not None:
            source, target = self._places[0][source], self._places[1][target]
        return Moves(source, target, mass, self._shape, self.names)

    def _spread(self, duals: Optional[Potentials]) -> Optional[Potentials]:
        """Returns dual values of all points on both sides; 0 at points outside reduced supports."""
        if duals is None or self._places is None:
            return duals
        left, right = (_spread(*side) for side in zip(duals, self._places, self._shape))
        return left, right


def _support(measure: Any) -> tuple[Integers, Floats]:
    """Returns the support and its masses; a measure without mass keeps one point."""
    places, masses = support(measure)
    return (places, masses) if len(places) else (np.zeros(1, dtype=np.int64), np.zeros(1))


def _some(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels[:3])) + (", …" if len(labels) > 3 else "")


def _spread(values: Floats, places: Integers, size: int) -> Floats:
    """Scatters values to positions of an array of zeros."""
    whole = np.zeros(size)
    whole[places] = values
    return whole
