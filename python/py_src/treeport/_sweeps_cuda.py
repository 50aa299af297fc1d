"""The steps of `_sweeps` on a GPU, by one kernel of Triton."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ._card_cuda import FORMULAS, check_device, more
from ._sweeps import BLOCK, SUMS_OF_PLAN, Engine, Sides


@triton.jit  # type: ignore
def _step(  # type: ignore[no-untyped-def]
    points, tile_pair, tile_first, row_first, row_count, row_begin, column_first, column_count, column_begin,
    of_rows, of_columns, weights, inverse, out, costs, dim, size,
    WHAT: tl.constexpr, FORMULA: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One block of rows of one pair, over all columns of it; the costs of a block of columns stay in registers."""
    tile = tl.program_id(0)
    pair = tl.load(tile_pair + tile)
    rows = tl.load(tile_first + tile) + tl.arange(0, BLOCK)
    in_rows = rows < tl.load(row_count + pair)
    a_at = points + tl.load(row_first + pair) + tl.where(in_rows, rows, 0)
    to = tl.load(row_begin + pair) + rows
    of_row = tl.load(of_rows + to, mask=in_rows, other=0.0)
    from_column = tl.load(column_begin + pair)
    b_first = points + tl.load(column_first + pair)
    count = tl.load(column_count + pair)
    factor = tl.load(inverse + pair)
    most = tl.full((BLOCK,), -1e30, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    sums = tl.zeros((BLOCK,), dtype=tl.float64)
    spent = tl.zeros((BLOCK,), dtype=tl.float64)
    for at in range(0, count, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        in_columns = columns < count
        b_at = b_first + tl.where(in_columns, columns, 0)
        cost = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        a_next = a_at
        for _ in range(dim):
            a, b = tl.load(a_next), tl.load(b_at)
            cost = more(cost, a[:, None], b[None, :], FORMULA)
            a_next += size
            b_at += size
        if FORMULA == 0:
            cost = tl.sqrt_rn(cost)
        of_column = tl.load(of_columns + from_column + columns, mask=in_columns, other=-1e30)
        if WHAT == 1:
            most = tl.maximum(most, tl.max(of_column[None, :] - cost, axis=1))
        elif WHAT == 0:
            exponent = (of_column[None, :] - cost) * factor
            now = tl.maximum(most, tl.max(exponent, axis=1))
            total = total * tl.exp(most - now) + tl.sum(tl.exp(exponent - now[:, None]), axis=1)
            most = now
        else:
            weight = tl.load(weights + from_column + columns, mask=in_columns, other=0.0)
            plan = tl.exp(((of_row[:, None] + of_column[None, :]) - cost) * factor) * weight[None, :]
            sums += tl.sum(plan, axis=1).to(tl.float64)
            spent += tl.sum(plan * cost, axis=1).to(tl.float64)
    if WHAT == 2:
        tl.store(out + to, sums, mask=in_rows)
        tl.store(costs + to, spent, mask=in_rows)
    elif WHAT == 1:
        tl.store(out + to, -most, mask=in_rows)
    else:
        tl.store(out + to, -(most + tl.log(total)) / factor, mask=in_rows)


class Cuda(Engine):
    """The steps on one GPU."""

    def __init__(self, device: str) -> None:
        self.device = check_device(device)
        self._sides: dict[int, Any] = {}

    def lay_out(self, points: Any, formula: str) -> None:
        self.formula = formula
        self.lines = torch.from_numpy(points).to(self.device).T.contiguous()

    def array(self, values: Any) -> Any:
        return torch.from_numpy(np.asarray(values, np.float32)).to(self.device)

    def host(self, values: Any) -> Any:
        return values.to(torch.float64).cpu().numpy()

    def _whole(self, values: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, np.int64)).to(self.device)

    def _on_device(self, side: Sides) -> Any:
        """The numbers of a side, which stay for as long as the problem."""
        if id(side) not in self._sides:
            self._sides[id(side)] = [self._whole(part) for part in (side.first, side.count, side.begin)]
        return self._sides[id(side)]

    def step(
        self, what: int, rows: Sides, columns: Sides, pairs: Any, of_rows: Any, of_columns: Any, weights: Any, epsilon: Any
    ) -> tuple[Any, Any]:
        tiles = -(-rows.count[pairs] // BLOCK)
        tile_pair = np.repeat(pairs, tiles)
        tile_first = (np.arange(tiles.sum()) - np.repeat(np.cumsum(tiles) - tiles, tiles)) * BLOCK
        sums = what == SUMS_OF_PLAN
        kind = torch.float64 if sums else torch.float32
        out = torch.zeros(len(of_rows), dtype=kind, device=self.device)
        costs = torch.zeros(len(of_rows) if sums else 1, dtype=torch.float64, device=self.device)
        with self.chosen():
            _step[(len(tile_pair),)](
                self.lines, self._whole(tile_pair), self._whole(tile_first),
                *self._on_device(rows), *self._on_device(columns),
                of_rows, of_columns, of_columns if weights is None else weights, self.array(1 / epsilon), out, costs,
                self.lines.shape[0], self.lines.shape[1], what, FORMULAS[self.formula], BLOCK, num_warps=4,
            )  # fmt: skip
        return out, costs

    def chosen(self) -> Any:
        return torch.cuda.device(self.device)
