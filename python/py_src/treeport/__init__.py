"""Learned trees for fast optimal transport.

`TreeWasserstein` learns a tree over your points from exact transport distances. After that, a distance
takes time linear in the supports of its two measures. `Tree` is the tree that it learns, or one that you bring: a
phylogeny or a linkage. `Forest` is the mean of several trees. `Measures` are rows of masses that you use more than once.
`Clouds` are measures that bring their own points, and `diagrams` makes clouds of persistence diagrams.
`WassersteinNeighbors` finds the measures of a collection that are nearest by exact transport. `emd` solves one problem exactly,
`sinkhorn` solves one with entropy, and `emd_pairs` and `emd_pairwise` solve many exactly.
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
from ._transport import Bounds, emd, sinkhorn
from ._tree import Tree, linkage

__all__ = [
    "Bounds",
    "Clouds",
    "ExtendedTreeWarning",
    "Forest",
    "Measures",
    "MissingColumnsWarning",
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
    "to_skbio",
]
