"""Learned trees for fast optimal transport.

`TreeWasserstein` learns a tree over points from exact transport distances. After that, a distance
takes time linear in the supports of its two measures. `Tree` is a learned tree, or one that you
provide: a phylogeny or a linkage. `Forest` is the mean of several trees. `Measures` are parsed rows
of masses for repeated use. `Clouds` are measures with points of their own, and `diagrams` converts
persistence diagrams to clouds. `WassersteinNeighbors` finds the nearest measures of a collection
under exact transport. `solve` solves one problem exactly, `emd` returns its value alone, `sinkhorn`
solves one problem with entropic regularization, and `emd_pairs` and `emd_pairwise` solve many
problems exactly.
"""

from ._batches import emd_pairs, emd_pairwise
from ._clouds import Clouds
from ._core import __commit__, __version__
from ._diagrams import diagrams
from ._distances import plot_distances
from ._estimator import TreeWasserstein, load
from ._extended import ExtendedTreeWarning
from ._forest import Forest
from ._inputs import Measures, MissingColumnsWarning
from ._memory import set_memory_limit
from ._neighbors import WassersteinNeighbors
from ._samples import null_distance
from ._skbio import to_skbio
from ._solution import Bounds, Solution
from ._transport import emd, sinkhorn, solve
from ._tree import Tree, linkage

__all__ = [
    "Bounds",
    "Clouds",
    "ExtendedTreeWarning",
    "Forest",
    "Measures",
    "MissingColumnsWarning",
    "Solution",
    "Tree",
    "TreeWasserstein",
    "WassersteinNeighbors",
    "__commit__",
    "__version__",
    "diagrams",
    "emd",
    "emd_pairs",
    "emd_pairwise",
    "linkage",
    "load",
    "null_distance",
    "plot_distances",
    "set_memory_limit",
    "sinkhorn",
    "solve",
    "to_skbio",
]
