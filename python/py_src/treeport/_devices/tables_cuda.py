"""The operations of `tables` on a GPU, with PyTorch and Triton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

from .cuda import CudaDevice, check_device
from .tables import EXCLUDED, PADDING, SparseRows, TableEngine

#: The shape of a tile of pairs, whose sums stay in registers.
HEIGHT, WIDTH = PADDING, 64


@triton.jit  # type: ignore
def _subtract_shared(  # type: ignore[no-untyped-def]
    tile, start, columns, values, first, list_rows, list_values, begin, end, offset, width,
    SIZE: tl.constexpr,
):  # fmt: skip
    """Subtracts ``2 min(a, b)`` from one row of a tile for every shared rare column, in order.

    One program writes a row, and the rows in a list are distinct, so no two threads write the same
    entry between barriers. The order of subtractions is fixed, and the result is deterministic."""
    row = tl.program_id(0)
    line = tile + row.to(tl.int64) * width - offset
    for entry in range(tl.load(start + first + row), tl.load(start + first + row + 1)):
        column = tl.load(columns + entry)
        value = tl.load(values + entry)
        last = tl.load(end + column)
        for at in range(tl.load(begin + column), last, SIZE):
            places = at + tl.arange(0, SIZE)
            some = places < last
            to = line + tl.load(list_rows + places, mask=some, other=0)
            shared = tl.minimum(value, tl.load(list_values + places, mask=some, other=0.0))
            tl.store(to, tl.load(to, mask=some, other=0.0) - 2 * shared, mask=some)
        tl.debug_barrier()


@triton.jit  # type: ignore
def _sums(start, values, out, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Computes the sum of one row."""
    row = tl.program_id(0)
    last = tl.load(start + row + 1)
    total = tl.zeros((SIZE,), dtype=tl.float32)
    for at in range(tl.load(start + row), last, SIZE):
        places = at + tl.arange(0, SIZE)
        total += tl.load(values + places, mask=places < last, other=0.0)
    tl.store(out + row, tl.sum(total, axis=0))


class CudaTableEngine(CudaDevice, TableEngine):
    """Operations on one GPU."""

    # At this size the active rows stay in the cache during `subtract_shared`.
    block = 4096

    def __init__(self, device: str) -> None:
        self.device = check_device(device)
        #: Free buffers of pinned memory for copies of tiles to the host.
        self._free: list[Any] = []

    def array(self, values: Any) -> Any:
        values = torch.as_tensor(values).to(self.device)
        return values.to(torch.int64) if values.dtype == torch.int32 else values

    def single(self, values: Any) -> Any:
        return values.to(torch.float32)

    def short(self, numbers: Any) -> Any:
        return numbers.to(torch.int32)

    def arange(self, count: int) -> Any:
        return torch.arange(count, device=self.device)

    def repeat(self, values: Any, counts: Any) -> Any:
        return torch.repeat_interleave(values, counts)

    def counts(self, numbers: Any, size: int) -> Any:
        return torch.bincount(numbers, minlength=size)

    def begins(self, counts: Any) -> Any:
        begins = torch.zeros(len(counts) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(counts, 0, out=begins[1:])
        return begins

    def split(self, dense: Any) -> list[Any]:
        return [
            dense[:, at : at + self.block].contiguous()
            for at in range(0, dense.shape[1], self.block)
        ]

    def order(self, keys: Any) -> Any:
        return torch.argsort(keys, stable=True)

    def least(self, sets: list[SparseRows], nodes: int) -> Any:
        least = torch.full((nodes,), torch.inf, dtype=torch.float64, device=self.device)
        used = torch.zeros(nodes, dtype=torch.int64, device=self.device)
        for rows in sets:
            least.scatter_reduce_(0, rows.columns, rows.values, "amin")
            used += self.counts(rows.columns, nodes)
        return torch.where(used == sum(map(len, sets)), least, 0.0)

    def search(self, keys: Any, values: Any) -> Any:
        return torch.searchsorted(keys, values)

    def sums(self, rows: SparseRows) -> Any:
        sums = self.zeros(len(rows))
        _sums[(len(rows),)](rows.start, rows.values, sums, SIZE=128, num_warps=1)
        return sums

    def tile(self, left: Any, right: Any) -> Any:
        return self.cost_matrix(left, right, "absolutes", HEIGHT, WIDTH)

    def subtract_shared(
        self, tile: Any, rare: SparseRows, first: int, lists: SparseRows, parts: Any
    ) -> None:
        begin, end, offset = parts
        _subtract_shared[(tile.shape[0],)](
            tile, rare.start, rare.columns, rare.values, first, lists.columns, lists.values, begin, end, offset,
            tile.stride(0), SIZE=256, num_warps=8,
        )  # fmt: skip

    def finish(self, tile: Any, diagonal: bool) -> Any:
        tile.clamp_(min=0)
        return tile.fill_diagonal_(0) if diagonal else tile

    def nearest(self, tile: Any, count: int, first: int, itself: bool) -> Any:
        numbers = torch.arange(first, first + tile.shape[1], device=self.device)
        keys = tile.contiguous().view(torch.int32).to(torch.int64) << 32 | numbers
        if itself:
            keys.fill_diagonal_(EXCLUDED)
        return torch.topk(keys, min(count, keys.shape[1]), dim=1, largest=False, sorted=True).values

    def merged(self, a: Any, b: Any, count: int) -> Any:
        both = torch.cat([a, b], dim=1)
        return torch.topk(both, min(count, both.shape[1]), dim=1, largest=False, sorted=True).values

    def write(self, tile: Any, out: Any) -> Callable[[], None]:
        if isinstance(out, torch.Tensor):
            out.copy_(tile)
            return lambda: None
        # The copy to pinned memory overlaps with the computation of the next tile.
        pinned = self._free.pop() if self._free else self._new_pinned()
        sent = pinned[: tile.numel()].view(tile.shape)
        sent.copy_(tile, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()

        def end() -> None:
            arrived.synchronize()
            torch.from_numpy(out).copy_(sent)
            self._free.append(pinned)

        return end

    def _new_pinned(self) -> Any:
        return torch.empty(self.block**2, dtype=torch.float32, pin_memory=True)
