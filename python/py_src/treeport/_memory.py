"""The memory limit of a computation step."""

from __future__ import annotations

from typing import Optional

from . import _core


def set_memory_limit(limit: Optional[int]) -> None:
    """Limits the memory that one computation step allocates beyond what is in use at its start.

    Tables of all pairs grow with the square of the number of rows. A step that needs more than the
    limit, or more than the machine, its container and `ulimit` allow, raises `MemoryError` with the
    step, its size and an alternative. Existing objects remain valid.

    Parameters
    ----------
    limit : int or None
        Bytes for the whole process. `None`, the default, uses the available memory.

    Raises
    ------
    ValueError
        A negative number.

    Examples
    --------
    >>> import treeport as tp
    >>> tp.set_memory_limit(4_000_000_000)
    >>> tp.set_memory_limit(None)
    """
    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}; it is a number of bytes, or None")
    _core.set_memory_limit(None if limit is None else int(limit))
