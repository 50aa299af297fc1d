"""Single problems: exact transport as an object and as a number, and entropic transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict, overload

import numpy as np

from . import _core
from ._ground import GroundInput, geometry, with_metrics
from ._images import ImageProblem, Spacing
from ._options import with_solve_options
from ._problem import Problem, no_masses
from ._solution import Bounds, Plan, Solution, plan_kind
from ._types import Accuracy, ArrayLike, GraphLike, Masses, PenaltyLike, Period

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Module attribute lookups take longer than a comparison.
_ndarray, _emd_of_arrays = np.ndarray, _core.emd_of_arrays


@with_metrics
@with_solve_options("mass", "penalty", "order", "accuracy", "time", "device")
def solve(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = None,
    points_b: Optional[ArrayLike] = None,
    *,
    points: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    grid: Optional[Spacing] = None,
    mass: Optional[float] = None,
    penalty: Optional[PenaltyLike] = None,
    order: float = 1.0,
    accuracy: Optional[Accuracy] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    potentials: bool = False,
    rates: bool = False,
    verbose: bool = False,
) -> Solution:
    """Solves one transport problem: value, proved bounds, plan and dual values in one object.

    ``solve(a, b, M)`` takes a cost matrix. ``solve(a, b, x, y)`` takes the coordinates of the
    points of `a` and of those of `b`. All other arguments are keywords. Only the costs between
    points with mass are read, so the time depends on the supports alone. `emd` is the same as a
    plain number.

    Parameters
    ----------
    a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
        Masses at the points. Their totals have to be equal, unless `mass` or `penalty` is given.
        `None` means the same mass at every point, 1 in total. A dict ``{node: mass}`` names nodes
        of a networkx graph, rows of a DataFrame of points, or points by their numbers; other points
        have no mass. Labels of a Series are matched in the same way: to the nodes, to the index of
        `points`, or to the index (`a`) and columns (`b`) of `cost`.
    cost : array-like of shape (n_points, n_points), (n_pairs,) or (n_points_a, n_points_b), optional
        Distances between the points, square or condensed as from `scipy.spatial.distance.pdist`; or
        the cost from every point of `a` to every point of `b`, which need not be the same points.
        Give one of `cost`, `points` and `graph`. Costs are taken as they are; for Wasserstein-2
        give distances and `order=2`.
    points_b : array-like of shape (n_points_b, n_dimensions), optional
        Coordinates of the points of `b`, if they differ from those of `a`. The argument before it,
        or `points`, then has the coordinates of the points of `a`.
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates.
    graph : sparse matrix or networkx graph, optional
        Edge weights; distances are shortest paths. The edges of a directed graph, or of a matrix
        that is not symmetric, keep their direction; one triangle of a matrix stands for both. The
        graph may have several components, if `a` and `b` have the same mass in each.
    weight : str or None
        The edge attribute of a networkx graph that holds the lengths; `None` gives every edge
        length 1.
    metric : {metrics}
        The distance between two points. "haversine" takes latitude and longitude in degrees, and
        distances are in km. Wasserstein-2 has `order=2`.
    period : float or sequence of float or None, optional
        The period of coordinates that wrap around, such as angles, tori and boxes of a simulation:
        one number for all coordinates, or a number or `None` for each. ``period=[None, 2 * np.pi]``
        is a height and an angle. Differences go the shorter way around. "cosine" and "haversine"
        take no period.
    grid : float or sequence of float, optional
        `a` and `b` are images or volumes of one shape, and this is the distance between neighbors
        along each axis, or along all. Points are numbered in the order of ``a.ravel()``. With
        ``metric="manhattan"`` balanced problems are solved on the edges between neighbors.
    {options}
    potentials : bool
        Whether to compute dual values of all points, with and without mass. They take a pass over
        all pairs of points, which `time` does not include, so they are computed with the solution:
        later the arrays might have changed.
    rates : bool
        Whether to compute the rates at which the value changes with the masses, also at points
        without mass, where potentials are not these rates. They include the potentials and take
        another pass.
    verbose : bool
        Whether to show on stderr how much of the value is proved: the lower bound as a share of the
        cost of the best plan so far. If the work will take longer than some seconds, a rough
        forecast of time and memory comes first: time to a factor of five, from the numbers of
        points and coordinates alone. The solvers and the reason for them come last, unless there
        are few points.

    Returns
    -------
    solution : Solution
        With `value`, `lower`, `upper`, `gap`, `plan`, `plan_table`, `potentials`, `penalty`,
        `rates`, `engine`, `route` and `seconds`.

    Raises
    ------
    ValueError
        Masses that are negative, not finite or of unequal totals; distances that are not valid.

    Examples
    --------
    >>> import treeport as tp
    >>> line = [[0.0], [1.0], [5.0]]
    >>> solution = tp.solve([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], points=line)
    >>> solution.value, solution.gap < 1e-12, solution.engine
    (2.5, True, 'line')
    >>> solution.plan.toarray()
    array([[0. , 0. , 0.5],
           [0. , 0.5, 0. ],
           [0. , 0. , 0. ]])

    By names, as a table of moves:

    >>> import pandas as pd
    >>> places = pd.DataFrame({"km": [0.0, 1.0, 5.0]}, index=["home", "shop", "work"])
    >>> tp.solve({"home": 3}, {"shop": 1, "work": 2}, points=places).plan_table
      source target  mass
    0   home   work   2.0
    1   home   shop   1.0

    Two sets of points, and the proof of the value:

    >>> solution = tp.solve([0.5, 0.5], [1.0], [[0.0], [2.0]], [[3.0]], potentials=True)
    >>> u, v = solution.potentials
    >>> solution.value, float(0.5 * u[0] + 0.5 * u[1] + v[0])
    (2.0, 2.0)

    Two images, and where the first pixel goes:

    >>> one, other = [[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1]]
    >>> solution = tp.solve(one, other, grid=(1.0, 1.0), metric="manhattan")
    >>> solution.value, solution.displacement[0, 0]
    (3.0, array([1., 2.]))

    Bounds that are close enough:

    >>> solution = tp.solve([2, 1, 0], [0, 2, 1], points=line, accuracy=0.1)
    >>> solution.lower <= 6 <= solution.upper <= 1.1 * solution.lower
    True
    """
    given = GroundInput(points, cost, graph, metric, weight, period)
    image = None
    if grid is not None:
        if points_b is not None:
            raise ValueError("`grid` gives the places of pixels; leave out `points_b`")
        balanced = mass is penalty is device is None and order == 1
        problem: Problem = (image := ImageProblem(a, b, grid, given, balanced))
    else:
        problem = Problem(a, b, given, points_b)
    solution = problem.solve(
        "rates" if rates else "potentials" if potentials else "plan",
        mass=mass,
        penalty=penalty,
        order=order,
        accuracy=accuracy,
        time=time,
        device=device,
        verbose=verbose,
    )
    solution._grid = None if image is None else image.grid
    return solution


class _GroundOptions(TypedDict, total=False):
    """Keyword arguments that all overloads share."""

    points: Optional[ArrayLike]
    graph: Optional[GraphLike]
    weight: Optional[str]
    metric: str
    period: Optional[Period]


class _EmdOptions(_GroundOptions, total=False):
    mass: Optional[float]
    penalty: Optional[PenaltyLike]
    order: float
    device: Optional[str]
    verbose: bool


class _SinkhornOptions(_GroundOptions, total=False):
    epsilon: float
    relative: bool
    max_iterations: int
    tolerance: float


@overload
def emd(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = ...,
    points_b: Optional[ArrayLike] = ...,
    *,
    accuracy: None = ...,
    time: None = ...,
    return_plan: Literal[False] = ...,
    return_potentials: Literal[False] = ...,
    **rest: Unpack[_EmdOptions],
) -> float: ...
@overload
def emd(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = ...,
    points_b: Optional[ArrayLike] = ...,
    *,
    accuracy: Optional[Accuracy] = ...,
    time: Optional[float] = ...,
    return_plan: Plan = ...,
    return_potentials: bool = ...,
    **rest: Unpack[_EmdOptions],
) -> Any: ...
@with_metrics
def emd(
    a: Any,
    b: Any,
    cost: Optional[ArrayLike] = None,
    points_b: Optional[ArrayLike] = None,
    *,
    points: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    mass: Optional[float] = None,
    penalty: Any = None,
    order: float = 1.0,
    accuracy: Optional[Accuracy] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    return_plan: Plan = False,
    return_potentials: bool = False,
    verbose: bool = False,
) -> Any:
    """Computes the exact transport cost (Wasserstein-1) of two measures, proved to be optimal.

    ``emd(a, b, M)`` takes a cost matrix, ``emd(a, b, x, y)`` coordinates. `solve` returns the same
    result as an object with value, bounds, plan and potentials.

    Parameters
    ----------
    a, b, cost, points_b, points, graph, weight, period
        The measures and the costs between them, as for `solve`.
    metric : {metrics}
        The distance between two points. Wasserstein-2 has `order=2`.
    mass, penalty, order, device, verbose
        As for `solve`.
    accuracy, time
        As for `solve`; with one of them the answer is a `Bounds`.
    return_plan : bool or "table"
        Whether to also return the plan, as a sparse array or as a table of moves.
    return_potentials : bool
        Whether to also return the proof: dual values `u`, `v` of all points.

    Returns
    -------
    value : float
        The cost of an optimal plan, including any penalty.
    plan : scipy.sparse.csr_array of shape (n_points_a, n_points_b), or DataFrame
        `Solution.plan`, or with "table" `Solution.plan_table`; only with `return_plan`.
    potentials : tuple of two ndarrays of shapes (n_points_a,) and (n_points_b,)
        `Solution.potentials`; only with `return_potentials`. ``a @ u + b @ v`` is the value, up to
        a relative 1e-9, so no plan is cheaper. With `mass` it takes `Solution.penalty`, too.

    bounds : Bounds
        Returned instead of all these with `accuracy` or `time`: certified `lower` and `upper`, with
        `return_plan` the `plan` behind `upper`, and with `return_potentials` the `potentials`
        ``(u, v)`` behind `lower`.

    Raises
    ------
    ValueError
        As `solve`.

    Examples
    --------
    >>> import treeport as tp
    >>> tp.emd([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], points=[[0.0], [1.0], [5.0]])
    2.5
    >>> value, plan = tp.emd([1.0, 0.0], [0.25, 0.75], [[0.0, 2.0], [2.0, 0.0]], return_plan=True)
    >>> value
    1.5
    >>> plan.toarray()
    array([[0.25, 0.75],
           [0.  , 0.  ]])

    Different totals: the unit at 9 is taken away, or left where it is.

    >>> line = [[0.0], [1.0], [9.0]]
    >>> tp.emd([2, 0, 1], [0, 2, 0], points=line, penalty=[3.0, 3.0, 0.5])  # the last is cheap
    2.5
    >>> tp.emd([2, 0, 1], [0, 2, 0], points=line, penalty=3.0)
    5.0
    >>> tp.emd([2, 0, 1], [0, 2, 0], points=line, mass=1.5)
    1.5

    Bounds that are close enough:

    >>> bounds = tp.emd([2, 1, 0], [0, 2, 1], points=line, accuracy=0.1)
    >>> bounds.lower <= 10 <= bounds.upper <= 1.1 * bounds.lower
    True
    """
    bounded = accuracy is not None or time is not None
    plain = type(a) is type(b) is _ndarray and graph is None and device is None and order == 1
    number = mass is None if isinstance(penalty, (float, int)) else penalty is None
    if (
        plain
        and number
        and not (return_plan or return_potentials or bounded or verbose)
        and (cost is None or points is None)
    ):
        # Arrays of the right types are read in place: for ten points, the general path below
        # takes longer than the solution.
        ground = cost if points is None else points
        if type(ground) is _ndarray and (points_b is None or type(points_b) is _ndarray):
            of_points = (
                None
                if points is points_b is None
                else metric
                if period is None
                else geometry(metric, period)
            )
            if of_points is not None or period is None:
                try:
                    value = _emd_of_arrays(a, b, ground, points_b, of_points, mass, penalty)
                except ValueError:
                    if a.size == 0 or b.size == 0:
                        raise no_masses(0 if a.size == 0 else 1) from None
                    raise
                if value is not None:
                    return value
    given = GroundInput(points, cost, graph, metric, weight, period)
    problem = Problem(a, b, given, points_b)
    kind = plan_kind(return_plan)
    found = problem.solve(
        "potentials" if return_potentials else "plan" if kind or bounded else "value",
        mass=mass,
        penalty=penalty,
        order=order,
        accuracy=accuracy,
        time=time,
        device=device,
        verbose=verbose,
    )
    plan = found.moves.shown(kind) if kind else None
    potentials = found.potentials if return_potentials else None
    if bounded:
        return Bounds.of(found, plan, potentials)
    answers = [found.value, *(part for part in (plan, potentials) if part is not None)]
    return answers[0] if len(answers) == 1 else tuple(answers)


@overload
def sinkhorn(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = ...,
    points_b: Optional[ArrayLike] = ...,
    *,
    return_plan: Literal[False] = ...,
    **rest: Unpack[_SinkhornOptions],
) -> float: ...
@overload
def sinkhorn(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = ...,
    points_b: Optional[ArrayLike] = ...,
    *,
    return_plan: Plan,
    **rest: Unpack[_SinkhornOptions],
) -> Any: ...
def sinkhorn(
    a: Optional[Masses],
    b: Optional[Masses],
    cost: Optional[ArrayLike] = None,
    points_b: Optional[ArrayLike] = None,
    *,
    points: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    epsilon: float = 0.01,
    relative: bool = True,
    max_iterations: int = 100_000,
    tolerance: float = 1e-9,
    return_plan: Plan = False,
) -> Any:
    """Computes the cost of the entropic transport plan of two measures, without the entropy.

    It is never below `emd`, and approaches `emd` as `epsilon` goes to 0. The plan has the right
    marginals.

    Parameters
    ----------
    a, b, cost, points_b, points, graph, weight, metric, period
        As for `solve`: ``sinkhorn(a, b, M)`` or ``sinkhorn(a, b, x, y)``; all other arguments are
        keywords.
    epsilon : float
        The weight of the entropy.
    relative : bool
        Whether `epsilon` is a share of the largest distance between the two supports; otherwise it
        is in the unit of the distances.
    max_iterations : int
        The largest number of iterations.
    tolerance : float
        Largest error of the marginals, relative to the mass, that counts as converged.
    return_plan : bool or "table"
        Whether to also return the plan, as a sparse array or as a table of moves.

    Returns
    -------
    value : float
        The cost of the plan.
    plan : scipy.sparse.csr_array of shape (n_points, n_points), or DataFrame
        Which mass goes where; only with `return_plan`, in the same forms as for `emd`.

    Raises
    ------
    ValueError
        As `emd`, and if the iteration has not converged.

    Examples
    --------
    >>> import treeport as tp
    >>> value = tp.sinkhorn([0.5, 0.5], [0.5, 0.5], points=[[0.0], [1.0]], epsilon=1.0)
    >>> round(value, 6)  # 1/(1 + e)
    0.268941
    """
    given = GroundInput(points, cost, graph, metric, weight, period)
    problem = Problem(a, b, given, points_b)
    kind = plan_kind(return_plan)
    value, entries = _core.sinkhorn(
        problem.a,
        problem.b,
        problem.costs,
        plan=bool(kind),
        epsilon=epsilon,
        relative=relative,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    return value if entries is None else (value, problem.moves(entries).shown(kind))
