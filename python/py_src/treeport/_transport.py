"""Single problems: exact and entropic transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Optional, TypedDict, Union, overload

import numpy as np
from scipy import sparse

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
    with_metrics,
)
from ._inputs import Floats, Integers, Places, labels_of, row, support, texts, unmapped, width
from ._penalties import Penalty, penalty_of
from ._progress import bar
from ._results import moves, moves_matrix

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A look into a module takes longer than a comparison.
_ndarray, _emd_of_arrays = np.ndarray, _core.emd_of_arrays

Potentials = tuple[Floats, Floats]
Plan = Union[bool, Literal["table"]]


class _Interval(NamedTuple):
    lower: Any
    upper: Any
    plan: Any = None


class Bounds(_Interval):
    """Certified bounds of a transport cost: it lies between `lower` and `upper`.

    A tuple of `lower`, `upper` and the `plan` behind the upper bound, if you asked for it.
    """

    _potentials: Optional[Potentials] = None

    @property
    def potentials(self) -> Optional[Potentials]:
        """The dual values ``(u, v)`` behind the lower bound, if you asked for them."""
        return self._potentials


def _kind(return_plan: Plan) -> Plan:
    """How the plan is wanted, if it is one of the ways to have it."""
    if isinstance(return_plan, str) and return_plan != "table":
        raise ValueError(f'return_plan is {return_plan!r}; it must be True, False or "table"')
    return return_plan


def check_exponent(p: float) -> None:
    """Refuses an exponent of costs but 1, and says how to have it."""
    if p != 1:
        raise ValueError(
            f"p is {p!r}; costs are taken as they are. For p = 2 give metric=\"sqeuclidean\" or the squares of a cost "
            "matrix, and take the root: `emd(a, b, x, y, metric=\"sqeuclidean\") ** 0.5`"
        )


def uniform(count: int) -> Floats:
    """Equal masses with a total of 1."""
    return np.full(count, 1 / max(count, 1))


class _Problem:
    """Two measures and the costs between them, as the compiled half takes them."""

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
        """A measure in the order of the points of its side, where both have names; `None` is the same mass everywhere."""
        if measure is None:
            return uniform(self._side(side).size)
        found = row(unmapped(measure, lambda: self._side(side)), self._names(side))
        if width(found) == 0:
            raise _no_masses(side)
        return found

    def penalty(self, penalty: Any) -> Penalty:
        """Penalties in the order of the masses."""
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
        """Refuses labels that contradict each other where the points have none that would tell."""
        left, right = labels_of(a), labels_of(b)
        points, points_b, cost, _ = self._of
        # One library counts columns by numbers, another by their text.
        if left is None or right is None or texts(left) == texts(right) or points_b is not None:
            return
        if self._names(0) is not None or self._names(1) is not None:
            return
        # The points of a matrix of costs may be others on both sides, and then nothing says they are the same.
        if cost is not None and (len(left) != len(right) or set(left).isdisjoint(right)):
            return
        raise ValueError(
            f"a is about {_some(left)}, and b about {_some(right)}, and the points have no names; bring both into one "
            "order (`b.reindex(a.index)`), or give names to the points: an index to `points`, index and columns to `cost`"
        )

    def _ground(self, side: int) -> tuple[Any, Any, Any]:
        """The ground metric as `a` or `b` has it: points, cost, graph."""
        points, points_b, cost, graph = self._of
        if points_b is not None:
            points, cost = points_b if side == 1 else cost if points is None else points, None
        return points, cost, graph

    def _names(self, side: int) -> Optional[list[Any]]:
        """What the points of `a` or of `b` are called, where they are called anything."""
        return names_of_ground(*self._ground(side), side)

    def _side(self, side: int) -> Places:
        """The points of `a` or of `b`."""
        one_of(*self._ground(side))
        return places_of_ground(*self._ground(side), side)

    def _two_sets(self, points: Any, points_b: Any, cost: Any, graph: Any) -> tuple[Floats, Floats]:
        """Coordinates of both sides: ``points=x, points_b=y``, or `x` and `y` after the measures."""
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
        """Costs there and back differ, so that only those from one support to the other are asked for."""
        nodes = adjacency.shape[0]
        if self._shape != (nodes, nodes):
            raise ValueError(
                f"the measures live on {self._shape[0]} and {self._shape[1]} points, the graph on {nodes}"
            )
        (left, self.a), (right, self.b) = _support(self.a), _support(self.b)
        self.costs = directed_costs(adjacency, left, right, self._names(0))
        self._places = left, right

    def _plan(self, entries: Any, kind: Plan) -> Any:
        left, right, mass = entries
        if self._places is not None:
            left, right = self._places[0][left], self._places[1][right]
        plan = moves_matrix((left, right, mass), self._shape)
        return moves(plan, self._side(0).names, self._side(1).names) if kind == "table" else plan

    def _duals(self, duals: Optional[Potentials]) -> Optional[Potentials]:
        """Dual values of all points on either side."""
        if duals is None or self._places is None:
            return duals
        left, right = (_spread(*side) for side in zip(duals, self._places, self._shape))
        return left, right

    def bounds(self, found: Any, kind: Plan) -> Bounds:
        """Bounds, with the plan and the potentials where they were asked for."""
        lower, upper, entries, duals = found
        bounds = Bounds(lower, upper, self._plan(entries, kind) if kind else None)
        bounds._potentials = self._duals(duals)
        return bounds

    def answer(self, found: Any, kind: Plan) -> Any:
        """The value, and the plan and the potentials where they were asked for."""
        value, entries, duals = found
        answers: list[Any] = [float(value)]
        if entries is not None:
            answers.append(self._plan(entries, kind))
        if duals is not None:
            answers.append(self._duals(duals))
        return answers[0] if len(answers) == 1 else tuple(answers)


def _support(measure: Any) -> tuple[Integers, Floats]:
    """Where there is mass; one point without, where there is none."""
    places, masses = support(measure)
    return (places, masses) if len(places) else (np.zeros(1, dtype=np.int64), np.zeros(1))


def _no_masses(side: int) -> ValueError:
    """An empty list, which other packages take for equal masses."""
    return ValueError(f"{'ab'[side]} has no masses; give one for each point, or `None` for the same mass at every point")


def _some(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels[:3])) + (", …" if len(labels) > 3 else "")


def _spread(values: Floats, places: Integers, size: int) -> Floats:
    """Values at some places, and 0 elsewhere."""
    whole = np.zeros(size)
    whole[places] = values
    return whole


class _GroundOptions(TypedDict, total=False):
    """What overloads do not ask about, to be written once."""

    points: Any
    graph: Any
    weight: Optional[str]
    metric: str
    period: Any


class _EmdOptions(_GroundOptions, total=False):
    mass: Optional[float]
    penalty: Any
    device: Optional[str]
    verbose: bool
    p: float


class _SinkhornOptions(_GroundOptions, total=False):
    epsilon: float
    relative: bool
    max_iterations: int
    tolerance: float


@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal[False] = ..., return_potentials: Literal[False] = ..., **rest: Unpack[_EmdOptions]
) -> float: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal[True], return_potentials: Literal[False] = ..., **rest: Unpack[_EmdOptions]
) -> tuple[float, sparse.csr_array]: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal[False] = ..., return_potentials: Literal[True], **rest: Unpack[_EmdOptions]
) -> tuple[float, Potentials]: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal[True], return_potentials: Literal[True], **rest: Unpack[_EmdOptions]
) -> tuple[float, sparse.csr_array, Potentials]: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal["table"], return_potentials: Literal[False] = ..., **rest: Unpack[_EmdOptions]
) -> tuple[float, Any]: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal["table"], return_potentials: Literal[True], **rest: Unpack[_EmdOptions]
) -> tuple[float, Any, Potentials]: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    accuracy: Union[str, float], time: Optional[float] = ..., return_plan: Plan = ..., return_potentials: bool = ...,
    **rest: Unpack[_EmdOptions]
) -> Bounds: ...
@overload
def emd(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    time: float, return_plan: Plan = ..., return_potentials: bool = ..., **rest: Unpack[_EmdOptions]
) -> Bounds: ...
@with_metrics
def emd(
    a: Any,
    b: Any,
    cost: Any = None,
    points_b: Any = None,
    *,
    points: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Any = None,
    mass: Optional[float] = None,
    penalty: Any = None,
    accuracy: Union[str, float, None] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    return_plan: Plan = False,
    return_potentials: bool = False,
    verbose: bool = False,
    p: float = 1,
) -> Any:
    """Exact transport cost (Wasserstein-1) between two measures, proved to be optimal.

    ``emd(a, b, M)`` takes a cost matrix. ``emd(a, b, x, y)`` takes the coordinates of the points of `a` and of those of
    `b`. All other arguments are keywords. Only the costs between points with mass are read, so the time depends on the
    supports alone.

    Parameters
    ----------
    a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
        Masses at the points. Their totals have to be equal, unless `mass` or `penalty` is given. `None` means the same
        mass at every point, 1 in total. A dict ``{node: mass}``
        names nodes of a networkx graph, rows of a DataFrame of points, or points by their numbers; other points have no mass.
        Labels of a Series are matched in the same way: to the nodes, to the index of `points`, or to the index (`a`) and columns (`b`) of `cost`.
    cost : array-like of shape (n_points, n_points), (n_pairs,) or (n_points_a, n_points_b), optional
        Distances between the points, square or condensed as from `scipy.spatial.distance.pdist`; or the
        cost from every point of `a` to every point of `b`, which need not be the same points.
        Give one of `cost`, `points` and `graph`.
    points_b : array-like of shape (n_points_b, n_dimensions), optional
        Coordinates of the points of `b`, if they differ from those of `a`. The argument before it, or
        `points`, then has the coordinates of the points of `a`.
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates.
    graph : sparse matrix or networkx graph, optional
        Edge weights; distances are shortest paths. The edges of a directed graph, or of a matrix that is not
        symmetric, keep their direction; one triangle of a matrix stands for both. The graph may have several
        components, if `a` and `b` have the same mass in each.
    weight : str or None
        The edge attribute of a networkx graph that holds the lengths; `None` gives every edge length 1.
    metric : {metrics}
        The distance between two points. "haversine" takes latitude and longitude in degrees, and distances are in km.
    period : float or sequence of float or None, optional
        The period of coordinates that wrap around, such as angles, tori and boxes of a simulation: one number for all
        coordinates, or a number or `None` for each. ``period=[None, 2 * np.pi]`` is a height and an angle. Differences go the
        shorter way around. "cosine" and "haversine" take no period.
    mass : float, optional
        Partial transport: exactly this much mass is moved, where it is cheapest; at most the smaller total.
    penalty : float, array-like of shape (n_points,), or tuple of two such, optional
        Unbalanced transport: each unit that is not moved costs this much, where it is taken away and where it is put
        back. With a metric this is the flat metric (Kantorovich-Rubinstein): marginals penalized by total variation. Totals
        that differ by no more than their rounding count as equal, however high the penalty. An array has a price for each
        point. With a cost matrix or two sets of points, a tuple has the prices for `a` and those for `b`.
    accuracy : float or "exact", optional
        Return bounds instead of the value. They differ by at most this share of the upper bound, and are found without
        solving the problem if that is possible. 0 and "exact" solve exactly; any plan is good enough for 1 and more.
    time : float, optional
        Return bounds instead of the value, the best within this many seconds. With 0, the lower bound is 0 and the upper bound
        is the cost of the first plan at hand, unless the problem is on a graph.
    device : str, optional
        "cuda", or "cuda:1" and so on: a GPU searches all pairs of points, with the same proof; for tens of thousands of
        points and more. It takes coordinates and all metrics except "haversine", without `period`, `mass` and `penalty`.
        It needs PyTorch and Triton (``pip install "treeport[gpu]"``). "tiles" does the same in NumPy, slowly, for tests.
    return_plan : bool or "table"
        Whether to also return the plan, as a sparse array or as a table of moves.
    return_potentials : bool
        Whether to also return the proof: dual values `u`, `v` of all points.
    verbose : bool
        Whether to show on stderr how much of the value is proved: the lower bound as a share of the cost of the best plan so
        far. Problems that take less than half a second show nothing. If the work will take longer than some
        seconds, a rough forecast of time and memory comes first: time to a factor of five, from the numbers of
        points and coordinates alone.
    p : 1
        Costs are taken as they are. For Wasserstein-2, take the square root of the value with ``metric="sqeuclidean"`` or squared costs.

    Returns
    -------
    value : float
        The cost of an optimal plan, including any penalty.
    plan : scipy.sparse.csr_array of shape (n_points_a, n_points_b), or DataFrame
        Which mass goes where; only with `return_plan`. Mass of `a` and `b` that is not in the plan was not moved. "table" gives
        the columns source, target and mass, the largest mass first, with the names of the points if they have any; without
        pandas it is a list of such tuples.
    potentials : tuple of two ndarrays of shapes (n_points_a,) and (n_points_b,)
        Only with `return_potentials`: `u[i] + v[j]` is at most the cost from i to j for all points, with or without
        mass. No potential is above the penalty of its point. ``a @ u + b @ v`` is the value, up to a relative 1e-9, so no plan is
        cheaper. On metrics `v` is `-u`. On directed graphs this holds between points with mass, and potentials elsewhere are 0.
        With `mass` there are no potentials.

    bounds : Bounds
        Returned instead of all these with `accuracy` or `time`: certified `lower` and `upper`; with `return_plan` the `plan`
        behind `upper`; and with `return_potentials` the `potentials` ``(u, v)`` behind `lower`. The same inequalities
        hold for them, and ``a @ u + b @ v`` is `lower` up to rounding (1e-12 of all mass times the largest potential). Finding the
        potentials of all points takes a pass over all pairs, which `time` does not include.

    Raises
    ------
    ValueError
        Masses that are negative, not finite or of unequal totals; distances that are not valid.

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

    By names, as a table of moves:

    >>> import pandas as pd
    >>> line = pd.DataFrame({"km": [0.0, 1.0, 5.0]}, index=["home", "shop", "work"])
    >>> value, moves = tp.emd({"home": 3}, {"shop": 1, "work": 2}, points=line, return_plan="table")
    >>> moves
      source target  mass
    0   home   work   2.0
    1   home   shop   1.0

    Two sets of points, and the proof of the value:

    >>> value, (u, v) = tp.emd([0.5, 0.5], [1.0], [[0.0], [2.0]], [[3.0]], return_potentials=True)
    >>> value, float(0.5 * u[0] + 0.5 * u[1] + v[0])
    (2.0, 2.0)

    Different totals: the unit at 9 is taken away, or left where it is.

    >>> line = [[0.0], [1.0], [9.0]]
    >>> tp.emd([2, 0, 1], [0, 2, 0], points=line, penalty=[3.0, 3.0, 0.5])  # the last point is cheap to leave
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
    if p != 1:
        check_exponent(p)
    if mass is not None and penalty is not None:
        raise ValueError("give mass or penalty, not both")
    bounded = accuracy is not None or time is not None
    if device is not None:
        check_for_device(points is None and points_b is None, metric, mass, penalty, period)
    plain = type(a) is type(b) is _ndarray and graph is None and device is None
    number = penalty is None or isinstance(penalty, (float, int))
    if plain and number and not (return_plan or return_potentials or bounded or verbose) and (cost is None or points is None):
        # Arrays that are as they should be are read where they lie: for ten points, all that follows would take longer.
        ground = cost if points is None else points
        if type(ground) is _ndarray and (points_b is None or type(points_b) is _ndarray):
            of_points = None if points is points_b is None else metric if period is None else geometry(metric, period)
            if of_points is not None or period is None:
                try:
                    value = _emd_of_arrays(a, b, ground, points_b, of_points, mass, penalty)
                except ValueError:
                    if a.size == 0 or b.size == 0:
                        raise _no_masses(0 if a.size == 0 else 1) from None
                    raise
                if value is not None:
                    return value
    problem = _Problem(a, b, points, points_b, cost, graph, metric, weight, period)
    kind = _kind(return_plan)
    penalty = problem.penalty(penalty)
    with bar("exact distance", verbose) as report, nodes_by_name(graph):
        wanted = "exact" if accuracy is None else accuracy
        if device is not None:
            engine = engine_of(device)
            with memory_errors("points", device, "points"):
                if bounded:
                    return problem.bounds(
                        _core.emd_within_on(
                            problem.a, problem.b, problem.costs, engine, wanted, time, return_potentials, report
                        ),
                        kind,
                    )
                found = _core.emd_on(problem.a, problem.b, problem.costs, engine, bool(kind), return_potentials, report)
            return problem.answer(found, kind)
        if bounded:
            within = (wanted, time, mass, penalty, return_potentials, report)
            return problem.bounds(_core.emd_within(problem.a, problem.b, problem.costs, *within), kind)
        found = _core.emd(problem.a, problem.b, problem.costs, bool(kind), mass, penalty, return_potentials, report)
    return problem.answer(found, kind)


@overload
def sinkhorn(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal[False] = ..., **rest: Unpack[_SinkhornOptions]
) -> float: ...
@overload
def sinkhorn(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal[True], **rest: Unpack[_SinkhornOptions]
) -> tuple[float, sparse.csr_array]: ...
@overload
def sinkhorn(
    a: Any, b: Any, cost: Any = ..., points_b: Any = ..., *,
    return_plan: Literal["table"], **rest: Unpack[_SinkhornOptions]
) -> tuple[float, Any]: ...
def sinkhorn(
    a: Any,
    b: Any,
    cost: Any = None,
    points_b: Any = None,
    *,
    points: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Any = None,
    epsilon: float = 0.01,
    relative: bool = True,
    max_iterations: int = 100_000,
    tolerance: float = 1e-9,
    return_plan: Plan = False,
) -> Any:
    """Cost of the entropic transport plan between two measures, without the entropy.

    It is never below `emd`, and approaches `emd` as `epsilon` goes to 0. The plan has the right marginals.

    Parameters
    ----------
    a, b, cost, points_b, points, graph, weight, metric, period
        As for `emd`: ``sinkhorn(a, b, M)`` or ``sinkhorn(a, b, x, y)``; all other arguments are keywords.
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
    problem = _Problem(a, b, points, points_b, cost, graph, metric, weight, period)
    options = (epsilon, relative, max_iterations, tolerance)
    kind = _kind(return_plan)
    value, entries = _core.sinkhorn(problem.a, problem.b, problem.costs, bool(kind), *options)
    return problem.answer((value, entries, None), kind)
