"""Exact transport and tree distances in PyTorch, with gradients.

`emd` is `treeport.emd` for tensors, one pair of measures or many, with gradients in the masses and
in the points or costs. `TreeDistance` is the distance of a tree or a forest as a module, which
``TreeWasserstein.to_torch()`` makes."""

from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np

try:
    import torch

    from ._torch import TreeDistance
except ImportError as error:
    raise ImportError("treeport.torch needs PyTorch: `pip install torch`") from error

from . import _core
from ._gradients import (
    Plans,
    Shape,
    SolvedBatch,
    check_slopes,
    in_costs,
    in_masses,
    in_penalties,
    in_points,
    solve_batch,
    with_equal_totals,
)
from ._ground import check_period, geometry, with_metrics
from ._inputs import threads_of
from ._types import Floats, Period

__all__ = ["TreeDistance", "emd"]


@with_metrics
def emd(
    a: Optional[torch.Tensor],
    b: Optional[torch.Tensor],
    x: torch.Tensor,
    y: Optional[torch.Tensor] = None,
    *,
    metric: str = "euclidean",
    period: Optional[Period] = None,
    mass: Union[None, float, torch.Tensor] = None,
    penalty: Union[None, float, torch.Tensor, tuple[torch.Tensor, torch.Tensor]] = None,
    n_jobs: Optional[int] = None,
) -> torch.Tensor:
    """Computes exact transport costs (Wasserstein-1) of tensors, with gradients.

    ``emd(a, b, x, y)`` takes the coordinates of the points of `a` and of those of `b`,
    ``emd(a, b, M)`` a cost matrix. The values are those of `treeport.emd`, solved on the CPU in
    double precision, whichever device and type the tensors have.

    Parameters
    ----------
    a, b : tensor of shape (..., n) and (..., m), or None
        Masses at the points; the totals of a pair have to be equal, unless `mass` or `penalty` is
        given. `None` means the same mass at
        every point, 1 in total. All axes before the last are batch axes, as in the other tensors,
        and are broadcast. Totals of tensors in single or half precision may differ by rounding; the
        masses of `b` are then scaled to the total of `a`.
    x : tensor of shape (..., n, d), or (..., n, m) without `y`
        Coordinates of the points of `a`; or the cost from every point of `a` to every point of `b`.
    y : tensor of shape (..., m, d), optional
        Coordinates of the points of `b`.
    metric : {metrics}
        The distance between two points. "haversine" has no gradient in the points.
    period : float or sequence of float or None, optional
        The period of coordinates that wrap around, as for `treeport.emd`.
    mass : float or tensor of shape (...), optional
        How much mass moves; other mass costs nothing. One number for all problems, or one each.
    penalty : float, tensor of shape (...), or tuple of tensors of shapes (..., n) and (..., m), optional
        Cost of a unit of mass that does not move, on either side. One number for all problems, one
        each, or one for every point of `a` and of `b`.
    n_jobs : int, optional
        Problems of a batch that are solved at the same time; `None` and -1 mean one per processor.
        The result is the same for any number. Problems of up to 4,096 pairs of points are solved
        one after the other.

    Returns
    -------
    values : tensor of the shape of the batch, () without one
        On the device of the inputs, with the type that their types promote to.

    Raises
    ------
    TypeError
        An input is not a tensor.
    ValueError
        As `treeport.emd`, naming the entry of the batch; shapes that do not match; tensors on
        several devices.
    RuntimeError
        For second derivatives, which are not implemented.

    Notes
    -----
    Plans are computed only if points or costs require a gradient, potentials only if masses do.

    The gradient in the **masses** is the `rates` of `treeport.solve` minus their mean: the dual
    potentials of points with mass. Potentials are defined up to a constant, because the value is
    defined only for equal totals. Minus their mean they add up to 0, so a step along them keeps the
    total mass. Masses that are normalized or come from a softmax have the same gradient for every
    choice of the constant. At a point without mass, the gradient is the rate at which the value
    changes as mass arrives.

    With `penalty` or `mass` totals are free, and the gradient in the masses is the `rates` as they
    are. The gradient in the **penalty** is the mass that stays behind: of every point, or all of it.
    The gradient in the **mass** that moves is what moving a little more costs a unit.

    The gradient in the **points** is ``sum_j plan[i, j] * d cost(x[i], y[j]) / d x[i]``, and in the
    **costs** the plan.

    The value has kinks. If the optimal plan or the potentials are not unique, you get a
    subgradient: that of the plan and the potentials that `treeport.emd` returns. You also get a
    subgradient where a cost has a kink: 0 at equal points, and along equal coordinates for
    "manhattan"; for "chebyshev", the one along the first of the largest differences. At a distance
    of half a `period`, it is that of one of the two ways around.

    Examples
    --------
    >>> import torch
    >>> import treeport.torch as tt
    >>> x = torch.tensor([[0.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> y = torch.tensor([[3.0, 4.0]])
    >>> a = torch.tensor([0.5, 0.5], requires_grad=True)
    >>> value = tt.emd(a, torch.tensor([1.0]), x, y)
    >>> value.item()
    4.0
    >>> value.backward()
    >>> x.grad
    tensor([[-0.3000, -0.4000],
            [-0.5000,  0.0000]])
    >>> a.grad  # 5 and 3, less their mean
    tensor([ 1., -1.])

    A batch: two measures on shared points, each against a cloud of its own.

    >>> a = torch.tensor([[0.5, 0.5], [0.0, 1.0]])
    >>> tt.emd(a, None, x.detach(), torch.tensor([[[3.0, 4.0]], [[0.0, 0.0]]]))
    tensor([4., 4.])
    """
    relaxed = _relaxed(mass, penalty)
    given = {"a": a, "b": b, "x" if y is not None else "M": x, "y": y}
    given.update({name: one for name, one in relaxed.items() if not isinstance(one, (int, float))})
    numbers = {name: float(one) for name, one in relaxed.items() if name not in given}
    tensors = {name: tensor for name, tensor in given.items() if tensor is not None}
    device = _check_tensors(tensors, x)
    if y is None:
        check_period(period)
    else:
        tensors["x"], tensors["y"] = _rows(tensors["x"]), _rows(tensors["y"])
    problems = _Problems(tensors, numbers, metric, period, threads_of(n_jobs))
    dtype = _dtype(tensors)
    if not problems.has_gradient:
        return _on_device(problems.solve().values, device, dtype).reshape(problems.batch)
    # Autograd sums the gradients of inputs that problems share. Gradients of costs are large and
    # are summed here.
    shapes = problems.shapes
    expanded = [
        tensor if name == "M" else tensor.expand(problems.batch + shapes[name])
        for name, tensor in tensors.items()
    ]
    return _Emd.apply(problems, device, dtype, *expanded)


# Names of the inputs that relax a problem.
_RELAXED = {"mass", "penalty", "penalty_a", "penalty_b"}


def _relaxed(mass: Any, penalty: Any) -> dict[str, Any]:
    """Returns the mass or the penalties by name."""
    if mass is not None and penalty is not None:
        raise ValueError("give mass or penalty, not both")
    if mass is not None:
        return {"mass": mass}
    if penalty is None:
        return {}
    if not isinstance(penalty, tuple):
        return {"penalty": penalty}
    if len(penalty) != 2:
        raise ValueError(
            f"penalty is a tuple of {len(penalty)}; give one number, one tensor, or the tensors of the points of a and of b"
        )
    return {"penalty_a": penalty[0], "penalty_b": penalty[1]}


class _Problems:
    """A batch of problems as float64 arrays on the CPU, and the inputs that require gradients."""

    def __init__(
        self,
        tensors: dict[str, Any],
        numbers: dict[str, float],
        metric: str,
        period: Any,
        threads: int,
    ) -> None:
        self.names = list(tensors)
        self.shapes, self.batch = _shapes(tensors)
        self._count = int(np.prod(self.batch))
        self.wanted = {
            name for name, one in tensors.items() if torch.is_grad_enabled() and one.requires_grad
        }
        self._threads, self._period = threads, period
        self._geometry = geometry(metric, period)
        self._metric = metric
        if self.wanted & {"x", "y"}:
            # The canonical name of the metric; unknown metrics raise an error.
            made = _core.Ground.from_points(
                np.ones((1, self.shapes["x"][-1])), metric
            ).coordinates()
            assert made is not None
            self._metric = made[1]
            check_slopes(self._metric)
        self._arrays = {name: self._array(name, tensors[name]) for name in tensors}
        self._arrays.update({name: np.full(self._count, one) for name, one in numbers.items()})
        self._is_relaxed = bool(self._arrays.keys() & _RELAXED)
        self._matrices: Shape = tuple(tensors["M"].shape) if "M" in tensors else ()
        self._balance(tensors)

    @property
    def has_gradient(self) -> bool:
        return bool(self.wanted)

    def _array(self, name: str, tensor: Any) -> Floats:
        """Returns the numbers of all problems; shared inputs are broadcast without copies."""
        try:
            numbers = _on_host(tensor)
        except RuntimeError as error:
            raise RuntimeError(
                f"the numbers of {name} cannot be read, so there is nothing to solve; within torch.func (vmap, grad, jvp) and on "
                'the device "meta" tensors have none: give batches as axes, and take gradients by `backward`'
            ) from error
        shape = self.shapes[name]
        return np.broadcast_to(numbers, self.batch + shape).reshape(self._count, *shape)

    def _balance(self, tensors: dict[str, Any]) -> None:
        """Completes masses, and scales `b` if totals differ by rounding of their type only."""
        for name in "ab":
            if name not in self._arrays:
                (points,) = self.shapes[name]
                self._arrays[name] = np.broadcast_to(
                    np.full(points, 1 / points), (self._count, points)
                )
        coarse = [
            torch.finfo(one.dtype).eps
            for name, one in tensors.items()
            if name in "ab" and one.is_floating_point()
        ]
        largest = max(coarse, default=0.0)
        if largest > torch.finfo(torch.float64).eps:
            points = max(self.shapes["a"] + self.shapes["b"])
            share = 8 * largest * points**0.5
            if "mass" in self._arrays:
                mass, totals = (
                    self._arrays["mass"],
                    [self._arrays[name].sum(axis=1) for name in "ab"],
                )
                most = np.minimum(*totals)
                self._arrays["mass"] = np.where(
                    mass <= (1 + share) * most, np.minimum(mass, most), mass
                )
            if self._is_relaxed:
                return
            self._arrays["b"] = with_equal_totals(self._arrays["a"], self._arrays["b"], share)

    def _where(self, problem: int) -> str:
        """Returns the entry of the batch as a prefix of errors."""
        if not self.batch:
            return ""
        place = tuple(int(one) for one in np.unravel_index(problem, self.batch))
        return f"batch entry {place[0] if len(place) == 1 else place}: "

    def solve(self) -> SolvedBatch:
        arrays = self._arrays

        def costs(problem: int) -> Any:
            if "M" in arrays:
                return arrays["M"][problem]
            return arrays["x"][problem], arrays["y"][problem], self._geometry

        def relaxed(problem: int) -> dict[str, Any]:
            if "penalty_a" in arrays:
                return {"penalty": (arrays["penalty_a"][problem], arrays["penalty_b"][problem])}
            return {
                name: float(arrays[name][problem]) for name in ("mass", "penalty") if name in arrays
            }

        return solve_batch(
            arrays["a"],
            arrays["b"],
            costs,
            plans=bool(self.wanted & {"x", "y", "M", "penalty", "penalty_a", "penalty_b"}),
            rates=bool(self.wanted & {"a", "b", "mass"}),
            relaxed=relaxed,
            threads=self._threads,
            where=self._where,
        )

    def slopes(self, solved: SolvedBatch) -> dict[str, Floats]:
        """Computes the gradients in masses and points, in the shapes of the expanded tensors."""
        found: dict[str, Optional[Floats]] = {}
        if solved.rates is not None:
            found["a"], found["b"] = (
                side if self._is_relaxed else in_masses(side) for side in solved.rates
            )
            found["mass"] = 2 * solved.penalties
        if self.wanted & {"penalty", "penalty_a", "penalty_b"}:
            assert solved.plans is not None
            rest = in_penalties(solved.plans, self._arrays["a"], self._arrays["b"])
            found["penalty_a"], found["penalty_b"] = rest
            found["penalty"] = rest[0].sum(axis=1) + rest[1].sum(axis=1)
        if self.wanted & {"x", "y"}:
            assert solved.plans is not None
            x, y = self._arrays["x"], self._arrays["y"]
            sides = "x" in self.wanted, "y" in self.wanted
            found["x"], found["y"] = in_points(
                solved.plans, x, y, self._metric, self._period, *sides
            )
        whole = {
            name: rows for name, rows in found.items() if rows is not None and name in self.wanted
        }
        return {name: rows.reshape(self.batch + self.shapes[name]) for name, rows in whole.items()}

    def forget_numbers(self) -> None:
        """Releases the arrays, which are not needed after the gradients are computed."""
        self._arrays.clear()

    def slope_of_costs(self, plans: Plans, factors: Floats) -> Floats:
        """Computes the gradient in the costs, in their original shape, with `factors` of values."""
        numbers = np.arange(int(np.prod(self._matrices[:-2]))).reshape(self._matrices[:-2])
        matrix = np.broadcast_to(numbers, self.batch).reshape(-1)
        return in_costs(plans, factors, matrix, self._matrices)


class _Emd(torch.autograd.Function):  # type: ignore[misc]
    """Autograd function for the values of a batch of problems.

    The forward pass computes the gradients in masses and points, which the backward pass scales."""

    @staticmethod
    def forward(ctx: Any, problems: _Problems, device: Any, dtype: Any, *tensors: Any) -> Any:
        solved = problems.solve()
        slopes = problems.slopes(solved)
        problems.forget_numbers()
        ctx.problems, ctx.slopes = problems, list(slopes)
        ctx.plans = solved.plans if "M" in problems.wanted else None
        by_name = dict(zip(problems.names, tensors))
        held = [_on_device(rows, device, by_name[name].dtype) for name, rows in slopes.items()]
        asked = [tensor for name, tensor in by_name.items() if name in problems.wanted]
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        ctx.save_for_backward(*held, *asked)
        return _on_device(solved.values, device, dtype).reshape(problems.batch)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        problems: _Problems = ctx.problems
        count = len(ctx.slopes)
        held, asked = dict(zip(ctx.slopes, ctx.saved_tensors[:count])), ctx.saved_tensors[count:]
        found: list[Any] = [None, None, None]
        with torch.no_grad():
            for name, dtype in zip(problems.names, ctx.dtypes):
                if name == "M" and ctx.plans is not None:
                    rows = problems.slope_of_costs(ctx.plans, _on_host(grad).reshape(-1))
                    found.append(_on_device(rows, grad.device, dtype))
                elif name in held:
                    found.append(
                        grad.reshape(grad.shape + (1,) * len(problems.shapes[name])) * held[name]
                    )
                else:
                    found.append(None)
        if torch.is_grad_enabled():  # create_graph=True: gradients may be differentiated again
            found = [None if one is None else _Once.apply(one, grad, *asked) for one in found]
        return tuple(found)


class _Once(torch.autograd.Function):  # type: ignore[misc]
    """Identity on a gradient that raises an error when differentiated, instead of giving 0."""

    @staticmethod
    def forward(ctx: Any, gradient: Any, *sources: Any) -> Any:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise RuntimeError(
            "treeport.torch.emd has first derivatives only: plan and potentials jump, and their own derivatives are not "
            "known. Leave out create_graph=True, or detach the gradient before you go on with it"
        )


def _on_host(tensor: Any) -> Floats:
    """Copies a tensor to the CPU as float64; the cast runs there, as some devices lack float64."""
    return tensor.detach().cpu().to(torch.float64).numpy(force=True)  # type: ignore[no-any-return]


def _on_device(numbers: Floats, device: Any, dtype: Any) -> Any:
    """Copies numbers to a device as a tensor, and casts them before the transfer."""
    return torch.from_numpy(numbers).to(dtype).to(device)


def _check_tensors(tensors: dict[str, Any], ground: Any) -> Any:
    """Returns the common device, or raises an error unless all are dense real tensors on one."""
    if ground is None:
        raise ValueError(
            "give the coordinates of both sides, `emd(a, b, x, y)`, or a cost matrix, `emd(a, b, M)`"
        )
    first: Optional[str] = None
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"{name} is of type {type(tensor).__name__}; give a tensor (`torch.as_tensor`), or use treeport.emd"
            )
        if tensor.layout != torch.strided:
            raise ValueError(f"{name} is sparse; give `{name}.to_dense()`")
        if tensor.is_complex():
            raise ValueError(
                f"{name} is complex; give real numbers, such as their absolute values (`{name}.abs()`)"
            )
        if first is None:
            first = name
        elif tensor.device != tensors[first].device:
            raise ValueError(
                f"{first} is on {tensors[first].device}, {name} on {tensor.device}; bring all to one device (`.to`)"
            )
    return ground.device


def _rows(points: Any) -> Any:
    """Returns points as rows of coordinates; a tensor of one axis has one coordinate per point."""
    return points[:, None] if points.ndim == 1 else points


def _dtype(tensors: dict[str, Any]) -> Any:
    """Returns the type to which the types of all floating-point tensors promote."""
    found = None
    for tensor in tensors.values():
        if tensor.is_floating_point():
            found = tensor.dtype if found is None else torch.promote_types(found, tensor.dtype)
    return torch.get_default_dtype() if found is None else found


def _shapes(tensors: dict[str, Any]) -> tuple[dict[str, Shape], Shape]:
    """Returns the shapes of the inputs of one problem and of the batch, after validation."""
    axes = {"a": 1, "b": 1, "x": 2, "y": 2, "M": 2, **dict.fromkeys(_RELAXED, 0)}
    axes["penalty_a"] = axes["penalty_b"] = 1
    expected = {
        "a": "(..., n)",
        "b": "(..., m)",
        "x": "(..., n, d)",
        "y": "(..., m, d)",
        "M": "(..., n, m)",
        "penalty_a": "(..., n)",
        "penalty_b": "(..., m)",
    }
    for name, tensor in tensors.items():
        if tensor.ndim < axes[name]:
            what = "the cost matrix" if name == "M" else name
            raise ValueError(f"{what} has shape {tuple(tensor.shape)}, expected {expected[name]}")
    shapes: dict[str, Shape] = {
        name: tuple(one.shape[one.ndim - axes[name] :]) for name, one in tensors.items()
    }
    if "M" in shapes:
        _fit_matrix(shapes)
    else:
        _fit_points(shapes)
    for name in "ab":
        given = shapes.get(f"penalty_{name}", shapes[name])
        if given != shapes[name]:
            raise ValueError(
                f"penalty has {given[0]} numbers for {shapes[name][0]} points of {name}; give one for each"
            )
    batches = {name: tuple(one.shape[: one.ndim - axes[name]]) for name, one in tensors.items()}
    try:
        return shapes, np.broadcast_shapes(*batches.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in batches.items())
        raise ValueError(
            f"the batches have shapes {listed}; axes have to be equal, 1, or left out"
        ) from None


def _fit_matrix(shapes: dict[str, Shape]) -> None:
    """Checks the masses against the shape of the cost matrix; completes those that are `None`."""
    rows, columns = shapes["M"]
    shapes.setdefault("a", (rows,))
    shapes.setdefault("b", (columns,))
    wanted = shapes["a"] + shapes["b"]
    if wanted != shapes["M"]:
        raise ValueError(
            f"the cost matrix has shape {shapes['M']}, expected {wanted}: a row for each mass of a, a column for each of b"
        )
    _refuse_empty(shapes)


def _fit_points(shapes: dict[str, Shape]) -> None:
    """Checks the masses against the shapes of the points; completes those that are `None`."""
    for name, points in zip("ab", "xy"):
        (size,) = shapes.setdefault(name, shapes[points][:1])
        if size != shapes[points][0]:
            raise ValueError(f"{name} has {size} masses, and {points} has {shapes[points][0]} rows")
    if shapes["x"][1] != shapes["y"][1]:
        raise ValueError(
            f"x has {shapes['x'][1]} coordinates a point, y {shapes['y'][1]}; the numbers have to be equal"
        )
    if not shapes["x"][1]:
        raise ValueError("x and y have no coordinates; points need at least one")
    _refuse_empty(shapes)


def _refuse_empty(shapes: dict[str, Shape]) -> None:
    for name in "ab":
        if not shapes[name][0]:
            raise ValueError(f"{name} has no points; a measure needs at least one")
