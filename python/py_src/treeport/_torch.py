"""The tree distance in PyTorch."""

from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np
import torch
from scipy import sparse

from ._forest import Forest
from ._tree import Tree


class TreeDistance(torch.nn.Module):  # type: ignore[misc]
    """Tree distances of rows of masses, differentiable in the masses.

    The distance is ``sum_v length(v) * |mass of A below v - mass of B below v|``. Gradients are
    exact; if the masses below a node are equal, they are subgradients. ``module.to("cuda")``
    computes on a GPU.

    Parameters
    ----------
    tree : Tree or Forest
    dtype : torch.dtype, optional
        Type of the masses; by default PyTorch's own default.
    """

    def __init__(self, tree: Union[Tree, Forest], dtype: Optional[torch.dtype] = None) -> None:
        super().__init__()
        # Column p is the embedding of a unit mass at point p.
        points = sparse.identity(tree.n_points, format="csr")
        embedding = tree.embed(points).T.tocoo()
        places = torch.from_numpy(np.stack([embedding.row, embedding.col]).astype(np.int64))
        values = torch.from_numpy(embedding.data).to(dtype or torch.get_default_dtype())
        matrix = torch.sparse_coo_tensor(places, values, embedding.shape, check_invariants=True)
        matrix = matrix.coalesce()
        self.register_buffer("matrix", matrix)

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """Computes distances along the last axis, that of the points; other axes are broadcast.

        Paired rows must have equal totals."""
        surplus = A - B
        if not torch.compiler.is_compiling():
            _check_totals(A.expand_as(surplus), surplus)
        columns = surplus.reshape(-1, surplus.shape[-1]).T
        distances = torch.sparse.mm(self.matrix, columns).abs().sum(dim=0)
        return distances.reshape(surplus.shape[:-1] or (1,))


def _check_totals(A: Any, surplus: Any) -> None:
    """Raises an error if paired rows have unequal totals, for which no transport plan exists."""
    with torch.no_grad():
        total, off = A.sum(dim=-1).abs(), surplus.sum(dim=-1).abs()
        # Rounding error of the sums, but at least a step of finite differences.
        tolerance = max(1e-5, 8 * torch.finfo(surplus.dtype).eps * surplus.shape[-1] ** 0.5)
        unequal = ~(off <= tolerance * total + torch.finfo(surplus.dtype).tiny)
        if bool(unequal.any()):
            at = int(unequal.reshape(-1).int().argmax())
            left = float(A.sum(dim=-1).reshape(-1)[at])
            right = left - float(surplus.sum(dim=-1).reshape(-1)[at])
            raise ValueError(
                f"measures {at} have total mass {left:.6g} and {right:.6g}; transport needs equal masses, "
                "divide each by its total first"
            )
