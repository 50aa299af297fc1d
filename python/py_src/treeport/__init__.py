"""Learned trees for fast optimal transport.

`TreeWasserstein` learns a tree over points from exact transport distances. After that, a distance
takes time linear in the supports of its two measures. `Tree` is a learned tree, or one that you
provide: a phylogeny or a linkage. `Forest` is the mean of several trees. `Measures` are parsed rows
of masses for repeated use. `Clouds` are measures with points of their own, and `diagrams` converts
persistence diagrams to clouds. `WassersteinNeighbors` finds the nearest measures of a collection
under exact transport. `solve` solves one problem exactly, `emd` returns its value alone, `certify`
proves bounds from the plans and potentials of any solver, `sinkhorn`
solves one problem with entropic regularization, and `emd_pairs` and `emd_pairwise` solve many
problems exactly. `two_sample_test`, `group_test` and `feature_drift` tell differences from chance,
`texts` turns documents into measures, `barycenter` averages clouds, and `compare` shows the error
and the time of every method on your measures."""

from ._barycenter import Barycenter, barycenter
from ._batches import emd_pairs, emd_pairwise
from ._certificate import Certificate, certify
from ._clouds import Clouds
from ._comparison import Comparison, compare
from ._core import __commit__, __version__
from ._diagrams import diagrams
from ._distances import plot_distances
from ._estimator import TreeWasserstein, load
from ._extended import ExtendedTreeWarning
from ._forest import Forest
from ._inputs import Measures, MissingColumnsWarning
from ._memory import set_memory_limit
from ._neighbors import WassersteinNeighbors
from ._plan_by import PlanBy
from ._samples import null_distance
from ._skbio import to_skbio
from ._solution import Bounds, Solution
from ._statistics.drift import feature_drift, plot_drift
from ._statistics.groups import GroupTestResult, group_test
from ._statistics.sampling_noise import CorrectedDistances
from ._statistics.two_samples import TwoSampleResult, two_sample_test
from ._texts.compare import NeighborComparison, compare_neighbors
from ._texts.documents import Texts, texts
from ._texts.vectors import read_word_vectors
from ._transport import emd, sinkhorn, solve
from ._tree import Tree, linkage

__all__ = [
    "Barycenter",
    "Bounds",
    "Certificate",
    "Clouds",
    "Comparison",
    "CorrectedDistances",
    "ExtendedTreeWarning",
    "Forest",
    "GroupTestResult",
    "Measures",
    "MissingColumnsWarning",
    "NeighborComparison",
    "PlanBy",
    "Solution",
    "Texts",
    "Tree",
    "TreeWasserstein",
    "TwoSampleResult",
    "WassersteinNeighbors",
    "__commit__",
    "__version__",
    "barycenter",
    "certify",
    "compare",
    "compare_neighbors",
    "diagrams",
    "emd",
    "emd_pairs",
    "emd_pairwise",
    "feature_drift",
    "group_test",
    "linkage",
    "load",
    "null_distance",
    "plot_distances",
    "plot_drift",
    "read_word_vectors",
    "set_memory_limit",
    "sinkhorn",
    "solve",
    "texts",
    "to_skbio",
    "two_sample_test",
]
