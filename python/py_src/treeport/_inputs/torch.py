"""Tensors of PyTorch, dense or sparse, on any device, with or without gradients."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from ._table import NamedTable, comes_from


def is_mine(what: Any) -> bool:
    return comes_from(what, "torch") and hasattr(what, "detach") and hasattr(what, "layout")


def to_measures(what: Any) -> NamedTable:
    return NamedTable(lambda: _numbers(what))


def _numbers(tensor: Any) -> Any:
    """Copies the numbers to host memory as an array; makes no copy if they are there already."""
    here = tensor.detach().cpu()
    if str(here.dtype) in ("torch.bfloat16", "torch.float16"):  # NumPy lacks the first, SciPy both
        here = here.float()
    if str(here.layout) == "torch.strided":
        return here.numpy()
    entries = (here if here.ndim > 1 else here.unsqueeze(0)).to_sparse_coo().coalesce()
    places = tuple(entries.indices().numpy())
    return sparse.coo_array((entries.values().numpy(), places), shape=tuple(entries.shape)).tocsr()
