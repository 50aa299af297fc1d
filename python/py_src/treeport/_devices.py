"""Device names, imports of device engines, and out-of-memory errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def check_name(device: str) -> None:
    """Raises an error for an invalid device name; the device need not exist."""
    if device != "tiles" and str(device).split(":")[0] != "cuda":
        raise ValueError(f"device is {device!r}; it must be None, which is the CPU, or cuda, or cuda:1 and so on")


def engine_on(device: str, twin: Any, module: str) -> Any:
    """Returns the engine of a device: `Cuda` of a module, or a NumPy twin for "tiles" (tests)."""
    check_name(device)
    if device == "tiles":
        return twin()
    try:
        found = import_module(f".{module}", __package__)
    except ImportError as error:
        wanted = 'pip install "treeport[gpu]"'
        raise ImportError(f"device={device!r} needs PyTorch and Triton: `{wanted}`") from error
    return found.Cuda(str(device))


@contextmanager
def memory_errors(what: str, device: str, fewer: str) -> Iterator[None]:
    """Converts out-of-memory errors of PyTorch to `MemoryError` with advice."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(
            f"the {what} do not fit into the memory of {device}: {error}; give fewer {fewer}, or leave out `device`"
        ) from error
