"""Single problems: exact and entropic transport."""

from __future__ import annotations

from typing import Any, Literal, Optional, Union, overload

import numpy as np
from scipy import sparse

from . import _core
from ._inputs import (
    Floats,
    Integers,
    costs,
    directed,
    directed_costs,
    ground_of,
    measures_of,
    moves_matrix,
    names_of,
    pairs_of,
    row,
    support,
    threads_of,
    width,
)
from ._progress import bar


class _Problem:
    """Two measures and the costs between them, as the compiled half takes them."""

    def __init__(
        self,
        a: Any,
        b: Any,
        points: Any,
        cost: Any,
        graph: Any,
        metric: str,
        weight: Optional[str],
    ) -> None:
        names = names_of(graph)
        self.a, self.b = row(a, names), row(b, names)
        self._shape = width(self.a), width(self.b)
        self._places: Optional[tuple[Integers, Integers]] = None
        if points is None and cost is None and (adjacency := directed(graph, weight)) is not None:
            self._along(adjacency)
        else:
            self.costs = costs(points, cost, graph, metric, weight)

    def _along(self, adjacency: Any) -> None:
        """Costs there and back differ, so that only those from one support to the other are asked for."""
        nodes = adjacency.shape[0]
        if self._shape != (nodes, nodes):
            raise ValueError(
                f"the measures live on {self._shape[0]} and {self._shape[1]} points, the graph on {nodes}"
            )
        (left, self.a), (right, self.b) = support(self.a), support(self.b)
        self.costs = directed_costs(adjacency, left, right)
        self._places = left, right

    def answer(self, found: Any) -> Union[float, tuple[float, sparse.csr_array]]:
        """The value, and the plan where it was asked for."""
        value, moves = found
        if moves is None:
            return float(value)
        left, right, mass = moves
        if self._places is not None:
            left, right = self._places[0][left], self._places[1][right]
        return float(value), moves_matrix((left, right, mass), self._shape)


@overload
def emd(
    a: Any,
    b: Any,
    *,
    points: Any = ...,
    cost: Any = ...,
    graph: Any = ...,
    weight: Optional[str] = ...,
    metric: str = ...,
    return_plan: Literal[False] = ...,
) -> float: ...
@overload
def emd(
    a: Any,
    b: Any,
    *,
    points: Any = ...,
    cost: Any = ...,
    graph: Any = ...,
    weight: Optional[str] = ...,
    metric: str = ...,
    return_plan: Literal[True],
) -> tuple[float, sparse.csr_array]: ...
def emd(
    a: Any,
    b: Any,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    return_plan: bool = False,
) -> Union[float, tuple[float, sparse.csr_array]]:
    """Exact transport cost (Wasserstein-1) between two measures, proved to be optimal.

    Only the distances between points with mass are read, so that a call costs what its supports cost.

    Parameters
    ----------
    a, b : array-like of shape (n_points,) or sparse of shape (1, n_points)
        Masses at the points; their totals have to be equal.
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates. Give one of `points`, `cost` and `graph`.
    cost : array-like of shape (n_points, n_points), (n_pairs,) or (n_points_a, n_points_b), optional
        Distances between the points, square or condensed as by `scipy.spatial.distance.pdist`; or the
        cost from every point of `a` to every point of `b`, which need not be the same points.
    graph : sparse matrix or networkx graph, optional
        Edge weights; distances are shortest paths. Edges of a directed graph, or of a matrix that is not
        symmetric, are taken in their direction; one triangle of a matrix stands for both.
    weight : str or None
        The attribute of a networkx graph's edges that holds their lengths; `None` counts every edge as 1.
    metric : {"euclidean", "manhattan", "cosine", "sqeuclidean", "haversine"}
        How distances follow from `points`.
    return_plan : bool
        Whether to return the plan too.

    Returns
    -------
    value : float
        The cost of an optimal plan.
    plan : scipy.sparse.csr_array of shape (n_points, n_points)
        Which mass goes where; only with `return_plan`.

    Raises
    ------
    ValueError
        Masses that are negative, not finite or of unequal totals; distances that are not valid.

    Examples
    --------
    >>> import treeport as tp
    >>> tp.emd([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], points=[[0.0], [1.0], [5.0]])
    2.5
    >>> value, plan = tp.emd([1.0, 0.0], [0.25, 0.75], cost=[[0.0, 2.0], [2.0, 0.0]], return_plan=True)
    >>> value
    1.5
    >>> plan.toarray()
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    if graph is None and not return_plan and type(a) is type(b) is np.ndarray:
        try:
            if points is None and type(cost) is np.ndarray:
                return _core.emd_matrix(a, b, cost)
            if cost is None and type(points) is np.ndarray:
                return _core.emd_points(a, b, points, metric)
        except TypeError:
            pass  # other than arrays of float64, which `row` and `costs` convert
    problem = _Problem(a, b, points, cost, graph, metric, weight)
    return problem.answer(_core.emd(problem.a, problem.b, problem.costs, return_plan))


def emd_pairs(
    measures: Any,
    pairs: Any,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    assume_metric: bool = False,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
) -> Floats:
    """Exact transport costs of many pairs of measures, in parallel.

    Parameters
    ----------
    measures : array-like or sparse of shape (n_measures, n_points)
        One measure per row; an AnnData object stands for its `X`.
    pairs : array-like of int of shape (n_pairs, 2)
        The rows to compare.
    points, cost, graph, weight, metric
        The ground metric, as for `emd`; `cost` has to be symmetric here, and `graph` undirected.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality, which makes it faster: shared mass stays put.
    n_jobs : int, optional
        Threads; `None` and -1 stand for all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    distances : ndarray of shape (n_pairs,)

    Examples
    --------
    >>> import treeport as tp
    >>> measures = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]
    >>> tp.emd_pairs(measures, [(0, 1), (0, 2)], points=[[0.0], [1.0], [5.0]])
    array([1., 3.])
    """
    threads = threads_of(n_jobs)
    plain = cost is graph is None and not (assume_metric or verbose)
    if plain and type(measures) is type(pairs) is type(points) is np.ndarray:
        try:
            if (few := _core.emd_few_pairs(measures, pairs, points, metric)) is not None:
                return few
        except TypeError:
            pass  # other than arrays of float64 and int64, which are converted
    ground = ground_of(points, cost, graph, metric, weight)
    if assume_metric:
        ground = ground.assume_metric()
    rows, numbers = measures_of(measures, names=names_of(graph)), pairs_of(pairs)
    with bar("exact distances", verbose) as report:
        return _core.emd_pairs(ground, rows, numbers, threads, report)


@overload
def sinkhorn(
    a: Any,
    b: Any,
    *,
    points: Any = ...,
    cost: Any = ...,
    graph: Any = ...,
    weight: Optional[str] = ...,
    metric: str = ...,
    epsilon: float = ...,
    relative: bool = ...,
    max_iterations: int = ...,
    tolerance: float = ...,
    return_plan: Literal[False] = ...,
) -> float: ...
@overload
def sinkhorn(
    a: Any,
    b: Any,
    *,
    points: Any = ...,
    cost: Any = ...,
    graph: Any = ...,
    weight: Optional[str] = ...,
    metric: str = ...,
    epsilon: float = ...,
    relative: bool = ...,
    max_iterations: int = ...,
    tolerance: float = ...,
    return_plan: Literal[True],
) -> tuple[float, sparse.csr_array]: ...
def sinkhorn(
    a: Any,
    b: Any,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    epsilon: float = 0.01,
    relative: bool = True,
    max_iterations: int = 100_000,
    tolerance: float = 1e-9,
    return_plan: bool = False,
) -> Union[float, tuple[float, sparse.csr_array]]:
    """Cost of the entropic transport plan between two measures, without the entropy.

    It is never below `emd` and goes down to it with `epsilon`. The plan has the right marginals.

    Parameters
    ----------
    a, b, points, cost, graph, weight, metric
        As for `emd`.
    epsilon : float
        How much the entropy weighs.
    relative : bool
        Whether `epsilon` is a share of the largest distance between the two supports; otherwise it
        is in the unit of the distances.
    max_iterations : int
        Most iterations.
    tolerance : float
        Largest error of the marginals, relative to the mass, that counts as converged.
    return_plan : bool
        Whether to return the plan too.

    Returns
    -------
    value : float
        What the plan costs.
    plan : scipy.sparse.csr_array of shape (n_points, n_points)
        Which mass goes where; only with `return_plan`.

    Raises
    ------
    ValueError
        As `emd`, and where the iteration has not converged.

    Examples
    --------
    >>> import treeport as tp
    >>> value = tp.sinkhorn([0.5, 0.5], [0.5, 0.5], points=[[0.0], [1.0]], epsilon=1.0)
    >>> round(value, 6)  # 1/(1 + e)
    0.268941
    """
    problem = _Problem(a, b, points, cost, graph, metric, weight)
    options = (epsilon, relative, max_iterations, tolerance)
    return problem.answer(
        _core.sinkhorn(problem.a, problem.b, problem.costs, return_plan, *options)
    )
