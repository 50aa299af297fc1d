"""Conversion from and to scikit-bio: phylogenies and distance matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ._inputs import ids_of, texts
from ._types import DistanceMatrix, Distances, Floats, Integers


def arrays_of(node: Any, names: Optional[Sequence[str]]) -> tuple[Integers, Floats, list[str]]:
    """Returns parents, lengths and tip names of a `TreeNode`, numbered as in `Tree`."""
    if not all(hasattr(node, part) for part in ("postorder", "children", "length", "name")):
        raise TypeError(
            f"the tree is of type {type(node).__name__}; give a skbio.TreeNode, or text to `Tree.from_newick`"
        )
    nodes = list(node.postorder(include_self=True))
    tips = [one for one in nodes if not one.children]
    number = dict(zip(map(id, tips), _places([tip.name for tip in tips], names)))
    for one in nodes:  # children come before parents
        number.setdefault(id(one), len(number))
    parents, lengths = np.empty(len(nodes), dtype=np.int64), np.zeros(len(nodes))
    for one in nodes:
        at = number[id(one)]
        parents[at] = at if one is node else number[id(one.parent)]
        lengths[at] = 0.0 if one is node else _length(one)
    called = [""] * len(tips)
    for tip in tips:
        called[number[id(tip)]] = tip.name
    return parents, lengths, called


def _places(tips: list[Optional[str]], names: Optional[Sequence[str]]) -> list[int]:
    """Returns the number of every tip: in order of appearance, or in the order of `names`."""
    if None in tips or "" in tips:
        raise ValueError("a tip has no name; every tip needs one")
    if len(set(tips)) < len(tips):
        twice = next(tip for at, tip in enumerate(tips) if tip in tips[:at])
        raise ValueError(f"two tips are called {twice}; names must differ")
    wanted = tips if names is None else [str(name) for name in names]
    number = {name: at for at, name in enumerate(wanted)}
    for tip in tips:
        if tip not in number:
            raise ValueError(f"the tip {tip} is not among the names given")
    if len(wanted) != len(tips):
        raise ValueError(f"{len(wanted)} names for {len(tips)} tips; every name is that of one tip")
    return [number[tip] for tip in tips]


def _length(node: Any) -> float:
    """Returns the validated length of the edge above a node."""
    if node.length is None:
        raise ValueError(
            f"the edge above {_called(node)} has no length; set `length = 0` where that is meant"
        )
    length = float(node.length)
    if not (np.isfinite(length) and length >= 0):
        raise ValueError(
            f"the edge above {_called(node)} has length {length:g}; lengths are at least 0"
        )
    return length


def _called(node: Any) -> str:
    """Returns the description of a node for messages; inner nodes without names list tips."""
    if not node.children:
        return f"the tip {node.name}"
    if node.name:
        return f"the node {node.name}"
    tips = [one.name for one in node.postorder(include_self=False) if not one.children]
    return f"the node with the tips {', '.join(tips[:3])}{', …' if len(tips) > 3 else ''}"


def to_skbio(distances: Distances) -> DistanceMatrix:
    """Converts a table of all distances to a `DistanceMatrix` of scikit-bio.

    Parameters
    ----------
    distances : DataFrame or ndarray of shape (n, n)
        A result of `pairwise` or `unifrac`.

    Returns
    -------
    matrix : skbio.DistanceMatrix
        Its IDs are those of the rows as text, or numbers from 0.

    Examples
    --------
    >>> import treeport as tp
    >>> import pandas as pd
    >>> tree = tp.Tree.from_newick("(a:1,b:1);")
    >>> samples = pd.DataFrame([[8, 0], [4, 4]], index=["gut", "skin"], columns=["b", "a"])
    >>> float(tp.to_skbio(tree.unifrac(samples))["gut", "skin"])
    1.0
    """
    try:
        from skbio import DistanceMatrix
    except ImportError as error:
        raise ImportError("to_skbio needs scikit-bio: `pip install scikit-bio`") from error
    ids, values = ids_of(distances), np.asarray(distances, dtype=np.float64)
    return DistanceMatrix(values, texts(range(len(values)) if ids is None else ids))
