"""Results of transport problems: `Solution` of one, and `Bounds` of one or many."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _core, _html
from ._plan_by import PlanBy, labels_of_points
from ._results import moves as moves_table
from ._results import moves_matrix
from ._statistics.permutations import numbered
from ._types import ArrayLike, Axes, Floats, PlanTable
from ._types import GroupLabels as PointLabels

Plan = Union[bool, Literal["table"]]
Potentials = tuple[Floats, Floats]
Names = tuple[Optional[list[Any]], Optional[list[Any]]]


class Moves(NamedTuple):
    """A plan: `mass[k]` goes from point `source[k]` to point `target[k]`."""

    source: npt.NDArray[Any]
    target: npt.NDArray[Any]
    mass: Floats
    shape: tuple[int, int]
    names: Names

    def matrix(self) -> sparse.csr_array:
        """Returns the plan as a sparse array."""
        return moves_matrix((self.source, self.target, self.mass), self.shape)

    def table(self) -> Any:
        """Returns the plan as a table of source, target and mass."""
        return moves_table(self.matrix(), *self.names)

    def shown(self, kind: Plan) -> Any:
        """Returns the plan in the form that `return_plan` selects."""
        return self.table() if kind == "table" else self.matrix()


class Solution:
    """The result of one transport problem, as returned by `solve`.

    Attributes
    ----------
    value : float
        The cost of `plan`, penalties included: the optimum, proved to a relative 1e-9. With
        `accuracy` or `time` it may be above the optimum, by `gap` at most, and above the cost of
        `plan` on graphs and by the engine "sweeps", which rounds up.
    lower, upper : float
        Certified bounds of the optimum; `upper` is `value`.
    engine : str
        The solver that found the bounds.
    route : str
        The solvers for a problem of these sizes, in the order in which they run, and the reason.
    seconds : float
        Time of the solver.
    penalty : float or None
        With `mass`, the penalty of a unit that stays behind at which just that mass moves, so that
        moving a little more costs twice as much a unit. `potentials` are those of that problem.
    moves : Moves
        The plan as arrays: `mass[k]` goes from point `source[k]` to point `target[k]`.

    Examples
    --------
    >>> import treeport as tp
    >>> solution = tp.solve([1.0, 1.0], [0.5, 1.5], [[0.0, 2.0], [2.0, 0.0]])
    >>> solution.value, solution.engine
    (1.0, 'small')
    >>> solution.plan.toarray()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    def __init__(
        self,
        found: _core.Answer,
        seconds: float,
        moves: Moves,
        potentials: Optional[Potentials],
        rates: Optional[Potentials],
        costs: Callable[[Moves], Floats],
    ) -> None:
        """Stores bounds and dual values; plan and potentials are indexed by all points.

        `costs` returns the cost of a unit of mass for each move."""
        self.value, self.lower, self.upper = found.upper, found.lower, found.upper
        self.engine, self.route, self.seconds = found.engine, found.route, seconds
        self.penalty = found.penalty
        self.moves, self._potentials, self._rates = moves, potentials, rates
        self._grid: Any = None
        self._costs = costs

    @property
    def gap(self) -> float:
        """``upper - lower``: no other plan is cheaper than `plan` by more than this."""
        return self.upper - self.lower

    @cached_property
    def _move_costs(self) -> Floats:
        """The cost of a unit of mass for each move."""
        return self._costs(self.moves)

    def __getstate__(self) -> dict[str, Any]:
        _ = self._move_costs  # the costs of all points stay behind
        return {name: value for name, value in vars(self).items() if name != "_costs"}

    @cached_property
    def plan(self) -> sparse.csr_array:
        """The mass that goes from each point of `a` to each point of `b`, as a sparse array.

        Mass of `a` and `b` that is not in the plan is not moved."""
        return self.moves.matrix()

    @cached_property
    def plan_table(self) -> PlanTable:
        """The plan as a DataFrame of source, target and mass, the largest mass first.

        Points are numbers, or names if they have any. Without pandas it is a list of tuples."""
        return self.moves.table()

    def plan_by(self, labels_a: PointLabels, labels_b: Optional[PointLabels] = None) -> PlanBy:
        """Sums the plan by groups of points, such as cell types, topics or classes.

        Parameters
        ----------
        labels_a : sequence of length n_points_a, Series or dict
            The group of each point of `a`; a Series or a dict is matched by the names of points.
        labels_b : optional
            The same for the points of `b`; by default `labels_a`, if both have the same points.

        Returns
        -------
        by : PlanBy
            Its `table` has mass, cost and mean distance for each pair of groups; `mass` and `cost`
            are tables of groups by groups, and a notebook shows a heat map of the costs.

        Examples
        --------
        >>> import treeport as tp
        >>> before, after = [[0.0], [0.1], [9.0]], [[0.0], [9.5], [9.7]]
        >>> solution = tp.solve(None, None, before, after)
        >>> print(solution.plan_by(["T", "T", "B"], ["T", "B", "B"]).mass.round(2))
              T     B
        T  0.33  0.33
        B  0.00  0.33
        """
        shape = self.moves.shape
        if labels_b is None:
            if shape[0] != shape[1]:
                raise ValueError(
                    f"a has {shape[0]} points and b {shape[1]}; give labels_b, the groups of the points of b"
                )
            labels_b = labels_a
        sides = zip((labels_a, labels_b), self.moves.names, shape, ("labels_a", "labels_b"))
        groups = [numbered(labels_of_points(*side), side[3]) for side in sides]
        # Groups of one set of points have one order.
        if labels_b is labels_a:
            groups[1] = groups[0]
        (left, source), (right, target) = groups
        each = self._move_costs * self.moves.mass
        at = source[self.moves.source] * len(right) + target[self.moves.target]
        cells = len(left) * len(right)
        mass, cost = (
            np.bincount(at, weights, cells).reshape(len(left), len(right)).astype(np.float64)
            for weights in (self.moves.mass, each)
        )
        return PlanBy(mass, cost, left, right)

    @property
    def potentials(self) -> Potentials:
        """Dual values ``(u, v)`` of all points; with ``solve(…, potentials=True)``.

        They prove `lower`: ``u[i] + v[j]`` is at most the cost from i to j, for all points, with or
        without mass, and no value is above the penalty of its point. ``a @ u + b @ v`` is `lower`
        up to rounding: 1e-12 of all mass times the largest potential. With ``mass=m`` no value is
        above `penalty`, and ``a @ (u - penalty) + b @ (v - penalty) + 2 * m * penalty`` is `lower`.
        On metrics `v` is ``-u``, unless each point has its own penalty. On directed graphs this holds between points with mass, and potentials elsewhere are 0."""
        if self._potentials is None:
            raise ValueError(
                "there are no potentials: they take a pass over all pairs of points, so ask for "
                "them, `solve(…, potentials=True)`"
            )
        return self._potentials

    @property
    def rates(self) -> Potentials:
        """Rates ``(u, v)`` of the value in the masses of all points; with ``solve(…, rates=True)``.

        Moving a little mass of `b` from point j to point k changes the value by ``v[k] - v[j]`` a
        unit, and likewise for `a`. With `penalty` or `mass` totals are free, and a little more mass
        of `b` at point j alone changes it by ``v[j]`` a unit. At points with mass they are potentials; at the others they are
        one-sided, the cost of the mass that arrives, and ``u[i] + v[j]`` may exceed a cost;
        infinite where no finite cost leads. If the optimal potentials are not unique, as with equal
        masses, the change is at least that difference."""
        if self._rates is None:
            raise ValueError("there are no rates; ask for them, `solve(…, rates=True)`")
        return self._rates

    @cached_property
    def displacement(self) -> Floats:
        """The mean way of the mass of each pixel, along each axis; with ``solve(…, grid=…)``.

        Its shape is that of the image and the number of axes; NaN where no mass is moved from."""
        field: Floats = self._image().displacement(self.moves)
        return field

    def plot_displacement(
        self,
        ax: Optional[Axes] = None,
        *,
        image: Optional[ArrayLike] = None,
        step: Optional[int] = None,
    ) -> Axes:
        """Draws `displacement` of every `step`-th pixel as arrows, over an `image` if given.

        It needs matplotlib, and returns the axes."""
        from ._images import plot_displacement

        return plot_displacement(self._image(), self.moves, ax, image=image, step=step)

    def _image(self) -> Any:
        if self._grid is None:
            raise ValueError("only images have displacements: ``solve(…, grid=…)``")
        return self._grid

    def __repr__(self) -> str:
        return (
            f"Solution(value={self.value!r}, gap={self.gap:.3g}, moves={len(self.moves.mass)}, "
            f"engine={self.engine!r}, seconds={self.seconds:.3g})"
        )

    def _repr_html_(self) -> str:
        return _html.of_solution(self, len(self.moves.mass))


class _Interval(NamedTuple):
    lower: Any
    upper: Any
    plan: Any = None


class Bounds(_Interval):
    """Certified bounds of a transport cost: it lies between `lower` and `upper`.

    A tuple of `lower`, `upper` and, if requested, the `plan` behind the upper bound."""

    _potentials: Optional[Potentials] = None

    @classmethod
    def of(cls, solution: Solution, plan: Any, potentials: Optional[Potentials]) -> Bounds:
        """Builds bounds from a solution, with the plan and potentials if requested."""
        bounds = cls(solution.lower, solution.upper, plan)
        bounds._potentials = potentials
        return bounds

    @property
    def potentials(self) -> Optional[Potentials]:
        """The dual values ``(u, v)`` behind the lower bound, if requested."""
        return self._potentials


def plan_kind(return_plan: Plan) -> Plan:
    """Returns a value of `return_plan`, or raises an error if it is invalid."""
    if isinstance(return_plan, str) and return_plan != "table":
        raise ValueError(f'return_plan is {return_plan!r}; it must be True, False or "table"')
    return return_plan
