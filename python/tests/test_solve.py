"""The answer to one problem as an object: `tp.solve`, and `tp.emd` as a layer over it."""

import inspect
import pickle
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import treeport as tp
import treeport.dask
from scipy.sparse import csr_array
from treeport import _core

LINE = pd.DataFrame({"km": [0.0, 1.0, 5.0]}, index=["home", "shop", "work"])


def clouds(n=40, m=50, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.dirichlet(np.ones(n)),
        rng.dirichlet(np.ones(m)),
        rng.normal(size=(n, dim)),
        rng.normal(size=(m, dim)),
    )


def distances(x, y):
    return np.linalg.norm(x[:, None] - y[None], axis=2)


def problems():
    """Arguments of problems for every kind of costs and every solver."""
    a, b, x, y = clouds()
    masses = np.zeros(200)
    masses[:100] = 1 / 100
    path = nx.path_graph(30)
    one_way = nx.cycle_graph(5, create_using=nx.DiGraph)
    yield "two sets", (a, b, x, y), {}
    yield "a matrix", (a, b, distances(x, y)), {}
    yield "single precision", (a, b, distances(x, y).astype(np.float32)), {}
    yield "few points", (a[:9] / a[:9].sum(), b[:8] / b[:8].sum(), x[:9], y[:8]), {}
    yield "a line", (masses, masses[::-1]), {"points": np.linspace(0, 1, 200)[:, None] ** 2}
    yield (
        "a circle",
        (masses, masses[::-1]),
        {"points": np.linspace(0, 6, 200)[:, None], "period": 2 * np.pi},
    )
    yield "condensed", ([1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [1.0, 2.0, 1.5]), {}
    yield "few against many", (*clouds(3, 400)[:2], distances(*clouds(3, 400)[2:])), {}
    yield "a graph", ({0: 1, 7: 2}, {29: 3}), {"graph": path, "weight": None}
    yield (
        "two components",
        ({0: 1, 5: 2}, {1: 1, 6: 2}),
        {"graph": nx.disjoint_union(nx.path_graph(3), nx.path_graph(5)), "weight": None},
    )
    yield "one way", ({0: 1}, {3: 1}), {"graph": one_way, "weight": None}
    yield "names", ({"home": 3}, {"shop": 1, "work": 2}), {"points": LINE}
    yield "no masses", (None, None, x, y), {}
    yield "a mass", (a, b, x, y), {"mass": 0.4}
    yield "a penalty", (2 * a, b, x, y), {"penalty": 0.7}
    yield "penalties", (2 * a, b, x, y), {"penalty": (np.full(40, 0.5), np.full(50, 0.9))}
    yield "a device", (a, b, x, y), {"device": "tiles"}


ALL = list(problems())
each = pytest.mark.parametrize(
    "given, options", [one[1:] for one in ALL], ids=[one[0] for one in ALL]
)


@each
def test_the_answer_is_that_of_emd(given, options):
    solution = tp.solve(*given, **options)
    value, plan = tp.emd(*given, return_plan=True, **options)
    assert solution.value == value == tp.emd(*given, **options)
    assert (solution.plan != plan).nnz == 0
    table = tp.emd(*given, return_plan="table", **options)[1]
    pd.testing.assert_frame_equal(solution.plan_table, table)
    assert solution.upper == solution.value
    assert 0 <= solution.gap <= 2e-9 * value
    assert solution.gap == solution.upper - solution.lower
    assert solution.route.startswith(
        ("line", "small", "lopsided", "table", "edges", "auction", "direct")
    )
    assert solution.engine in solution.route
    assert 0 < solution.seconds < 60


@each
@pytest.mark.parametrize(
    "how", [{}, {"accuracy": 0.2}, {"time": 5.0}], ids=["exact", "accuracy", "time"]
)
def test_potentials_prove_the_lower_bound(given, options, how):
    solution = tp.solve(*given, potentials=True, **options, **how)
    u, v = solution.potentials
    plan = solution.plan
    assert (len(u), len(v)) == plan.shape
    answer = tp.emd(*given, return_potentials=True, **options, **how)
    potentials = answer.potentials if how else answer[1]
    for ours, theirs in zip((u, v), potentials):
        np.testing.assert_array_equal(ours, theirs)
    if how:
        assert tuple(answer) == (solution.lower, solution.upper, None)
    if "mass" in options:
        assert max(u.max(), v.max()) <= solution.penalty
    elif "penalty" not in options:
        proved = plan.sum(axis=1) @ u + plan.sum(axis=0) @ v
        assert proved == pytest.approx(solution.lower, rel=1e-8)


@pytest.mark.parametrize("count", [20, 300, 900])
@pytest.mark.parametrize("dim", [1, 2])
def test_potentials_with_a_mass_prove_it(count, dim):
    a, b, x, y = clouds(count, count + 7)
    x, y, b = x[:, :dim], y[:, :dim], 1.5 * b
    for mass in (0.001, 0.4, 1.0):
        for how in ({}, {"accuracy": 0.05}):
            solution = tp.solve(a, b, x, y, mass=mass, potentials=True, **how)
            (u, v), penalty = solution.potentials, solution.penalty
            assert (u[:, None] + v <= distances(x, y) + 1e-12).all()
            assert max(u.max(), v.max()) <= penalty
            proved = a @ (u - penalty) + b @ (v - penalty) + 2 * mass * penalty
            assert proved == pytest.approx(solution.lower, rel=1e-8)
            # The problem with this penalty moves as much, and has the same potentials.
            other = tp.solve(a, b, x, y, penalty=penalty)
            lower = solution.lower + penalty * (a.sum() + b.sum() - 2 * mass)
            assert lower <= other.upper * (1 + 1e-8)


def test_bounds_are_named():
    a, b, x, y = clouds(300, 300)
    exact = tp.emd(a, b, x, y)
    solution = tp.solve(a, b, x, y, accuracy=0.3)
    bounds = tp.emd(a, b, x, y, accuracy=0.3, return_plan=True)
    assert (solution.lower, solution.upper) == bounds[:2] and (
        solution.plan != bounds.plan
    ).nnz == 0
    assert solution.lower <= exact <= solution.value == solution.upper <= 1.3 * solution.lower
    assert solution.gap > 0 and solution.engine == "sweeps"
    paid = (solution.plan.multiply(distances(x, y))).sum()
    assert paid <= solution.value == pytest.approx(paid, rel=1e-5)
    at_once = tp.solve(a, b, x, y, time=0)
    assert at_once.lower == 0 and at_once.engine == "direct" and at_once.value >= exact


def test_potentials_have_to_be_asked_for():
    solution = tp.solve([1.0], [1.0], [[2.0]])
    with pytest.raises(ValueError, match=r"ask for them, `solve\(…, potentials=True\)`"):
        solution.potentials


def test_the_answer_is_shown():
    a, b, x, y = clouds(300, 300)
    solution = tp.solve(a, b, x, y)
    assert repr(solution) == (
        f"Solution(value={solution.value!r}, gap={solution.gap:.3g}, moves={solution.plan.nnz}, "
        f"engine='table', seconds={solution.seconds:.3g})"
    )
    page = solution._repr_html_()
    said = " ".join(ET.fromstring(page).itertext())
    assert (
        f"value {solution.value:.10g} proved gap" in said
        and "a table of all costs is fastest" in said
    )
    assert "<svg" not in page


def test_verbose_says_which_solvers_answer(capsys):
    a, b, x, y = clouds(300, 300)
    tp.emd(a, b, x, y, verbose=True)
    said = capsys.readouterr().err
    assert said.startswith(
        "exact distance: table: 300 sources and 300 sinks; a table of all costs is fastest\n"
    )
    route = tp.solve(a, b, x, y, accuracy=0.2, verbose=True).route
    assert (
        route.startswith("sweeps, then table")
        and f"exact distance: {route}\n" in capsys.readouterr().err
    )


def test_reports_that_only_count_need_nothing_else():
    class Told(list):
        expect = explain = list.append

        def __call__(self, task, done, total):
            raise KeyboardInterrupt

    x, y = np.random.default_rng(0).normal(size=(2, 40_000, 20))
    masses, told = np.full(40_000, 1 / 40_000), Told()
    for report in (told, told.__call__):
        with pytest.raises(KeyboardInterrupt):
            _core.solve(masses, masses, (x, y, "euclidean"), wanted="value", report=report)
    assert len(told) == 1 and told[0].startswith("about ")


def test_the_answer_can_be_kept():
    solution = tp.solve({"home": 3}, {"shop": 1, "work": 2}, points=LINE, potentials=True)
    for again in (
        pickle.loads(pickle.dumps(solution)),
        pickle.loads(pickle.dumps((solution.plan_table, solution)[1])),
    ):
        assert repr(again) == repr(solution) and again.route == solution.route
        pd.testing.assert_frame_equal(again.plan_table, solution.plan_table)
        np.testing.assert_array_equal(again.potentials, solution.potentials)


def test_the_answer_does_not_depend_on_the_arrays_later():
    a, b, x, y = clouds()
    judge, solution = tp.solve(a, b, x, y, potentials=True), tp.solve(a, b, x, y, potentials=True)
    for array in (a, b, x, y):
        array[:] = 7.0
    assert (solution.plan != judge.plan).nnz == 0
    np.testing.assert_array_equal(solution.potentials[0], judge.potentials[0])


@pytest.mark.parametrize(
    "call, said",
    [
        (
            lambda: tp.solve([1.0], [1.0], [[2.0]], mass=1, penalty=1),
            "give mass or penalty, not both",
        ),
        (lambda: tp.solve([], [1.0], [[2.0]]), "a has no masses"),
        (lambda: tp.solve([1.0], [2.0], [[2.0]]), "have total mass 1 and 2"),
        (
            lambda: tp.solve([1.0], [1.0], [[2.0]], device="tiles"),
            "a device computes distances between points",
        ),
        (lambda: tp.solve([1.0], [1.0], [[2.0]], accuracy=-1), "the accuracy of a problem"),
        (lambda: tp.solve([1.0], [1.0], [[2.0]], time=-1), "time is a number of seconds"),
        (lambda: tp.solve([1.0], [1.0]), "give one of points, cost and graph|points, cost"),
    ],
)
def test_what_is_wrong_is_said_as_by_emd(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_docstrings_have_the_table_of_options():
    table = {row["name"]: row for row in _core.solve_options()}
    assert list(table) == ["mass", "penalty", "order", "accuracy", "time", "device"]
    for function, names, part in [
        (tp.solve, list(table), "of_one"),
        (tp.emd_pairs, ["penalty", "order", "accuracy", "time", "device"], "of_many"),
        (tp.emd_pairwise, ["penalty", "order", "accuracy", "time", "device"], "of_many"),
        (treeport.dask.emd_pairwise, ["penalty", "order", "accuracy", "device"], "of_many"),
    ]:
        words = " ".join(function.__doc__.split())
        parameters = inspect.signature(function).parameters
        assert "{options}" not in words
        for name in names:
            said = f"{table[name]['help']}. {table[name][part]}".strip().replace("`", '"')
            usual = 1.0 if name == "order" else None
            assert said in words and parameters[name].default == usual, name


def test_any_finite_time_is_a_limit():
    answer = tp.solve([1.0, 0.0], [0.0, 1.0], [[0.0, 2.0], [2.0, 0.0]], time=1e300)
    assert answer.lower == pytest.approx(2.0) and answer.upper == 2.0


def test_penalties_of_two_sides_are_arrays():
    with pytest.raises(
        ValueError, match="tuple that holds the number 1.0; a tuple holds two arrays"
    ):
        tp.emd([1.0], [1.0], [[2.0]], penalty=(1.0, 2.0))


def test_an_accuracy_that_no_proof_reaches_is_refused():
    with pytest.raises(
        ValueError,
        match="accuracy of a problem is .*; it must be exact, 0 or a number of at least 1e-9",
    ):
        tp.emd([1.0], [1.0], [[2.0]], accuracy=1e-15)


def test_a_time_limit_on_a_graph_always_gives_bounds():
    graph = csr_array([[0, 1.0], [1, 0]])
    answer = tp.solve([1, 1], [1.5, 0.5], graph=graph, time=0)
    assert answer.lower <= 0.5 <= answer.upper and answer.engine == "edges"
    relaxed = tp.solve([1, 1], [1.5, 0.5], graph=graph, time=0, penalty=5.0)
    assert relaxed.lower <= 0.5 <= relaxed.upper
    apart = csr_array([[0, 1.0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1.0], [0, 0, 1, 0]])
    answer = tp.solve([1, 1, 1, 0], [1.5, 0.5, 0, 1], graph=apart, time=0)
    assert answer.lower <= 1.5 <= answer.upper
    bounds = tp.emd_pairs([[1, 1, 1, 0], [1.5, 0.5, 0, 1]], [(0, 1)], graph=apart, time=0)
    assert bounds.lower[0] <= 1.5 <= bounds.upper[0]


def test_rates_where_one_measure_has_no_mass_in_a_component():
    graph = csr_array(np.kron(np.eye(3), [[0, 1.0], [1.0, 0]]))
    a, b = np.array([1.0, 0, 2, 0, 0, 0]), np.array([0, 1.0, 0, 0, 0, 0])
    of_a, of_b = tp.solve(a, b, graph=graph, penalty=3.0, rates=True).rates
    for rates, side in ((of_a, 0), (of_b, 1)):
        for node in range(6):
            more = [a.copy(), b.copy()]
            more[side][node] += 1e-6
            change = (
                tp.emd(*more, graph=graph, penalty=3.0) - tp.emd(a, b, graph=graph, penalty=3.0)
            ) / 1e-6
            assert rates[node] <= change + 1e-6
            if (a[node], b[node]) == (0, 0):
                assert rates[node] == pytest.approx(change, abs=1e-6)


def test_rates_without_an_answer_are_infinite_or_refused():
    costs = [[1, 2, np.inf], [5, 5, np.inf], [5, 5, 0]]
    _, of_b = tp.solve([1.0, 0, 0], [0, 1.0, 0], costs, rates=True).rates
    assert of_b[2] == np.inf and np.isfinite(of_b[:2]).all()
    one_way = csr_array([[0, 1.0], [0, 0]])
    with pytest.raises(ValueError, match="rates of a directed graph are unknown"):
        tp.solve([1.0, 0], [0, 1.0], graph=networkx_digraph(one_way), rates=True)


def networkx_digraph(matrix):
    return nx.from_scipy_sparse_array(matrix, create_using=nx.DiGraph)


def test_potentials_of_a_plan_at_hand_prove_the_bound_0():
    answer = tp.solve([1, 2], [1, 1], [[1, 2], [3, 0]], penalty=5.0, time=0, potentials=True)
    u, v = answer.potentials
    assert answer.lower == 0 and np.array([1, 2]) @ u + np.array([1, 1]) @ v == 0


def test_more_time_never_gives_wider_bounds_than_the_first_engine(rng):
    x, y = rng.normal(size=(2, 1600, 30))
    masses = rng.dirichlet(np.ones(1600), size=2)
    first = tp.solve(*masses, x, y, accuracy=0.5)
    for time in (0.02, 0.05, 0.1, 0.2, 0.4):
        answer = tp.solve(*masses, x, y, time=time)
        # Sweeps that a deadline ends have wider bounds than the first engine.
        if answer.lower > 0 and answer.engine != "sweeps":
            assert answer.lower >= first.lower * (1 - 1e-9) and answer.upper <= first.upper * (
                1 + 1e-9
            )
