"""Devices: names, engines and out-of-memory errors.

Every computation on a GPU is an engine with two classes. The reference implementation in NumPy has
the name "tiles", runs everywhere and judges the other one in tests. The CUDA implementation is in
the module of the same name with the suffix ``_cuda``, in a class with the prefix ``Cuda``:

- `scans.ScanEngine`: nearest-neighbor queries over all pairs of points of one exact problem;
- `tables.TableEngine`: tables of tree distances, and nearest rows;
- `pair_bounds.PairBoundEngine`: lower bounds of many small problems, for search.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Optional, TypeVar

Engine = TypeVar("Engine")


def check_name(device: str) -> None:
    """Raises an error for an invalid device name; the device need not exist."""
    if device != "tiles" and str(device).split(":")[0] != "cuda":
        raise ValueError(
            f"device is {device!r}; it must be None, which is the CPU, or cuda, or cuda:1 and so on"
        )


def engine_on(device: str, reference: type[Engine]) -> Engine:
    """Returns the engine of a device: the reference implementation, or its CUDA version."""
    check_name(device)
    if device == "tiles":
        return reference()
    try:
        found = import_module(f"{reference.__module__}_cuda")
    except ImportError as error:
        wanted = 'pip install "treeport[gpu]"'
        raise ImportError(f"device={device!r} needs PyTorch and Triton: `{wanted}`") from error
    engine: Engine = getattr(found, f"Cuda{reference.__name__}")(str(device))
    return engine


def check_for_device(
    without_points: bool, metric: str, mass: Any, penalty: Any, period: Any
) -> None:
    """Raises an error for exact problems that devices do not support."""
    if without_points:
        raise ValueError(
            "a device computes distances between points: give `points`, or `x` and `y`, or leave out `device`"
        )
    if metric == "haversine":
        raise ValueError("a device supports no haversine; leave out `device`")
    for name, value in (("mass", mass), ("penalty", penalty), ("period", period)):
        if value is not None:
            raise ValueError(f"a device supports no {name}; leave out `device`, or `{name}`")


@contextmanager
def memory_errors(what: str, device: Optional[str], fewer: str) -> Iterator[None]:
    """Converts out-of-memory errors of PyTorch to `MemoryError` with advice."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(
            f"the {what} do not fit into the memory of {device}: {error}; give fewer {fewer}, or leave out `device`"
        ) from error
