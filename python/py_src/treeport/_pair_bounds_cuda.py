"""The bounds of `_pair_bounds` on a GPU, with two Triton kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ._card_cuda import FORMULAS, check_device, more
from ._pair_bounds import MOST_POINTS, Engine, Rows, slack, some_costs, stages_of

#: Tile sizes; the kernel is compiled once for each.
_SIZES = (32, 64, 128, MOST_POINTS)
_WARPS = {32: 1, 64: 4, 128: 16, MOST_POINTS: 16}
_TILE = 64
#: The exponent of padding and massless entries.
_NOTHING = tl.constexpr(-1e30)


@triton.jit  # type: ignore
def _costs(  # type: ignore[no-untyped-def]
    left, right, out, dim, height, width, TILE: tl.constexpr, FORMULA: tl.constexpr
):  # fmt: skip
    """Computes a tile of the cost matrix; arrays store one coordinate after another."""
    rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    a_at = left + rows
    b_at = right + columns
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for _ in range(dim):
        total = more(total, tl.load(a_at)[:, None], tl.load(b_at)[None, :], FORMULA)
        a_at += height
        b_at += width
    if FORMULA == 0:
        total = tl.sqrt_rn(total)
    tl.store(out + rows.to(tl.int64)[:, None] * width + columns[None, :], total)


@triton.jit  # type: ignore
def _pairs(  # type: ignore[no-untyped-def]
    table, width, queries, rows, q_start, q_lines, q_places, q_masses, r_start, r_columns, r_places, r_masses,
    factors, sweeps, stages, out, largest_u, largest_v,
    N: tl.constexpr, M: tl.constexpr, TRIANGLES: tl.constexpr,
):  # fmt: skip
    """Computes the bound of one pair, with costs in registers.

    With `TRIANGLES`, the kernel first subtracts mass that both measures have at the same point.
    """
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
            to_row = 1.0 / tl.where(of_row > 0, tl.sum(plan * (of_query * to_query)[None, :], axis=1), 1.0)
            to_query = 1.0 / tl.where(of_query > 0, tl.sum(plan * (of_row * to_row)[:, None], axis=0), 1.0)
        u += tl.log2(to_row) / factor
        v += tl.log2(to_query) / factor
    # Points without mass impose no constraint.
    u = tl.where(a > 0, tl.min(cost - tl.where(b > 0, v, _NOTHING)[None, :], axis=1), _NOTHING)
    v = tl.min(cost - u[:, None], axis=0)
    worth = tl.sum(tl.where(a > 0, a * u.to(tl.float64), 0.0)) + tl.sum(tl.where(b > 0, b * v.to(tl.float64), 0.0))
    # The bound is 0 unless both sides have mass left.
    is_there = (tl.sum((a > 0).to(tl.int32)) > 0) & (tl.sum((b > 0).to(tl.int32)) > 0)
    tl.store(out + pair, tl.where(is_there, worth, 0.0))
    tl.store(largest_u + pair, tl.max(tl.where(a > 0, tl.abs(u), 0.0)))
    tl.store(largest_v + pair, tl.max(tl.where(b > 0, tl.abs(v), 0.0)))


class Cuda(Engine):
    """Lower bounds on one GPU."""

    def __init__(self, device: str) -> None:
        self.device = check_device(device)

    def _on_device(self, values: Any, kind: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, kind)).to(self.device)

    def lay_out(self, points: Any, formula: str, triangles: bool, lost: float) -> None:
        super().lay_out(torch.from_numpy(points).to(self.device), formula, triangles, lost)

    def keep(self, rows: Rows) -> Any:
        used, columns = np.unique(rows.places, return_inverse=True)
        arrays = [(rows.start, np.int64), (columns, np.int32), (rows.places, np.int32), (rows.masses, np.float64)]
        self.sizes, self.columns_used = np.diff(rows.start), len(used)
        return self._lines(self._on_device(used, np.int64)), [self._on_device(*array) for array in arrays]

    def _lines(self, places: Any) -> Any:
        """Returns the transposed coordinates of some points, padded to whole tiles."""
        size = -(-len(places) // _TILE) * _TILE
        lines = torch.zeros((self.points.shape[1], size), dtype=torch.float32, device=self.device)
        lines[:, : len(places)] = self.points[places].T
        return lines

    def begin(self, queries: Rows, rows: Any) -> None:
        self.right, self.kept = rows
        asked, lines = np.unique(queries.places, return_inverse=True)
        left = self._lines(self._on_device(asked, np.int64))
        (dim, height), width = left.shape, self.right.shape[1]
        self.table = torch.empty((height, width), dtype=torch.float32, device=self.device)
        with torch.cuda.device(self.device):
            grid = (width // _TILE, height // _TILE)
            _costs[grid](left, self.right, self.table, dim, height, width, _TILE, FORMULAS[self.formula], num_warps=4)
        arrays = [(queries.start, np.int64), (lines, np.int32), (queries.places, np.int32), (queries.masses, np.float64)]
        self.asked = [self._on_device(*array) for array in arrays]
        self.asked_sizes = np.diff(queries.start)
        stages = np.array(stages_of(some_costs(self.table[: len(asked), : self.columns_used]).mean()))
        self.factors = self._on_device(1 / (stages[:, 0] * np.log(2)), np.float32)
        self.sweeps = self._on_device(stages[:, 1], np.int32)

    def bounds(self, queries: Any, rows: Any) -> Any:
        # Pairs are grouped by tile size, because each size has its own compiled kernel.
        kinds = np.searchsorted(_SIZES, np.maximum(self.sizes[rows], self.asked_sizes[queries]))
        found = np.empty(len(queries))
        parts = [(some, self._some(queries[some], rows[some], size)) for size, some in _by_size(kinds)]
        for some, (worth, u, v) in parts:
            found[some] = (worth - self.lost - slack(u.double(), v.double())).cpu().numpy()
        return found

    def _some(self, queries: Any, rows: Any, size: int) -> tuple[Any, Any, Any]:
        """Computes the bounds of pairs in tiles of one size."""
        worth = torch.empty(len(queries), dtype=torch.float64, device=self.device)
        u, v = torch.empty_like(worth, dtype=torch.float32), torch.empty_like(worth, dtype=torch.float32)
        with torch.cuda.device(self.device):
            _pairs[(len(queries),)](
                self.table, self.table.shape[1], self._on_device(queries, np.int32), self._on_device(rows, np.int32),
                *self.asked, *self.kept, self.factors, self.sweeps, len(self.factors), worth, u, v,
                size, size, self.triangles, num_warps=_WARPS[size],
            )  # fmt: skip
        return worth, u, v


def _by_size(kinds: Any) -> Iterator[tuple[int, Any]]:
    """Yields each tile size with the indices of its pairs."""
    for kind in np.unique(kinds):
        yield _SIZES[kind], np.flatnonzero(kinds == kind)
