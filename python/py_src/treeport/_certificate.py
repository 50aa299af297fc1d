"""Certificates: proved bounds from the plans and potentials of any solver."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from scipy import sparse

from . import _core
from ._ground import GroundInput, with_metrics
from ._inputs import array_of
from ._options import with_solve_options
from ._problem import Problem
from ._progress import bar
from ._solution import Moves, Potentials
from ._types import Accuracy, ArrayLike, Floats, GraphLike, Masses, PenaltyLike, Period, PlanLike


class Certificate:
    """Proved bounds of a transport cost, as returned by `certify`.

    Attributes
    ----------
    lower, upper : float
        Certified bounds of the optimum. `upper` is the cost of `plan`, penalties included.
    rerouted : float
        The mass that `plan` moves and the plan of the call did not: how far its marginals were off.
    moves : Moves
        The rounded plan as arrays: `mass[k]` goes from point `source[k]` to point `target[k]`.
    potentials : tuple of two ndarrays
        The feasible dual values ``(u, v)`` of all points that prove `lower`.
    """

    def __init__(self, found: _core.Answer, moves: Moves, potentials: Optional[Potentials]) -> None:
        """Stores the bounds, and the plan and the potentials that prove them."""
        self.lower, self.upper, self.rerouted = found.lower, found.upper, found.rerouted
        self.moves, self.potentials = moves, potentials

    @property
    def gap(self) -> float:
        """``upper - lower``: no plan is cheaper than `plan` by more than this."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """``gap / lower``: `plan` costs at most this share more than the optimum."""
        return self.gap / self.lower if self.lower > 0 else (np.inf if self.gap > 0 else 0.0)

    @property
    def plan(self) -> sparse.csr_array:
        """The rounded plan as a sparse array; its marginals are those of the problem."""
        return self.moves.matrix()

    def __repr__(self) -> str:
        return (
            f"Certificate(lower={self.lower!r}, upper={self.upper!r}, "
            f"relative_gap={self.relative_gap:.3g}, rerouted={self.rerouted:.3g})"
        )


@with_metrics
@with_solve_options("penalty", "accuracy", "time")
def certify(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = None,
    points_b: Optional[ArrayLike] = None,
    *,
    plan: Optional[PlanLike] = None,
    potentials: Optional[tuple[ArrayLike, ArrayLike]] = None,
    points: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    penalty: Optional[PenaltyLike] = None,
    accuracy: Optional[Accuracy] = None,
    time: Optional[float] = None,
    bounds_only: bool = False,
    verbose: bool = False,
) -> Certificate:
    """Proves how far the plan or the potentials of any solver are from the optimum.

    Any plan proves an upper bound: it is rounded to the marginals of the problem. Any potentials
    prove a lower bound: they are made feasible by c-transforms. What is not given is solved for, to
    `accuracy` and in `time`; with a plan and potentials, nothing is solved. With coordinates, memory
    is linear in the points and in the moves of the plan.

    Parameters
    ----------
    a, b, cost, points_b, points, graph, weight, period
        The measures and the costs between them, as for `solve`.
    plan : array-like or sparse of shape (n_points_a, n_points_b), tuple, Moves or array of int, optional
        The mass that goes from each point of `a` to each point of `b`: a dense or sparse matrix of
        POT, OTT or `sinkhorn`; ``(source, target, mass)``; ``(source, target)`` or an array with
        the target of every point, as of a matching: then each source moves its mass in equal
        parts. Marginals may be wrong.
    potentials : tuple of two array-like, or array-like, optional
        Dual values ``(u, v)`` of the points of `a` and of `b`, with ``u[i] + v[j]`` about at most
        the cost from i to j; one of them may be `None`, and a single array is `u`.
    metric : {metrics}
        The distance between two points.
    {options}
    bounds_only : bool
        Whether to leave out the rounded plan and the potentials of the certificate.
    verbose : bool
        Whether to show progress on stderr.

    Returns
    -------
    certificate : Certificate
        With `lower`, `upper`, `gap`, `relative_gap`, `rerouted`, `plan`, `moves` and `potentials`.

    Raises
    ------
    ValueError
        Another shape than that of the problem; an entry of the plan that is negative or not finite;
        a potential that is not finite at a point with mass.

    Examples
    --------
    A plan that leaves a quarter of the mass behind, and potentials that are not feasible:

    >>> import treeport as tp
    >>> x, y = [[0.0], [1.0]], [[2.0], [4.0]]
    >>> found = tp.certify(None, None, x, y, plan=[[0.25, 0.0], [0.0, 0.5]], potentials=[9.0, 7.5])
    >>> round(found.lower, 6), round(found.upper, 6), found.rerouted
    (2.5, 2.5, 0.25)

    A matching: the first point goes to the second.

    >>> print(tp.certify(None, None, x, y, plan=[1, 0]).relative_gap < 1e-9)
    True
    """
    problem = Problem(a, b, GroundInput(points, cost, graph, metric, weight, period), points_b)
    left, right = problem.potentials_of(*_both(potentials))
    with bar("certificate", verbose) as report:
        found = _core.certify(
            problem.a,
            problem.b,
            problem.costs,
            wanted="value" if bounds_only else "potentials",
            plan=problem.plan_of(None if plan is None else _plan(plan, problem)),
            left=left,
            right=right,
            accuracy=accuracy,
            seconds=time,
            penalty=problem.penalty(penalty),
            report=report,
        )
    return Certificate(found, problem.moves(found.moves), problem.spread(found.potentials))


def _both(potentials: Any) -> tuple[Optional[Floats], Optional[Floats]]:
    """Parses potentials of both sides, or of one."""
    if potentials is None:
        return None, None
    if not isinstance(potentials, tuple):
        potentials = (potentials, None)
    if len(potentials) != 2:
        raise ValueError(f"potentials is a tuple of {len(potentials)}; give (u, v), or u alone")
    left, right = (None if side is None else _vector(side) for side in potentials)
    return left, right


def _vector(side: Any) -> Floats:
    found = np.ascontiguousarray(array_of(side), dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"potentials have shape {found.shape}; they have one axis")
    return found


def _plan(plan: Any, problem: Problem) -> Any:
    """Converts a plan to a table, or to arrays of sources, targets and masses."""
    if isinstance(plan, Moves):
        plan = plan.source, plan.target, plan.mass
    if sparse.issparse(plan):
        if plan.shape != problem.shape:
            raise ValueError(f"the plan has shape {plan.shape}, expected {problem.shape}")
        entries = plan.tocoo()
        plan = entries.row, entries.col, entries.data
    if isinstance(plan, tuple):
        if len(plan) not in (2, 3):
            raise ValueError(
                f"the plan is a tuple of {len(plan)}; give (source, target, mass), or (source, target)"
            )
        source, target = (np.asarray(side).ravel() for side in plan[:2])
        mass = None if len(plan) == 2 else np.asarray(plan[2], dtype=np.float64).ravel()
        return _moves(source, target, mass, problem)
    if np.ndim(plan) == 1 and np.asarray(plan).dtype.kind in "iu":
        return _moves(np.arange(len(plan)), np.asarray(plan), None, problem)
    table = np.asarray(array_of(plan))
    if table.ndim != 2:
        raise ValueError(
            f"the plan has shape {table.shape}, expected {problem.shape}, or integers: the target of every point"
        )
    if table.dtype != np.float32:
        table = table.astype(np.float64, copy=False)
    return np.require(table, None, "A")


def _moves(source: Any, target: Any, mass: Optional[Floats], problem: Problem) -> Any:
    """Checks moves; without masses, each source splits its own among its moves."""
    for which, ends, size in zip(("source", "target"), (source, target), problem.shape):
        if ends.dtype.kind not in "iu":
            raise ValueError(f"the {which} of a move is {ends.dtype}; points are numbers from 0")
        wrong = np.flatnonzero((ends < 0) | (ends >= size))
        if len(wrong):
            at = wrong[0]
            raise ValueError(
                f"move {at} of the plan has {which} {ends[at]}, but there are {size} points, numbered from 0"
            )
    if mass is None:
        counts = np.bincount(source, minlength=problem.shape[0])
        mass = problem.masses(0)[source] / counts[source]
    if not len(source) == len(target) == len(mass):
        raise ValueError(
            f"the plan has {len(source)} sources, {len(target)} targets and {len(mass)} masses; give as many of each"
        )
    return source.astype(np.uint32), target.astype(np.uint32), np.ascontiguousarray(mass)
