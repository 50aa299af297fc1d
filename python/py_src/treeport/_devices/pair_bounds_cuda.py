"""The bounds of `pair_bounds` on a GPU, with Triton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from .cuda import CudaDevice, check_device
from .pair_bounds import MOST_POINTS, MeasureRows, PairBoundEngine, slack, some_costs, stages_of

#: Tile sizes; the kernel is compiled once for each.
_SIZES = (32, 64, 128, MOST_POINTS)
_WARPS = {32: 1, 64: 4, 128: 16, MOST_POINTS: 16}
_TILE = 64
#: The exponent of padding and massless entries.
_NOTHING = tl.constexpr(-1e30)


@triton.jit  # type: ignore
def _pairs(  # type: ignore[no-untyped-def]
    table, width, queries, rows, q_start, q_lines, q_places, q_masses, r_start, r_columns, r_places, r_masses,
    factors, sweeps, stages, out, largest_u, largest_v,
    N: tl.constexpr, M: tl.constexpr, TRIANGLES: tl.constexpr,
):  # fmt: skip
    """Computes the bound of one pair, with costs in registers.

    With `TRIANGLES`, the kernel first subtracts mass that both measures have at the same point."""
    pair = tl.program_id(0)
    query, row = tl.load(queries + pair), tl.load(rows + pair)
    r_at = tl.load(r_start + row) + tl.arange(0, N)
    q_at = tl.load(q_start + query) + tl.arange(0, M)
    in_row = r_at < tl.load(r_start + row + 1)
    in_query = q_at < tl.load(q_start + query + 1)
    a = tl.load(r_masses + r_at, mask=in_row, other=0.0)
    b = tl.load(q_masses + q_at, mask=in_query, other=0.0)
    columns = tl.load(r_columns + r_at, mask=in_row, other=0)
    lines = tl.load(q_lines + q_at, mask=in_query, other=0)
    cost = tl.load(table + lines.to(tl.int64)[None, :] * width + columns[:, None])
    if TRIANGLES:
        here = tl.load(r_places + r_at, mask=in_row, other=-1)
        other = tl.load(q_places + q_at, mask=in_query, other=-2)
        both = tl.where(here[:, None] == other[None, :], tl.minimum(a[:, None], b[None, :]), 0.0)
        a -= tl.sum(both, axis=1)
        b -= tl.sum(both, axis=0)
    # Feasible initial duals, tight in at least one pair for every point, so that no sum below
    # underflows to 0.
    some_a, some_b = tl.where(a > 0, 0.0, _NOTHING), tl.where(b > 0, 0.0, _NOTHING)
    u = tl.min(cost - some_b[None, :], axis=1)
    v = tl.min(cost - (u + some_a)[:, None], axis=0)
    u = tl.min(cost - (v + some_b)[None, :], axis=1)
    of_row, of_query = a.to(tl.float32), b.to(tl.float32)
    there = (of_row > 0)[:, None] & (of_query > 0)[None, :]
    for stage in range(stages):
        factor = tl.load(factors + stage)
        plan = tl.exp2(tl.where(there, (u[:, None] + v[None, :] - cost) * factor, _NOTHING))
        to_row = tl.full((N,), 1.0, dtype=tl.float32)
        to_query = tl.full((M,), 1.0, dtype=tl.float32)
        for _ in range(tl.load(sweeps + stage)):
            to_row = 1.0 / tl.where(
                of_row > 0, tl.sum(plan * (of_query * to_query)[None, :], axis=1), 1.0
            )
            to_query = 1.0 / tl.where(
                of_query > 0, tl.sum(plan * (of_row * to_row)[:, None], axis=0), 1.0
            )
        u += tl.log2(to_row) / factor
        v += tl.log2(to_query) / factor
    # Points without mass impose no constraint.
    u = tl.where(a > 0, tl.min(cost - tl.where(b > 0, v, _NOTHING)[None, :], axis=1), _NOTHING)
    v = tl.min(cost - u[:, None], axis=0)
    worth = tl.sum(tl.where(a > 0, a * u.to(tl.float64), 0.0)) + tl.sum(
        tl.where(b > 0, b * v.to(tl.float64), 0.0)
    )
    # The bound is 0 unless both sides have mass left.
    is_there = (tl.sum((a > 0).to(tl.int32)) > 0) & (tl.sum((b > 0).to(tl.int32)) > 0)
    tl.store(out + pair, tl.where(is_there, worth, 0.0))
    tl.store(largest_u + pair, tl.max(tl.where(a > 0, tl.abs(u), 0.0)))
    tl.store(largest_v + pair, tl.max(tl.where(b > 0, tl.abs(v), 0.0)))


class CudaPairBoundEngine(CudaDevice, PairBoundEngine):
    """Lower bounds on one GPU."""

    def __init__(self, device: str) -> None:
        self.device = check_device(device)

    def lay_out(self, points: Any, formula: str, triangles: bool, lost: float) -> None:
        super().lay_out(self.on_device(points), formula, triangles, lost)

    def keep(self, rows: MeasureRows) -> Any:
        used, columns, arrays = self._uploaded(rows)
        self.sizes, self.columns_used = np.diff(rows.start), len(used)
        return columns, arrays

    def _uploaded(self, rows: MeasureRows) -> tuple[Any, Any, list[Any]]:
        """Returns the points in use, their transposed coordinates, and measures on the device."""
        used, places = np.unique(rows.places, return_inverse=True)
        arrays = [
            self.on_device(rows.start, np.int64),
            self.on_device(places, np.int32),
            self.on_device(rows.places, np.int32),
            self.on_device(rows.masses, np.float64),
        ]
        return used, self.transposed(self.points[self.on_device(used, np.int64)], _TILE), arrays

    def begin(self, queries: MeasureRows, rows: Any) -> None:
        right, self.kept = rows
        used, left, self.asked = self._uploaded(queries)
        self.asked_sizes = np.diff(queries.start)
        with self.current():
            self.table = self.cost_matrix(left, right, self.formula, _TILE, _TILE)
        sample = some_costs(self.table[: len(used), : self.columns_used])
        stages = np.array(stages_of(sample.mean()))
        self.factors = self.on_device(1 / (stages[:, 0] * np.log(2)), np.float32)
        self.sweeps = self.on_device(stages[:, 1], np.int32)

    def bounds(self, queries: Any, rows: Any) -> Any:
        # Pairs are grouped by tile size, because each size has its own compiled kernel.
        kinds = np.searchsorted(_SIZES, np.maximum(self.sizes[rows], self.asked_sizes[queries]))
        found = np.empty(len(queries))
        parts = [
            (some, self._some(queries[some], rows[some], size)) for size, some in _by_size(kinds)
        ]
        for some, (worth, u, v) in parts:
            found[some] = (worth - self.lost - slack(u.double(), v.double())).cpu().numpy()
        return found

    def _some(self, queries: Any, rows: Any, size: int) -> tuple[Any, Any, Any]:
        """Computes the bounds of pairs in tiles of one size."""
        worth = self.empty(len(queries), dtype=torch.float64)
        u, v = self.empty(len(queries)), self.empty(len(queries))
        with self.current():
            _pairs[(len(queries),)](
                self.table, self.table.shape[1], self.on_device(queries, np.int32), self.on_device(rows, np.int32),
                *self.asked, *self.kept, self.factors, self.sweeps, len(self.factors), worth, u, v,
                size, size, self.triangles, num_warps=_WARPS[size],
            )  # fmt: skip
        return worth, u, v


def _by_size(kinds: Any) -> Iterator[tuple[int, Any]]:
    """Yields each tile size with the indices of its pairs."""
    for kind in np.unique(kinds):
        yield _SIZES[kind], np.flatnonzero(kinds == kind)
