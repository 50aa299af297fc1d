"""The steps of `_pair_bounds` on a GPU, by two kernels of Triton."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ._card_cuda import FORMULAS, check_device, more
from ._pair_bounds import MOST_POINTS, Engine, Rows, epsilons, slack

#: Sizes of tiles, each compiled once.
_SIZES = (32, 64, 128, MOST_POINTS)
_TILE = 64
#: The exponent of what is not there.
_NOTHING = tl.constexpr(-1e30)


@triton.jit  # type: ignore
def _costs(  # type: ignore[no-untyped-def]
    left, right, out, dim, height, width, TILE: tl.constexpr, FORMULA: tl.constexpr
):  # fmt: skip
    """A tile of the table of costs; coordinates lie one after another."""
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
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
    factors, sweeps, out, largest_u, largest_v,
    N: tl.constexpr, M: tl.constexpr, TRIANGLES: tl.constexpr,
):  # fmt: skip
    """One pair, whose costs stay in registers: mass that both have is left out, duals are swept and made feasible."""
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
        there = tl.load(q_places + q_at, mask=in_query, other=-2)
        both = tl.where(here[:, None] == there[None, :], tl.minimum(a[:, None], b[None, :]), 0.0)
        a -= tl.sum(both, axis=1)
        b -= tl.sum(both, axis=0)
    log_a = tl.where(a > 0, tl.log2(tl.maximum(a.to(tl.float32), 1e-37)), _NOTHING)
    log_b = tl.where(b > 0, tl.log2(tl.maximum(b.to(tl.float32), 1e-37)), _NOTHING)
    u = tl.zeros((N,), dtype=tl.float32)
    v = tl.zeros((M,), dtype=tl.float32)
    for sweep in range(sweeps):
        factor = tl.load(factors + sweep)
        exponent = (v * factor + log_b)[None, :] - cost * factor
        most = tl.max(exponent, axis=1)
        u = -(most + tl.log2(tl.sum(tl.exp2(exponent - most[:, None]), axis=1))) / factor
        exponent = (u * factor + log_a)[:, None] - cost * factor
        most = tl.max(exponent, axis=0)
        v = -(most + tl.log2(tl.sum(tl.exp2(exponent - most[None, :]), axis=0))) / factor
    # What has no mass keeps nobody from anything.
    v = tl.where(b > 0, v, _NOTHING)
    u = tl.where(a > 0, tl.min(cost - v[None, :], axis=1), _NOTHING)
    v = tl.min(cost - u[:, None], axis=0)
    worth = tl.sum(tl.where(a > 0, a * u.to(tl.float64), 0.0)) + tl.sum(tl.where(b > 0, b * v.to(tl.float64), 0.0))
    tl.store(out + pair, worth)
    tl.store(largest_u + pair, tl.max(tl.where(a > 0, tl.abs(u), 0.0)))
    tl.store(largest_v + pair, tl.max(tl.where(b > 0, tl.abs(v), 0.0)))


class Cuda(Engine):
    """The steps on one GPU."""

    def __init__(self, device: str) -> None:
        self.device = check_device(device)

    def _on_device(self, values: Any, kind: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, kind)).to(self.device)

    def lay_out(self, points: Any, formula: str, triangles: bool, lost: float) -> None:
        super().lay_out(torch.from_numpy(points).to(self.device), formula, triangles, lost)

    def keep(self, rows: Rows) -> Any:
        used, columns = np.unique(rows.places, return_inverse=True)
        arrays = [(rows.start, np.int64), (columns, np.int32), (rows.places, np.int32), (rows.masses, np.float64)]
        self.sizes = np.diff(rows.start)
        return self._lines(self._on_device(used, np.int64)), [self._on_device(*array) for array in arrays]

    def _lines(self, places: Any) -> Any:
        """Coordinates of some points, one after another, padded to whole tiles."""
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
            grid = (height // _TILE, width // _TILE)
            _costs[grid](left, self.right, self.table, dim, height, width, _TILE, FORMULAS[self.formula], num_warps=4)
        arrays = [(queries.start, np.int64), (lines, np.int32), (queries.places, np.int32), (queries.masses, np.float64)]
        self.asked = [self._on_device(*array) for array in arrays]
        self.asked_sizes = np.diff(queries.start)
        steps = np.array(epsilons(max(float(self.table[::16].mean()), 1e-6)))
        self.factors = self._on_device(1 / (steps * np.log(2)), np.float32)

    def bounds(self, queries: Any, rows: Any) -> Any:
        # Those of a size together: a kernel is compiled for each.
        heights, widths = (np.searchsorted(_SIZES, sizes) for sizes in (self.sizes[rows], self.asked_sizes[queries]))
        kinds = heights * len(_SIZES) + widths
        found = np.empty(len(queries))
        parts = []
        for kind in np.unique(kinds):
            some = np.flatnonzero(kinds == kind)
            parts.append((some, self._some(queries[some], rows[some], _SIZES[kind // len(_SIZES)], _SIZES[kind % len(_SIZES)])))
        for some, (worth, u, v) in parts:
            found[some] = (worth - self.lost - slack(u.double(), v.double())).cpu().numpy()
        return found

    def _some(self, queries: Any, rows: Any, height: int, width: int) -> tuple[Any, Any, Any]:
        """The bounds of pairs that fit into tiles of a size."""
        worth = torch.empty(len(queries), dtype=torch.float64, device=self.device)
        u, v = torch.empty_like(worth, dtype=torch.float32), torch.empty_like(worth, dtype=torch.float32)
        warps = min(16, max(1, height * width // 2048))
        with torch.cuda.device(self.device):
            _pairs[(len(queries),)](
                self.table, self.table.shape[1], self._on_device(queries, np.int32), self._on_device(rows, np.int32),
                *self.asked, *self.kept, self.factors, len(self.factors), worth, u, v,
                height, width, self.triangles, num_warps=warps,
            )  # fmt: skip
        return worth, u, v
