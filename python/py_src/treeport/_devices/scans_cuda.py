"""The queries of `scans` on a GPU, with PyTorch and two Triton kernels."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from .cuda import FORMULAS, CudaDevice, add_coordinate, check_device, costs_of
from .scans import BLOCK, CLOSED, ScanEngine


@triton.jit  # type: ignore
def _minima(  # type: ignore[no-untyped-def]
    left, right, prices, out, dim, height, width, blocks,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, FORMULA: tl.constexpr,
):  # fmt: skip
    """Computes the minimum of cost + price of `HEIGHT` rows over one block of `WIDTH` points."""
    down = height // HEIGHT
    rows = tl.program_id(0) % down * HEIGHT + tl.arange(0, HEIGHT)
    block = tl.program_id(0) // down
    others = block * WIDTH + tl.arange(0, WIDTH)
    total = costs_of(left, right, rows, others, dim, height, width, HEIGHT, WIDTH, FORMULA)
    total += tl.load(prices + others)[None, :]
    tl.store(out + rows.to(tl.int64) * blocks + block, tl.min(total, axis=1))


@triton.jit  # type: ignore
def _costs_of_blocks(  # type: ignore[no-untyped-def]
    left, right, prices, numbers, chosen, costs, values, noise, dim, height, width, count,
    BLOCK: tl.constexpr, TOGETHER: tl.constexpr, FORMULA: tl.constexpr,
):  # fmt: skip
    """Computes costs of one row to the points of selected blocks, and cost + price + noise."""
    row = tl.program_id(0)
    some = tl.program_id(1) * TOGETHER + tl.arange(0, TOGETHER)
    there = some < count
    block = tl.load(chosen + row.to(tl.int64) * count + some, mask=there, other=0)
    points = block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((TOGETHER, BLOCK), dtype=tl.float32)
    a_at = left + row
    b_at = right + points
    for _ in range(dim):
        total = add_coordinate(total, tl.load(a_at), tl.load(b_at), FORMULA)
        a_at += height
        b_at += width
    if FORMULA == 0:
        total = tl.sqrt_rn(total)
    number = tl.load(numbers + row).to(tl.uint32)
    mixed = (number * 0x9E3779B1) ^ (points.to(tl.uint32) * 0x85EBCA77)
    mixed = (mixed ^ (mixed >> 15)) * 0x2C1B3C6D
    mixed = mixed ^ (mixed >> 12)
    random = (mixed >> 8).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08
    at = (row.to(tl.int64) * count + some[:, None]) * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(costs + at, total, mask=there[:, None])
    tl.store(values + at, total + tl.load(prices + points) + noise * random, mask=there[:, None])


def _height(count: int) -> int:
    """Returns the rows of a tile: 128 with four warps was the fastest of five shapes on an H200."""
    return 128 if count > 64 else 32


class CudaScanEngine(CudaDevice, ScanEngine):
    """Queries on one GPU."""

    takes_all = False

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = check_device(device)

    def layout(self, points: Any) -> Any:
        """Returns points on the GPU: as rows, and transposed with padding to whole blocks."""
        rows = self.on_device(points)
        return rows, self.transposed(rows, BLOCK)

    def blocks_of(self, targets: Any) -> int:
        return int(targets[1].shape[1] // BLOCK)

    def padded(self, prices: Any, size: int) -> Any:
        padded = torch.full((size,), float(CLOSED), dtype=torch.float32, device=self.device)
        padded[: len(prices)] = self.on_device(prices)
        return padded

    def minima(self, left: Any, lines: Any, prices: Any, least: Any, kind: int) -> None:
        """Computes the minimum of cost + price for each row and block."""
        (dim, count), size = left.shape, lines.shape[1]
        height, blocks = _height(count), size // BLOCK
        grid = (count // height * blocks,)
        _minima[grid](
            left, lines, prices, least, dim, count, size, blocks, height, BLOCK, kind, num_warps=4
        )

    def scan(
        self,
        formula: str,
        sources: Any,
        rows: Any,
        targets: Any,
        prices: Any,
        most: int,
        noise: float,
    ) -> tuple[Any, Any, Any]:
        (count, size), kind = (len(rows), len(prices)), FORMULAS[formula]
        blocks, (points, lines) = size // BLOCK, targets
        numbers = self.on_device(rows)
        height = _height(count)
        left = self.transposed(sources[0][numbers], height)
        padded = left.shape[1]
        least = self.empty(padded, blocks)
        self.minima(left, lines, prices, least, kind)
        chosen = min(most, blocks)
        wanted = min(chosen + 1, blocks)
        least, order = torch.topk(least[:count], wanted, dim=1, largest=False, sorted=True)
        order = order[:, :chosen].contiguous()
        shape = (count, chosen * BLOCK)
        costs, values = self.empty(*shape), self.empty(*shape)
        grid = (count, -(-chosen // 16))
        _costs_of_blocks[grid](
            left, lines, prices, numbers, order, costs, values, noise, lines.shape[0], padded, size, chosen,
            BLOCK, 16, kind, num_warps=4,
        )  # fmt: skip
        taken = min(most, shape[1])
        values, first = torch.topk(
            values, min(most + 1, shape[1]), dim=1, largest=False, sorted=True
        )
        listed = first[:, :taken]
        found = torch.gather(order, 1, listed // BLOCK) * BLOCK + listed % BLOCK
        found = torch.where(found < len(points), found, -1).to(torch.int32)
        paid = torch.gather(costs, 1, listed)
        limit = torch.full((count,), float(CLOSED), dtype=torch.float32, device=self.device)
        if chosen < blocks:
            limit = least[:, chosen] + noise
        if shape[1] > most:
            limit = torch.minimum(limit, values[:, most])
        if taken < most:
            found = torch.nn.functional.pad(found, (0, most - taken), value=-1)
            paid = torch.nn.functional.pad(paid, (0, most - taken))
        return found, paid, limit
