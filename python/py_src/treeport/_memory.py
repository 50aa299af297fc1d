"""The memory limit of a computation step."""

from __future__ import annotations

from typing import Optional

from . import _core


def set_memory_limit(limit: Optional[int]) -> None:
    """Limit the memory that one computation step allocates beyond what is in use when it begins.

    Tables of all pairs grow with the square of the number of rows. If a step needs more than the limit, or more
    than the machine, its container and `ulimit` can spare, it raises `MemoryError`. The message names the step, its
    size and what to do instead. Nothing is lost.

    Parameters
    ----------
    limit : int or None
        Bytes for the whole process. `None`, the default, uses what the machine can spare.

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
