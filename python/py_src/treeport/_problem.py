"""One transport problem: parsing of measures and costs, and their common order of points."""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import Any, Optional, Union

import numpy as np
from scipy import sparse

from . import _core
from ._devices import check_for_device, engine_on, memory_errors
from ._devices.scans import ScanEngine
from ._ground import (
    GroundInput,
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
from ._inputs import Places, labels_of, measures_of, row, support, texts, unmapped, width
from ._penalties import Penalty, penalty_of
from ._progress import bar
from ._solution import Moves, Names, Potentials, Solution
from ._types import Floats, Integers

# An empty context manager.
_NOTHING = nullcontext()


def _uniform(count: int) -> Floats:
    """Returns equal masses with a total of 1."""
    return np.full(count, 1 / max(count, 1))


def no_masses(side: int) -> ValueError:
    """Returns the error for an empty list, which other packages interpret as equal masses."""
    return ValueError(
        f"{'ab'[side]} has no masses; give one for each point, or `None` for the same mass at every point"
    )


class Problem:
    """Two measures and the costs between them, in the types of the compiled half."""

    def __init__(self, a: Any, b: Any, given: GroundInput, points_b: Any) -> None:
        self._given, self._points_b = given, points_b
        self.names: Names = (
            names_of_ground(*self._ground(0), 0),
            names_of_ground(*self._ground(1), 1),
        )
        self._check_labels(a, b)
        self.a, self.b = self._row(a, 0), self._row(b, 1)
        self.shape = width(self.a), width(self.b)
        self._places: Optional[tuple[Integers, Integers]] = None
        self.costs: Any
        plain = given.points is given.cost is given.period is None
        if points_b is not None:
            self.costs = (*self._two_sets(), geometry(given.metric, given.period))
        elif plain and (adjacency := directed(given.graph, given.weight)) is not None:
            self._along(adjacency)
        else:
            self.costs = costs(*given)

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
        has_matrix = (
            isinstance(self.costs, np.ndarray) and self.costs.ndim == 2 and self._places is None
        )
        found = penalty_of(penalty, has_matrix or self._points_b is not None)
        if self._places is None or found is None or isinstance(found, (int, float)):
            return found
        both = found if isinstance(found, tuple) else (found, found)
        for prices, size in zip(both, self.shape):
            if len(prices) != size:
                raise ValueError(
                    f"there are {len(prices)} penalties and {size} nodes; give one for each"
                )
        return both[0][self._places[0]], both[1][self._places[1]]

    def _check_labels(self, a: Any, b: Any) -> None:
        """Raises an error if the measures have different labels and the points have no names."""
        left, right = labels_of(a), labels_of(b)
        points_b, cost = self._points_b, self._given.cost
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
        points, cost, graph = self._given.sources
        points_b = self._points_b
        if points_b is not None:
            points, cost = points_b if side == 1 else cost if points is None else points, None
        return points, cost, graph

    def _side(self, side: int) -> Places:
        """Returns the points of `a` or of `b`."""
        one_of(*self._ground(side))
        return places_of_ground(*self._ground(side), side)

    def _two_sets(self) -> tuple[Floats, Floats]:
        """Returns the coordinates of both sides, given by name or as third and fourth arguments."""
        (points, cost, graph), points_b = self._given.sources, self._points_b
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
        for name, size, of, where in zip("ab", self.shape, sets, ("points", "points_b")):
            if size != len(of):
                raise ValueError(f"{name} has {size} masses, and {where} has {len(of)} rows")
        if sets[0].shape[1] != sets[1].shape[1]:
            raise ValueError(
                f"points has {sets[0].shape[1]} coordinates a point, points_b {sets[1].shape[1]}; "
                "the numbers have to be equal"
            )
        return sets

    def _along(self, adjacency: Any) -> None:
        """Computes costs along a directed graph, only from the support of `a` to that of `b`."""
        nodes = adjacency.shape[0]
        if self.shape != (nodes, nodes):
            raise ValueError(
                f"the measures live on {self.shape[0]} and {self.shape[1]} points, the graph on {nodes}"
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
        order: float = 1.0,
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
            given, has_costs = self._given, not isinstance(self.costs, tuple)
            check_for_device(has_costs, given.metric, mass, penalty, given.period)
            if order != 1:
                raise ValueError(
                    f"order is {order}; `device` computes order 1 alone, so leave it out"
                )
            engine = engine_on(device, ScanEngine)
        if wanted == "rates" and self._places is not None:
            raise ValueError(
                "rates of a directed graph are unknown at points without mass; give the lengths of all shortest paths as `cost`"
            )
        penalty = self.penalty(penalty)
        fits = _NOTHING if device is None else memory_errors("points", device, "points")
        graph = self._given.graph
        named = _NOTHING if graph is None else nodes_by_name(graph)
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
                order=order,
                device=engine,
                report=report,
            )
            seconds = perf_counter() - begun
        duals = self.spread(found.potentials), self.spread(found.rates)
        return Solution(found, seconds, self.moves(found.moves), *duals, self._move_costs)

    def masses(self, side: int) -> Floats:
        """Returns the masses of all points of one side."""
        places, masses = support((self.a, self.b)[side])
        if self._places is not None:
            places = self._places[side][places]
        return _spread(masses, places, self.shape[side])

    def plan_of(self, plan: Any) -> Any:
        """Converts a plan from the numbers of all points."""
        if plan is None or self._places is None:
            return plan
        if not isinstance(plan, tuple):
            if plan.shape != self.shape:
                raise ValueError(f"the plan has shape {plan.shape}, expected {self.shape}")
            source, target = np.nonzero(plan)
            plan = source, target, plan[source, target].astype(np.float64)
        numbers = [np.full(size, -1) for size in self.shape]
        for side, places in enumerate(self._places):
            numbers[side][places] = np.arange(len(places))
        source, target = (of[ends] for of, ends in zip(numbers, plan))
        known = (source >= 0) & (target >= 0)
        return source[known].astype(np.uint32), target[known].astype(np.uint32), plan[2][known]

    def potentials_of(
        self, left: Optional[Floats], right: Optional[Floats]
    ) -> tuple[Optional[Floats], Optional[Floats]]:
        """Converts potentials from the numbers of all points."""
        if self._places is None:
            return left, right
        for side, size in zip((left, right), self.shape):
            if side is not None and len(side) != size:
                raise ValueError(
                    f"there are {len(side)} potentials and {size} nodes; give one for each"
                )
        both = zip((left, right), self._places)
        left, right = (None if side is None else side[places] for side, places in both)
        return left, right

    def moves(self, entries: tuple[Any, Any, Floats]) -> Moves:
        """Converts a plan to the numbers of all points."""
        source, target, mass = entries
        if self._places is not None:
            source, target = self._places[0][source], self._places[1][target]
        return Moves(source, target, mass, self.shape, self.names)

    def _move_costs(self, moves: Moves) -> Floats:
        """Returns the cost of a unit of mass for each move."""
        if self._places is not None:
            number = [np.empty(size, dtype=np.int64) for size in self.shape]
            for side, places in zip(number, self._places):
                side[places] = np.arange(len(places))
            return self.costs[number[0][moves.source], number[1][moves.target]]  # type: ignore[no-any-return]
        if isinstance(self.costs, np.ndarray) and self.costs.ndim == 2:
            chosen: Floats = self.costs[moves.source, moves.target].astype(np.float64)
            return chosen
        source, target, ground = moves.source, moves.target, self.costs
        count = self.shape[0]
        if self._points_b is not None:
            left, right, metric = self.costs
            ground = _core.Ground.from_points(np.concatenate([left, right]), metric)
            target, count = target + len(left), sum(self.shape)
        elif isinstance(ground, tuple):
            ground = _core.Ground.from_points(*ground)
        elif isinstance(ground, np.ndarray):
            ground = _core.Ground.from_condensed(ground)
        # The distance of two points is that of units of mass there.
        units = measures_of(sparse.eye_array(count, format="csr"))
        pairs = np.stack([source, target], axis=1).astype(np.int64)
        return _core.emd_pairs(ground, units, pairs, 0)[1]

    def spread(self, duals: Optional[Potentials]) -> Optional[Potentials]:
        """Returns dual values of all points on both sides; 0 at points outside reduced supports."""
        if duals is None or self._places is None:
            return duals
        left, right = (_spread(*side) for side in zip(duals, self._places, self.shape))
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
