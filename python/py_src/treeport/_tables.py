"""Distance tables and nearest rows, computed by the compiled half or on a GPU."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _core
from ._devices import engine_on, memory_errors, tables
from ._inputs import neighbors_of
from ._types import Floats, Integers


def table_of(
    raw: _core.Model,
    left: _core.Measures,
    right: Optional[_core.Measures],
    out: Any,
    threads: int,
    device: Optional[str] = None,
) -> Any:
    """Computes all distances between two sets or within one, into `out` if given."""
    shape = (len(left), len(left if right is None else right))
    if device is not None:
        engine = engine_on(device, tables.TableEngine)
        out = _new(shape, np.float32) if out is None else _checked(out, shape, single=True)
        with memory_errors("measures", device, "rows at a time"), engine.current():
            tables.table(engine, *_sides(engine, raw, left, right, threads), right is None, out)
        return out
    if out is None:
        return raw.pairwise(left, right, threads)
    raw.pairwise_into(left, right, room_for(left, right, out), threads)
    return out


def room_for(left: _core.Measures, right: Optional[_core.Measures], out: Any) -> Floats:
    """Returns the validated `out`, or a new array, for all distances of two sets or within one."""
    shape = (len(left), len(left if right is None else right))
    room: Floats = _new(shape, np.float64) if out is None else _checked(out, shape, single=False)
    return room


def _new(shape: tuple[int, int], dtype: type) -> Any:
    """Allocates a table after a check of the memory limit."""
    _core.Model.check_table(shape[0] * shape[1] * np.dtype(dtype).itemsize)
    return np.empty(shape, dtype)


def _checked(out: Any, shape: tuple[int, int], single: bool) -> Any:
    """Validates `out`; with `single`, float32 arrays and tensors are valid as well."""
    dtypes = "float32 or float64" if single else "float64"
    expected = f"expected a writeable, aligned numpy array of {dtypes} with shape {shape}"
    is_tensor = single and type(out).__module__.split(".")[0] == "torch"
    if not (isinstance(out, np.ndarray) or is_tensor):
        raise ValueError(f"out is of type {type(out).__name__}; {expected}")
    if str(out.dtype).split(".")[-1] not in dtypes.split(" or ") or tuple(out.shape) != shape:
        raise ValueError(f"out has dtype {out.dtype} and shape {tuple(out.shape)}; {expected}")
    if not is_tensor and not (out.flags.writeable and out.flags.aligned):
        raise ValueError(
            f"out is {'not aligned' if out.flags.writeable else 'read-only'}; {expected}"
        )
    if not is_tensor and _overlaps_itself(out):
        raise ValueError(
            f"out has several entries in one place (strides {out.strides}); {expected}"
        )
    return out


def neighbors_among(n_neighbors: Any, among: int) -> int:
    """Returns the number of neighbors, limited to `among`, as in Rust and on the command line."""
    return min(neighbors_of(n_neighbors), among)


def _overlaps_itself(out: Any) -> bool:
    """Checks whether strides make entries overlap: a stride is less than an inner extent."""
    axes = sorted((abs(step), size) for step, size in zip(out.strides, out.shape) if size > 1)
    taken = out.itemsize
    for step, size in axes:
        if step < taken:
            return True
        taken += step * (size - 1)
    return False


def nearest_of(
    raw: _core.Model,
    left: _core.Measures,
    right: Optional[_core.Measures],
    n_neighbors: Any,
    threads: int,
    device: Optional[str] = None,
) -> tuple[Any, Integers]:
    """Finds distances and numbers of the nearest rows, without a full distance table."""
    count = neighbors_among(n_neighbors, max(0, len(left) - 1) if right is None else len(right))
    if count == 0:
        return np.empty((len(left), 0)), np.empty((len(left), 0), dtype=np.int64)
    if device is None:
        return raw.nearest(left, right, count, threads)
    engine = engine_on(device, tables.TableEngine)
    with memory_errors("measures", device, "rows at a time"), engine.current():
        sides = _sides(engine, raw, left, right, threads)
        return tables.nearest(engine, *sides, right is None, count)


def _sides(
    engine: tables.TableEngine,
    raw: _core.Model,
    left: _core.Measures,
    right: Optional[_core.Measures],
    threads: int,
) -> tuple[tables.TableSide, tables.TableSide]:
    raw.check_balanced(left, right)
    rows = [
        None if side is None else tables.SparseRows(*raw.embed(side, threads)[:3])
        for side in (left, right)
    ]
    assert rows[0] is not None
    return tables.sides(engine, rows[0], rows[1], raw.nodes)
