"""What the engines of a CUDA GPU share: the device, and a kernel for tiles of a cost matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

#: Cost formulas as the kernels number them.
FORMULAS = {"length": 0, "square": 1, "absolutes": 2, "largest": 3}
#: The lowest compute capability that Triton supports.
_OLDEST = (7, 0)


@triton.jit  # type: ignore
def add_coordinate(total, a, b, FORMULA: tl.constexpr):  # type: ignore[no-untyped-def]
    """Returns a cost accumulated over one more coordinate."""
    apart = a - b
    if FORMULA == 2:
        return total + tl.abs(apart)
    elif FORMULA == 3:
        return tl.maximum(total, tl.abs(apart))
    else:
        return total + apart * apart


@triton.jit  # type: ignore
def costs_of(  # type: ignore[no-untyped-def]
    left, right, rows, columns, dim, height, width,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, FORMULA: tl.constexpr,
):  # fmt: skip
    """Computes a tile of a cost matrix in registers.

    Both arrays store one coordinate after another, so each step reads two contiguous lines and
    updates all pairs of the tile. The lines of the next step are prefetched. Arrays are padded to
    whole tiles, because a mask would prevent vectorized loads."""
    a_at = left + rows
    b_at = right + columns
    total = tl.zeros((HEIGHT, WIDTH), dtype=tl.float32)
    a, b = tl.load(a_at), tl.load(b_at)
    for _ in range(1, dim):
        a_at += height
        b_at += width
        next_a, next_b = tl.load(a_at), tl.load(b_at)
        total = add_coordinate(total, a[:, None], b[None, :], FORMULA)
        a, b = next_a, next_b
    total = add_coordinate(total, a[:, None], b[None, :], FORMULA)
    if FORMULA == 0:
        total = tl.sqrt_rn(total)
    return total


@triton.jit  # type: ignore
def _cost_tile(  # type: ignore[no-untyped-def]
    left, right, out, dim, height, width,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, FORMULA: tl.constexpr,
):  # fmt: skip
    """Writes a tile of the cost matrix of `height` by `width` points."""
    down = height // HEIGHT
    rows = tl.program_id(0) % down * HEIGHT + tl.arange(0, HEIGHT)
    columns = tl.program_id(0) // down * WIDTH + tl.arange(0, WIDTH)
    total = costs_of(left, right, rows, columns, dim, height, width, HEIGHT, WIDTH, FORMULA)
    tl.store(out + rows[:, None].to(tl.int64) * width + columns[None, :], total)


def check_device(device: str) -> torch.device:
    """Returns the GPU of this name if it exists and Triton supports it, or raises an error."""
    try:
        found, wanted = torch.cuda.device_count(), torch.device(device)
    except RuntimeError as error:
        raise ValueError(
            f"device is {device!r}; it must be None, which is the CPU, or cuda, or cuda:1 and so on"
        ) from error
    if (wanted.index or 0) >= found:
        raise ValueError(
            f"device is {device!r}, and PyTorch finds {found} GPUs here; leave out `device`"
        )
    if torch.cuda.get_device_capability(wanted) < _OLDEST:
        name = torch.cuda.get_device_name(wanted)
        raise ValueError(
            f"device is {device!r}, a {name}, which is too old for Triton; leave out `device`"
        )
    return wanted


class CudaDevice:
    """One GPU: the base of the engines that use it."""

    device: torch.device

    def current(self) -> Any:
        """Returns a context manager in which the device is the current one."""
        return torch.cuda.device(self.device)

    def host(self, values: Any) -> Any:
        """Returns values as a NumPy array."""
        return values.cpu().numpy()

    def on_device(self, values: Any, kind: Any = None) -> Any:
        """Copies an array to the device."""
        return torch.from_numpy(np.ascontiguousarray(values, kind)).to(self.device)

    def empty(self, *shape: int, dtype: Any = torch.float32) -> Any:
        """Returns an uninitialized array on the device."""
        return torch.empty(shape, dtype=dtype, device=self.device)

    def zeros(self, *shape: int) -> Any:
        """Returns an array of zeros in single precision."""
        return torch.zeros(shape, dtype=torch.float32, device=self.device)

    def transposed(self, points: Any, multiple: int) -> Any:
        """Returns one coordinate after another, padded to a multiple of points."""
        lines = self.zeros(points.shape[1], -(-len(points) // multiple) * multiple)
        lines[:, : len(points)] = points.T
        return lines

    def cost_matrix(self, left: Any, right: Any, formula: str, height: int, width: int) -> Any:
        """Computes the cost matrix of two transposed point sets in tiles of this shape."""
        (dim, rows), columns = left.shape, right.shape[1]
        out = self.empty(rows, columns)
        grid = (rows // height * (columns // width),)
        _cost_tile[grid](
            left, right, out, dim, rows, columns, height, width, FORMULAS[formula], num_warps=4
        )
        return out
