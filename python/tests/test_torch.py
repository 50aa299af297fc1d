"""What is there for PyTorch; torch is large, so it is tested where it is installed."""

import doctest
import pathlib
import re

import numpy as np
import pytest
import treeport as tp

torch = pytest.importorskip("torch", reason="PyTorch is not installed; `pip install torch` adds it")

import treeport.torch
from treeport.torch import emd


def test_values_and_gradients(words, documents):
    tw = tp.TreeWasserstein(words, epochs=3).fit(documents)
    measures = documents / documents.sum(axis=1, keepdims=True)
    module = tw.to_torch(torch.float64)
    A = torch.tensor(measures[:30], requires_grad=True)
    B = torch.tensor(measures[30:])
    values = module(A, B)
    np.testing.assert_allclose(
        values.detach().numpy(), tw.paired(measures[:30], measures[30:]), rtol=1e-9
    )
    values.sum().backward()
    # Along a move of mass that keeps the total.
    step = torch.zeros_like(B)
    step[:, 0], step[:, 1] = 1e-7, -1e-7
    ahead, behind = module(A.detach() + step, B), module(A.detach() - step, B)
    slope = (ahead - behind) / 2
    smooth = ((ahead + behind) / 2 - values.detach()).abs() < 1e-12  # away from kinks
    assert smooth.any()
    np.testing.assert_allclose((A.grad * step).sum(dim=1)[smooth], slope[smooth], atol=1e-12)


def test_it_is_a_module(words, documents, tmp_path):
    tw = tp.TreeWasserstein(words, epochs=3).fit(documents)
    module = tw.to_torch()
    one = torch.tensor(documents[0] / documents[0].sum(), dtype=torch.get_default_dtype())
    assert module(one, one).shape == (1,)
    torch.save(module, tmp_path / "module.pt")
    back = torch.load(tmp_path / "module.pt", weights_only=False)
    other = torch.tensor(documents[1] / documents[1].sum(), dtype=torch.get_default_dtype())
    assert torch.equal(module(one, other), back(one, other))


def test_gradcheck(words, documents):
    module = tp.TreeWasserstein(words, epochs=3).fit(documents).to_torch(torch.float64)
    rng = np.random.default_rng(0)
    A, B = (torch.tensor(rng.dirichlet(np.ones(25), size=3), requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(module, (A, B))


def test_unequal_totals_are_refused(rng):
    tree = tp.linkage(points=rng.normal(size=(400, 2)))
    from treeport._torch import TreeDistance

    for dtype in (torch.float32, torch.float64):
        module = TreeDistance(tree, dtype)
        A = torch.rand(5, 400, dtype=dtype)
        A = A / A.sum(dim=1, keepdim=True)
        B = A[torch.tensor([1, 2, 3, 4, 0])]
        assert torch.isfinite(module(A, B)).all()
        off = A.clone()
        off[3] *= 2
        with pytest.raises(
            ValueError, match="measures 3 have total mass 2 and 1; transport needs equal"
        ):
            module(off, B)
        with pytest.raises(ValueError, match="measures 0 have total mass 1 and nan"):
            module(A, B * float("nan"))
        with pytest.raises(ValueError, match="measures 0 have total mass 2 and 1"):
            module(2 * A[0], B[0])


def test_batches_have_the_distances_and_gradients_of_their_rows(words, documents):
    tw = tp.TreeWasserstein(words, epochs=3).fit(documents)
    module = tw.to_torch(torch.float64)
    masses = torch.tensor(documents / documents.sum(axis=1, keepdims=True))
    A = masses[:6].reshape(2, 3, -1).clone().requires_grad_()
    values = module(A[:, :, None], masses[None, None, 10:14])
    assert values.shape == (2, 3, 4)
    np.testing.assert_allclose(
        values.detach().reshape(6, 4).numpy(),
        tw.pairwise(documents[:6], documents[10:14]),
        rtol=1e-9,
    )
    values.sum().backward()
    rows = masses[:6].clone().requires_grad_()
    sum(module(rows[i], masses[j]).sum() for i in range(6) for j in range(10, 14)).backward()
    torch.testing.assert_close(A.grad.reshape(6, -1), rows.grad)


# treeport.torch.emd: exact transport with gradients. Its formulas are judged without PyTorch in test_gradients.py.

METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"]


def problems(count=4, n=5, m=7, d=3, seed=0):
    """Logits of masses, and points, that all want gradients."""
    random = torch.Generator().manual_seed(seed)
    shapes = (count, n), (count, m), (count, n, d), (count, m, d)
    return [
        torch.randn(shape, generator=random, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]


def masses(*logits):
    return [torch.softmax(one, dim=-1) for one in logits]


@pytest.mark.parametrize("metric", METRICS)
def test_emd_of_points_passes_gradcheck(metric):
    def value(p, q, x, y):
        return emd(*masses(p, q), x, y, metric=metric)

    assert torch.autograd.gradcheck(value, problems(2, 3, 4))


@pytest.mark.parametrize("metric", ["l2", "cityblock", "linf"])
def test_emd_knows_other_names_of_metrics(metric):
    assert torch.autograd.gradcheck(
        lambda p, q, x, y: emd(*masses(p, q), x, y, metric=metric), problems(1, 3, 4)
    )


def test_emd_of_periodic_points_passes_gradcheck():
    def value(p, q, x, y):
        return emd(*masses(p, q), x, y, period=[2.0, None, 3.0])

    assert torch.autograd.gradcheck(value, problems(2, 3, 4))


def test_emd_of_costs_passes_gradcheck():
    p, q, _, _ = problems(3, 3, 4)
    for shape in ((3, 4), (1, 3, 4), (3, 3, 4)):  # shared, and one each
        costs = torch.rand(
            shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
        ).requires_grad_()
        assert torch.autograd.gradcheck(
            lambda p, q, costs: emd(*masses(p, q), costs), (p, q, costs)
        )


def test_emd_of_shared_inputs_passes_gradcheck():
    p, q, x, y = problems(2, 3, 4, 2)
    for given in (
        (p, q[0], x[0], y),
        (p[0], q, x, y[0]),
        (p[0], q[0], x[0], y),
        (p[:, None], q, x[0], y[:, None]),
    ):
        given = [one.detach().clone().requires_grad_() for one in given]
        assert torch.autograd.gradcheck(lambda p, q, x, y: emd(*masses(p, q), x, y), given)


@pytest.mark.parametrize("metric", METRICS)
def test_emd_has_the_values_and_gradients_of_pot(metric):
    ot = pytest.importorskip("ot", reason="POT is not installed; `pip install POT` adds it")
    p, q, x, y = problems()
    # Away from ties plans are unique, and so are potentials but for a constant, which POT chooses as we do.
    a, b = (one.detach().requires_grad_() for one in masses(p, q))
    emd(a, b, x, y, metric=metric).sum().backward()
    ours = [one.grad for one in (a, b, x, y)]
    theirs = [one.detach().clone().requires_grad_() for one in (a, b, x, y)]
    total = 0
    for a_i, b_i, x_i, y_i in zip(*theirs):
        apart = x_i[:, None] - y_i[None]
        costs = {
            "euclidean": lambda: apart.norm(dim=-1),
            "sqeuclidean": lambda: (apart**2).sum(dim=-1),
            "manhattan": lambda: apart.abs().sum(dim=-1),
            "chebyshev": lambda: apart.abs().amax(dim=-1),
            "cosine": lambda: (
                1 - torch.nn.functional.cosine_similarity(x_i[:, None], y_i[None], dim=-1)
            ),
        }[metric]()
        total = total + ot.emd2(a_i, b_i, costs)
    total.backward()
    torch.testing.assert_close(emd(a, b, x, y, metric=metric).sum(), total, rtol=1e-9, atol=1e-9)
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine, other.grad, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("size", [6, 80])  # solved one after the other, and side by side
def test_emd_has_the_bits_of_treeport_emd(size):
    p, q, x, y = problems(6, size, size)
    a, b = masses(p, q)
    arrays = [one.detach().numpy() for one in (a, b, x, y)]
    wanted = [tp.emd(*of_one) for of_one in zip(*arrays)]
    assert emd(a, b, x, y).tolist() == wanted, "with gradients"
    assert emd(a, b, x, y, n_jobs=1).tolist() == wanted
    with torch.no_grad():
        assert emd(a, b, x, y).tolist() == wanted
    costs = torch.cdist(x, y).detach()
    assert emd(a, b, costs).tolist() == [
        tp.emd(*of_one) for of_one in zip(*arrays[:2], costs.numpy())
    ]
    one = emd(a[0], b[0], x[0], y[0])
    assert one.shape == () and one.item() == wanted[0]
    uniform = emd(None, None, x, y)
    assert uniform.tolist() == [tp.emd(None, None, *of_one) for of_one in zip(*arrays[2:])]
    line = emd(a[0], b[0], x[0, :, 0], y[0, :, 0])
    assert line.item() == tp.emd(arrays[0][0], arrays[1][0], arrays[2][0, :, 0], arrays[3][0, :, 0])


def test_emd_broadcasts_batches():
    p, q, x, y = problems()
    a, b = (one.detach() for one in masses(p, q))
    table = emd(a[:, None], b, x[0], y[0])
    assert table.shape == (4, 4)
    for i, j in np.ndindex(4, 4):
        assert table[i, j] == emd(a[i], b[j], x[0], y[0])
    table.sum().backward()
    rows = x[0].detach().clone().requires_grad_()
    sum(emd(a[i], b[j], rows, y[0]) for i in range(4) for j in range(4)).backward()
    torch.testing.assert_close(x.grad[0], rows.grad)
    none = emd(a[:0], b[:0], x[:0], y[0])
    assert none.shape == (0,)
    x.grad = None
    none.sum().backward()
    assert not x.grad.any()


def test_emd_works_out_only_what_is_asked_for(monkeypatch):
    asked = []
    solve = treeport.torch.solve_batch

    def noted(*given, **options):
        asked.append((options["plans"], options["rates"]))
        return solve(*given, **options)

    monkeypatch.setattr(treeport.torch, "solve_batch", noted)
    p, q, x, y = problems()
    a, b = masses(p, q)
    emd(a, b, x, y)
    emd(a.detach(), b.detach(), x, y.detach())
    emd(a.detach(), b.detach(), x.detach(), y)
    emd(a.detach(), b, x.detach(), y.detach())
    emd(a.detach(), b.detach(), x.detach(), y.detach())
    emd(a.detach(), b.detach(), torch.cdist(x, y))
    emd(a, b.detach(), torch.cdist(x, y).detach())
    with torch.no_grad():
        emd(a, b, x, y)
    neither, both = (False, False), (True, True)
    plans, rates = (True, False), (False, True)
    assert asked == [both, plans, plans, rates, neither, plans, rates, neither]


def test_emd_gives_gradients_to_those_alone_who_ask():
    p, q, x, y = problems()
    a, b = (one.detach() for one in masses(p, q))
    value = emd(a, b, x, y.detach())
    value.sum().backward()
    assert x.grad is not None and y.grad is None
    assert not emd(a, b, x.detach(), y.detach()).requires_grad


def test_gradients_at_equal_points_and_of_masses():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], requires_grad=True)
    y = torch.tensor([[0.0, 0.0], [4.0, 4.0]], requires_grad=True)
    a = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    emd(a, None, x, y).backward()
    torch.testing.assert_close(x.grad, torch.tensor([[0.0, 0.0], [-0.3, -0.4], [0.0, 0.0]]))
    torch.testing.assert_close(y.grad, torch.tensor([[0.0, 0.0], [0.3, 0.4]]))
    assert abs(a.grad.sum()) < 1e-6, "a step along it keeps the total"


def test_emd_keeps_types():
    p, q, x, y = problems(3, 300, 200, 2)
    exact = emd(*masses(p, q), x, y)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        cast = [one.detach().to(dtype).requires_grad_() for one in (*masses(p, q), x, y)]
        values = emd(*cast)
        assert values.dtype == dtype
        values.sum().backward()
        assert all(one.grad.dtype == dtype and torch.isfinite(one.grad).all() for one in cast)
        eps = torch.finfo(dtype).eps
        torch.testing.assert_close(values.double(), exact.detach(), rtol=20 * eps, atol=20 * eps)
    assert emd(masses(p)[0].float(), None, x, y).dtype == torch.float64
    whole = emd(
        torch.tensor([1, 1]), torch.tensor([2]), torch.tensor([[0], [1]]), torch.tensor([[3]])
    )
    assert whole.dtype == torch.get_default_dtype() and whole.item() == 5


def test_totals_of_single_precision_may_be_rounded():
    for seed in range(3):
        random = torch.Generator().manual_seed(seed)
        a = torch.softmax(4 * torch.randn(3000, generator=random), dim=0)
        a = a * (1 + 5e-6)
        points = torch.randn(3000, 2, generator=random)
        assert torch.isfinite(emd(a, None, points, points[:50]))
        with pytest.raises(ValueError, match="transport needs equal masses"):
            emd(a.double(), None, points, points[:50])
        with pytest.raises(ValueError, match="transport needs equal masses"):
            emd(1.01 * a, None, points, points[:50])


def test_second_derivatives_are_refused():
    p, q, x, y = problems()
    a, b = masses(p, q)
    refused = pytest.raises(
        RuntimeError, match="treeport.torch.emd has first derivatives only: .*create_graph=True"
    )
    (slope,) = torch.autograd.grad(emd(a, b, x, y).sum(), x, create_graph=True)
    assert slope.requires_grad, "or a penalty on it would be left out in silence"
    with refused:
        (slope**2).sum().backward()
    with refused:
        torch.autograd.grad((slope**2).sum(), x)
    costs = torch.cdist(x, y)
    (slope,) = torch.autograd.grad(emd(a, b, costs).sum(), costs, create_graph=True)
    with refused:
        slope[0, 0].sum().backward()
    with refused:
        torch.autograd.functional.hessian(lambda x: emd(a, b, x, y).sum(), x)
    # What only asks for a graph, and does not differentiate it, is not disturbed.
    (again,) = torch.autograd.grad(emd(a, b, x, y).sum(), x, create_graph=True)
    (plain,) = torch.autograd.grad(emd(a, b, x, y).sum(), x)
    assert torch.equal(again, plain)


def test_points_may_move_after_backward_and_not_before():
    p, q, x, y = problems()
    a, b = (one.detach() for one in masses(p, q))
    value = emd(a, b, x, y.detach())
    with torch.no_grad():
        x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.sum().backward()


def with_nan(tensor, *place):
    changed = tensor.detach().clone()
    changed[place] = float("nan")
    return changed


def test_errors_name_the_entry_of_the_batch():
    p, q, x, y = problems()
    a, b = (one.detach() for one in masses(p, q))
    table = torch.ones(2, 2, 3)
    cases = [
        (
            (with_nan(a, 3, 2), b, x, y),
            "^batch entry 3: measure 0 has mass NaN at point 2; masses must be finite",
        ),
        (
            (with_nan(a[0], 2), b[0], x[0], y[0]),
            "^measure 0 has mass NaN at point 2; masses must be finite",
        ),
        (
            (a, -b, x, y),
            "^batch entry 0: measure 1 has mass -0.* at point 0; masses must be finite and at least 0",
        ),
        (
            (a, b, with_nan(x, 1, 2, 0), y),
            "^batch entry 1: coordinate 0 of point 2 is NaN; coordinates must be finite",
        ),
        (
            (a, b, x, with_nan(y, 1, 2, 0)),
            "^batch entry 1: points_b: coordinate 0 of point 2 is NaN",
        ),
        (
            (a * torch.tensor([[1.0], [1.0], [2.0], [1.0]]), b, x, y),
            "^batch entry 2: measures 0 and 1 have total mass 2 and 1",
        ),
        ((0 * a, 0 * b, x, y), "^batch entry 0: measure 0 has no mass"),
        (
            (None, None, with_nan(table, 1, 0, 2)),
            "^batch entry 1: distance from point 0 to point 2 is NaN",
        ),
        (
            (None, None, -table),
            "^batch entry 0: distance from point 0 to point 0 is -1; distances must be finite",
        ),
        (
            (None, None, with_nan(torch.ones(2, 2, 2, 3), 1, 0, 1, 1)),
            r"^batch entry \(1, 0\): distance from point 1 to point 1",
        ),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            emd(*given)


def test_errors_about_shapes_and_kinds():
    p, q, x, y = (one.detach() for one in problems())
    a, b = masses(p, q)
    cases = [
        ((a[:, :4], b, x, y), "a has 4 masses, and x has 5 rows"),
        ((a, b[:, :4], x, y), "b has 4 masses, and y has 7 rows"),
        ((a, b, x[..., :2], y), "x has 2 coordinates a point, y 3; the numbers have to be equal"),
        ((a, b, x[..., :0], y[..., :0]), "x and y have no coordinates"),
        (
            (a[:3], b, x, y),
            r"the batches have shapes a \(3,\), b \(4,\), x \(4,\), y \(4,\); axes have to be equal, 1",
        ),
        ((a, b, x), r"the cost matrix has shape \(5, 3\), expected \(5, 7\)"),
        ((a, b, x[0, 0]), r"the cost matrix has shape \(3,\), expected \(..., n, m\)"),
        ((a[0, 0], b, x, y), r"a has shape \(\), expected \(..., n\)"),
        ((a[:, :0], b, x[:, :0], y), "a has no points; a measure needs at least one"),
        ((None, None, torch.ones(2, 0)), "b has no points"),
        (
            (a, b, None, y),
            r"give the coordinates of both sides, `emd\(a, b, x, y\)`, or a cost matrix",
        ),
        ((a.to_sparse(), b, x, y), r"a is sparse; give `a.to_dense\(\)`"),
        ((a, b, x.to(torch.complex128), y), "x is complex"),
        ((a, b.to("meta"), x, y), "a is on cpu, b on meta; bring all to one device"),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            emd(*given)
    with pytest.raises(
        TypeError,
        match=r"y is of type ndarray; give a tensor \(`torch.as_tensor`\), or use treeport.emd",
    ):
        emd(a, b, x, y.numpy())
    with pytest.raises(ValueError, match="the metric is `foo`; it must be euclidean, manhattan"):
        emd(a, b, x, y, metric="foo")
    with pytest.raises(ValueError, match="the metric is `foo`; it must be euclidean, manhattan"):
        emd(a, b, x.requires_grad_(), y, metric="foo")
    with pytest.raises(ValueError, match="period is 2.0, and it is that of coordinates"):
        emd(a, b, torch.cdist(x, y), period=2.0)
    with pytest.raises(ValueError, match="n_jobs is 0"):
        emd(a, b, x, y, n_jobs=0)
    with pytest.raises(RuntimeError, match="the numbers of a cannot be read.*torch.func"):
        torch.func.vmap(lambda a, b, x, y: emd(a, b, x, y))(a, b, x.detach(), y)


def test_haversine_has_gradients_in_the_masses_alone():
    places = torch.tensor([[48.2, 16.4], [52.5, 13.4]])
    a = torch.tensor([0.25, 0.75], requires_grad=True)
    emd(a, None, places, places, metric="haversine").backward()
    assert a.grad.sum().abs() < 1e-3 and a.grad[0] < 0 < a.grad[1]
    with pytest.raises(
        ValueError,
        match='metric="haversine" has no gradient in the points here, "euclidean", .* detach the points',
    ):
        emd(a, None, places.clone().requires_grad_(), places, metric="haversine")


def test_emd_on_a_gpu():
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    here = problems()
    there = [one.detach().cuda().requires_grad_() for one in here]
    values = [emd(*masses(p, q), x, y) for p, q, x, y in (here, there)]
    assert values[1].device.type == "cuda" and values[1].dtype == torch.float64
    torch.testing.assert_close(values[1].cpu(), values[0])
    for one in values:
        one.sum().backward()
    for left, right in zip(here, there):
        assert right.grad.device == right.device
        torch.testing.assert_close(right.grad.cpu(), left.grad)
    costs = [torch.cdist(x, y).detach().requires_grad_() for _, _, x, y in (here, there)]
    for one in costs:
        emd(None, None, one).sum().backward()
    torch.testing.assert_close(costs[1].grad.cpu(), costs[0].grad)
    with pytest.raises(ValueError, match="x is on cuda:0, y on cpu; bring all to one device"):
        emd(None, None, there[2], here[3])


def test_examples_in_docstrings_of_torch():
    assert doctest.testmod(treeport.torch).failed == 0


def test_the_section_of_the_tour_runs():
    page = pathlib.Path(__file__).parents[2] / "docs" / "TOUR.md"
    section = page.read_text(encoding="utf-8").split("## Gradients")[1]
    (block,) = re.findall(r"^```py\n(.*?)^```", section, re.M | re.S)
    p, q, x, y = problems()
    a, b = (one[0].detach().requires_grad_() for one in masses(p, q))
    names = {
        "a": a,
        "b": b,
        "x": x[0].detach().requires_grad_(),
        "y": y[0],
        "weights": masses(p)[0],
        "clouds": x,
        "target": y[1],
    }
    exec(block, names)
    assert a.grad is not None and names["x"].grad is not None and names["values"].shape == (4,)


def relaxations():
    """Names and inputs that relax four problems of 5 and 7 points, and want gradients."""
    random = torch.Generator().manual_seed(3)

    def drawn(*shape):
        one = 0.3 + torch.rand(shape, generator=random, dtype=torch.float64)
        return one.requires_grad_()

    yield "a penalty for all", lambda one: {"penalty": one}, [drawn()]
    yield "one for each problem", lambda one: {"penalty": one}, [drawn(2)]
    yield "one for each point", lambda p, q: {"penalty": (p, q)}, [drawn(2, 3), drawn(4)]
    yield "a mass", lambda one: {"mass": 0.5 * one}, [drawn(2)]


@pytest.mark.parametrize("kind", list(relaxations()), ids=lambda kind: kind[0])
def test_relaxed_emd_passes_gradcheck(kind):
    _, relaxed, inputs = kind

    def value(p, q, x, y, *more):
        a, b = masses(p, q)
        return emd(a, 1.4 * b, x, y, **relaxed(*more))

    assert torch.autograd.gradcheck(value, [*problems(2, 3, 4), *inputs])

    def of_costs(p, q, costs, *more):
        a, b = masses(p, q)
        return emd(a, 1.4 * b, costs.exp(), **relaxed(*more))

    p, q, *_ = problems(2, 3, 4)
    costs = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    assert torch.autograd.gradcheck(of_costs, [p, q, costs.requires_grad_(), *inputs])


def test_relaxed_emd_refuses_what_does_not_fit():
    a, x = torch.ones(3), torch.rand(3, 2)
    assert emd(a, 2 * a, x, x, mass=3.0) == emd(a, 2 * a, x, x, penalty=0.0) == 0.0
    for options, words in [
        ({"mass": 1.0, "penalty": 1.0}, "give mass or penalty, not both"),
        ({"mass": 3.5}, "mass is 3.5; it must be at least 0 and at most the smaller"),
        ({"penalty": -1.0}, "penalty is -1; it must be finite and at least 0"),
        ({"penalty": (a, a, a)}, "penalty is a tuple of 3"),
        ({"penalty": (a, torch.ones(4))}, "penalty has 4 numbers for 3 points of b"),
        ({"penalty": (a, -a)}, "the penalty of point 0 is -1"),
    ]:
        with pytest.raises(ValueError, match=words):
            emd(a, a, x, x, **options)
