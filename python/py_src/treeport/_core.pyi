"""The compiled half: conversion and calls; private."""

from typing import Any, Callable, Optional, Union, final

import numpy as np
import numpy.typing as npt

from ._dial import Calibration
from ._methods import BuildOptions, Options

__all__ = [
    "Dial",
    "Ground",
    "Measures",
    "RawForest",
    "RawTree",
    "__version__",
    "build",
    "distance",
    "embed",
    "emd",
    "emd_pairs",
    "fit",
    "learn",
    "load",
    "paired",
    "pairs",
    "pairwise",
    "sinkhorn",
]

__version__: str

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_Row = Union[_Floats, tuple[_Integers, _Floats, int]]
_Costs = Union[tuple[_Floats, str], _Floats, Ground]
_Moves = tuple[npt.NDArray[Any], npt.NDArray[Any], _Floats]
_Report = Optional[Callable[[int, int], None]]
_Model = Union[RawTree, RawForest]
_Curves = tuple[_Floats, _Floats, int]

@final
class Measures:
    @staticmethod
    def dense(masses: _Floats, normalize: bool) -> Measures: ...
    @staticmethod
    def csr(
        start: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        masses: _Floats,
        points: int,
        normalize: bool,
    ) -> Measures: ...
    def followed_by(self, other: Measures) -> Measures: ...
    def __len__(self) -> int: ...
    @property
    def points(self) -> int: ...

@final
class Ground:
    @staticmethod
    def from_points(points: _Floats, metric: str) -> Ground: ...
    @staticmethod
    def from_square(square: npt.NDArray[Any]) -> Ground: ...
    @staticmethod
    def from_condensed(distances: npt.NDArray[Any]) -> Ground: ...
    @staticmethod
    def from_edges(n: int, ends: _Integers, weights: _Floats) -> Ground: ...
    @staticmethod
    def solvable(ground: Ground, threads: int) -> Ground: ...
    def assume_metric(self) -> Ground: ...
    def linkage(self, method: str, threads: int) -> RawTree: ...
    def check_method(self, method: str) -> None: ...
    @property
    def points(self) -> int: ...

@final
class RawTree:
    @staticmethod
    def from_parents(leaves: int, parents: _Integers, lengths: _Floats) -> RawTree: ...
    @staticmethod
    def star(leaves: int) -> RawTree: ...
    @staticmethod
    def from_newick(text: str, names: Optional[list[str]] = None) -> RawTree: ...
    @staticmethod
    def from_linkage(matrix: _Floats) -> RawTree: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> RawTree: ...
    @staticmethod
    def load(path: str) -> RawTree: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes: ...
    def to_newick(self) -> str: ...
    def to_linkage(self) -> _Floats: ...
    def with_names(self, names: list[str]) -> RawTree: ...
    def scaled(self, factor: float) -> RawTree: ...
    @property
    def leaves(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def names(self) -> Optional[list[str]]: ...
    @property
    def is_ultrametric(self) -> bool: ...
    def parents(self) -> _Integers: ...
    def lengths(self) -> _Floats: ...
    def coupling(self, a: _Row, b: _Row, normalize: bool) -> _Moves: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class RawForest:
    @staticmethod
    def from_trees(trees: list[RawTree], weights: Optional[_Floats] = None) -> RawForest: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> RawForest: ...
    @staticmethod
    def load(path: str) -> RawForest: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes: ...
    def with_names(self, names: list[str]) -> RawForest: ...
    def scaled(self, factor: float) -> RawForest: ...
    @property
    def leaves(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def names(self) -> Optional[list[str]]: ...
    def trees(self) -> list[RawTree]: ...
    def weights(self) -> _Floats: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Dial:
    @staticmethod
    def over(
        ground: Ground, forest: RawForest, calibration: Optional[Calibration], threads: int
    ) -> Dial: ...
    @staticmethod
    def calibrate(
        ground: Ground,
        forest: RawForest,
        measures: Measures,
        pairs: _Integers,
        distances: _Floats,
        threads: int,
        report: _Report = None,
    ) -> Calibration: ...
    def pairs(
        self,
        accuracy: Union[str, float],
        pairs: _Integers,
        measures: Measures,
        threads: int,
        report: _Report = None,
    ) -> _Floats: ...
    def bounds(
        self,
        accuracy: Union[str, float],
        pairs: _Integers,
        measures: Measures,
        threads: int,
        report: _Report = None,
    ) -> tuple[_Floats, _Floats]: ...
    def coupling(self, a: _Row, b: _Row, normalize: bool) -> _Moves: ...

def load(path: str) -> _Model: ...
def distance(model: _Model, a: _Row, b: _Row, normalize: bool) -> float: ...
def pairs(
    model: _Model, pairs: _Integers, measures: Measures, threads: int, report: _Report = None
) -> _Floats: ...
def paired(model: _Model, a: Measures, b: Measures, threads: int) -> _Floats: ...
def pairwise(model: _Model, a: Measures, b: Optional[Measures], threads: int) -> _Floats: ...
def embed(
    model: _Model, measures: Measures, threads: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], _Floats, int]: ...
def build(
    method: str,
    ground: Ground,
    measures: Measures,
    pairs: _Integers,
    distances: _Floats,
    options: BuildOptions,
    threads: int,
    report: _Report = None,
) -> _Model: ...
def emd(a: _Row, b: _Row, costs: _Costs, plan: bool) -> tuple[float, Optional[_Moves]]: ...
def emd_pairs(
    ground: Ground,
    measures: Measures,
    pairs: _Integers,
    threads: int,
    report: _Report = None,
) -> _Floats: ...
def sinkhorn(
    a: _Row,
    b: _Row,
    costs: _Costs,
    plan: bool,
    epsilon: float,
    relative: bool,
    max_iterations: int,
    tolerance: float,
) -> tuple[float, Optional[_Moves]]: ...
def learn(
    start: RawTree,
    measures: Measures,
    pairs: _Integers,
    distances: _Floats,
    options: Options,
    threads: int,
    report: _Report = None,
) -> tuple[RawTree, _Curves]: ...
def fit(
    start: RawTree,
    ground: Ground,
    measures: Measures,
    pairs: _Integers,
    distances: _Floats,
    options: Options,
    threads: int,
    report: _Report = None,
) -> tuple[RawTree, _Curves, tuple[str, list[tuple[str, float]]]]: ...
