"""Learned trees for fast optimal transport.

`TreeWasserstein` learns a tree over your points from exact transport distances; after that a distance
costs time linear in the supports of its two measures. `Tree` is what it learns, or what you bring: a
phylogeny, a linkage; `Forest` is the mean of several. `Measures` are rows of masses that are used more than once;
`Clouds` are measures that bring their own points, `diagrams` those of persistent homology. `WassersteinNeighbors` finds those of a collection that are nearest
by exact transport. `emd` and `sinkhorn` solve single problems exactly and with entropy, `emd_pairs` and `emd_pairwise`
many.
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
