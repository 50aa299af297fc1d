"""Types of arguments and results, as editors and type checkers show them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union

import numpy as np
import numpy.typing as npt
from scipy import sparse

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from pandas import DataFrame as DataFrame
    from skbio import DistanceMatrix as DistanceMatrix
    from skbio import TreeNode as TreeNode

    from ._clouds import Clouds
    from ._inputs import Measures
    from ._texts.documents import Texts
else:  # packages that need not be installed
    Axes = DataFrame = DistanceMatrix = TreeNode = Any


class Table(Protocol):
    """A sparse matrix, a DataFrame, an AnnData, a `biom.Table` or a tensor."""

    @property
    def shape(self) -> Any:
        """The numbers of rows and columns."""


class Network(Protocol):
    """A networkx graph."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""


class KeyedVectors(Protocol):
    """Word vectors of gensim."""

    key_to_index: Mapping[str, int]
    vectors: Any


class Vectorizer(Protocol):
    """A vectorizer of scikit-learn, such as `CountVectorizer`."""

    def transform(self, documents: Any) -> Any:
        """Returns the counts of known words."""

    def fit_transform(self, documents: Any) -> Any:
        """Learns the words and returns their counts."""

    def get_feature_names_out(self) -> Any:
        """Returns the words."""


class Progress(Protocol):
    """Progress callback of the compiled half."""

    def __call__(self, task: str, done: int, total: int) -> None:
        """Reports how much of a task is done; a total of 0 is unknown."""


Path = Union[str, "os.PathLike[str]"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
#: Numbers in one or more axes, labeled or not.
ArrayLike = Union[npt.ArrayLike, Table]
#: Masses at the points: an array, or ``{name: mass}``.
Masses = Union[ArrayLike, Mapping[Any, float]]
#: One measure per row, or one ``{name: mass}`` per measure.
MeasuresLike = Union[ArrayLike, Sequence[Mapping[Any, float]], "Measures", "Texts"]
#: Measures with points of their own, by number or ID.
CloudsLike = Union["Clouds", Sequence[Any], Mapping[Any, Any], Table]
AnyMeasures = Union[MeasuresLike, CloudsLike]
#: Points, one a row, masses with points, or `Clouds` with one cloud.
SampleLike = Union[ArrayLike, tuple[Optional[ArrayLike], ArrayLike], "Clouds"]
#: An adjacency matrix or a networkx graph.
GraphLike = Union[ArrayLike, Network]
#: One period for all coordinates, or one or `None` for each.
Period = Union[float, Sequence[Optional[float]], npt.ArrayLike]
#: One penalty, one for each point, or one for each point of `a` and of `b`.
PenaltyLike = Union[float, ArrayLike, tuple[ArrayLike, ArrayLike]]
#: A level of accuracy or a relative error.
Accuracy = Union[str, float]
Labels = Sequence[Any]
#: A label for each row, in order, or by ID.
GroupLabels = Union[Labels, Mapping[Any, Any], npt.ArrayLike, Table]
#: Vectors by word.
WordVectors = Union[Mapping[str, npt.ArrayLike], Table, KeyedVectors, "Texts", Path]
#: Texts or lists of words, by number or ID, or a folder or file of texts.
Documents = Union[
    Sequence[str], Sequence[Sequence[str]], Mapping[Any, Any], Table, "os.PathLike[str]"
]
Seed = Union[int, np.random.Generator, np.random.RandomState, None]
#: A table of source, target and mass, or without pandas a list of these.
PlanTable = Union[DataFrame, list[tuple[Any, Any, float]]]
#: A sparse array, or a table.
PlanOrTable = Union[sparse.csr_array, PlanTable]
#: A plan of any solver: an array, a sparse matrix, or a table of source, target and mass.
PlanLike = Union[ArrayLike, Sequence[tuple[Any, Any, float]]]
#: An array; a DataFrame if rows have IDs, or `Bounds` if these are requested.
Distances = Union[Floats, DataFrame]
#: Numbers of neighbors, or distances and numbers, and what else was asked for.
Neighbors = Union[Integers, tuple[npt.NDArray[Any], ...]]
