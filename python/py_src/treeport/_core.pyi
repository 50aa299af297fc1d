"""The compiled half: conversion and calls; private."""

from typing import Any, Callable, Optional, TypedDict, Union, final

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeAlias

__all__ = [
    "CLOSED_PRICE",
    "DEFAULT_PAIRS",
    "LOST_BY_DUALS",
    "Answer",
    "Clouds",
    "Comparison",
    "Estimator",
    "Graph",
    "Ground",
    "Index",
    "Labeled",
    "Measures",
    "Model",
    "Space",
    "WordTable",
    "__commit__",
    "__version__",
    "calibration",
    "certify",
    "check_copy",
    "check_options",
    "check_search_accuracy",
    "compare",
    "costly_fit",
    "emd_of_arrays",
    "emd_pairs",
    "fit",
    "fit_options",
    "format_of",
    "lost_in_single",
    "methods",
    "plan_lengths",
    "point_metrics",
    "read_word_vectors",
    "sample_pairs",
    "set_memory_limit",
    "sinkhorn",
    "solve",
    "solve_options",
    "write_text",
]

__version__: str
__commit__: Optional[str]
CLOSED_PRICE: float
DEFAULT_PAIRS: int
LOST_BY_DUALS: float

_Floats: TypeAlias = npt.NDArray[np.float64]
_Integers: TypeAlias = npt.NDArray[np.int64]
_Row: TypeAlias = Union[_Floats, tuple[_Integers, _Floats, int]]
_Period: TypeAlias = Union[float, list[Optional[float]]]
_Geometry: TypeAlias = Union[str, tuple[str, _Period]]
_Costs: TypeAlias = Union[
    tuple[_Floats, _Geometry],
    tuple[_Floats, _Floats, _Geometry],
    _Floats,
    npt.NDArray[np.float32],
    Ground,
    Graph,
]
_Penalty: TypeAlias = Union[None, float, _Floats, tuple[_Floats, _Floats]]
_Moves: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[Any], _Floats]
_BoundsOfQueries: TypeAlias = tuple[_Integers, _Integers, _Floats]
_Found: TypeAlias = tuple[_Integers, _Integers, _Floats, _Floats, _Integers]
_Part: TypeAlias = tuple[Measures, _Integers]

class _OptionRow(TypedDict):
    name: str
    kind: str
    words: list[tuple[str, str]]
    default: str
    help: str
    methods: list[str]

class _SolveOptionRow(TypedDict):
    name: str
    kind: str
    help: str
    of_one: str
    of_many: str
    range: str
    read_by: str

class _Calibration(TypedDict):
    # The factor of each level of `estimate`.
    tree: float
    flow: float
    arcs: float
    exact: float
    # The level whose value each level returns: itself, or a lower level with a smaller error.
    levels: list[str]
    # Whether "flow" averages its plans, and its narrowest interval.
    mean_of_plans: bool
    flow_width: float
    # Weights of the lower and the upper bound in the values of "flow" and "arcs".
    flow_blend: Optional[list[float]]
    arcs_blend: list[float]

_Report: TypeAlias = Optional[Callable[[str, int, int], None]]

@final
class Answer:
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def moves(self) -> _Moves: ...
    @property
    def potentials(self) -> Optional[tuple[_Floats, _Floats]]: ...
    @property
    def penalty(self) -> Optional[float]: ...
    @property
    def rates(self) -> Optional[tuple[_Floats, _Floats]]: ...
    @property
    def engine(self) -> str: ...
    @property
    def rerouted(self) -> float: ...
    @property
    def route(self) -> str: ...

@final
class Measures:
    @staticmethod
    def dense(masses: _Floats, *, normalize: bool, empty: bool = False) -> Measures: ...
    @staticmethod
    def csr(
        start: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        masses: _Floats,
        *,
        points: int,
        normalize: bool,
        empty: bool = False,
    ) -> Measures: ...
    @staticmethod
    def read(
        path: str, transpose: bool, empty: bool = False
    ) -> tuple[Measures, Optional[list[str]], Optional[list[str]]]: ...
    def normalized(self) -> Measures: ...
    def check_mass(self) -> None: ...
    def check_pairs(self, pairs: _Integers) -> None: ...
    def keep(self) -> None: ...
    def compressed(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], _Floats, int]: ...
    def __len__(self) -> int: ...
    @property
    def points(self) -> int: ...

@final
class WordTable:
    @staticmethod
    def count(
        documents: list[Any], stop_words: Union[str, list[str], None], ids: Optional[list[str]]
    ) -> WordTable: ...
    @staticmethod
    def read(path: str, stop_words: Union[str, list[str], None]) -> WordTable: ...
    @staticmethod
    def of(
        words: list[str],
        start: _Integers,
        indices: _Integers,
        counts: _Floats,
        masses: _Floats,
        ids: Optional[list[str]],
    ) -> WordTable: ...
    def weigh(
        self, weights: str, collection: Optional[tuple[Measures, list[str]]] = None
    ) -> None: ...
    def texts(
        self, known: dict[str, int]
    ) -> tuple[
        list[str],
        tuple[npt.NDArray[Any], npt.NDArray[Any], _Floats, int],
        list[tuple[str, int]],
        float,
        Optional[str],
    ]: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def ids(self) -> Optional[list[str]]: ...

@final
class Clouds:
    def __new__(
        cls,
        points: _Floats,
        start: _Integers,
        *,
        masses: Optional[_Floats] = None,
        names: Optional[list[str]] = None,
        normalize: bool = False,
        empty: bool = False,
    ) -> Clouds: ...
    @staticmethod
    def read(
        path: str,
        *,
        groupby: Optional[str] = None,
        weights: Optional[str] = None,
        columns: Optional[list[str]] = None,
        normalize: bool = False,
        empty: bool = False,
    ) -> Clouds: ...
    def save(self, path: str) -> None: ...
    @property
    def names(self) -> Optional[list[str]]: ...
    @staticmethod
    def diagrams(
        points: _Floats, start: _Integers, names: Optional[list[str]], metric: str
    ) -> Clouds: ...
    def with_penalties(self, penalties: _Floats, metric: Optional[str] = None) -> Clouds: ...
    def penalties(self, metric: _Geometry) -> Optional[_Floats]: ...
    def own_penalties(self) -> Optional[tuple[_Floats, Optional[str]]]: ...
    def births(self) -> Optional[list[list[float]]]: ...
    def with_births(self, births: list[list[float]]) -> Clouds: ...
    def with_essential(self, pairs: _Integers, order: float, distances: _Floats) -> _Floats: ...
    def ground(self, metric: _Geometry) -> Ground: ...
    def measures(self) -> Measures: ...
    def normalized(self) -> Clouds: ...
    def select(self, clouds: _Integers) -> Clouds: ...
    def followed_by(self, other: Clouds) -> Clouds: ...
    def named(self, names: list[str]) -> Clouds: ...
    def check_mass(self) -> None: ...
    def check_pairs(self, pairs: _Integers) -> None: ...
    def check_balanced(self, other: Optional[Clouds]) -> None: ...
    def coordinates(self) -> _Floats: ...
    def masses(self) -> _Floats: ...
    def cloud(self, cloud: int) -> tuple[_Floats, _Floats]: ...
    def starts(self) -> _Integers: ...
    def totals(self) -> _Floats: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    @property
    def dim(self) -> int: ...
    @property
    def points(self) -> int: ...

@final
class Graph:
    def __new__(cls, n: int, ends: _Integers, weights: _Floats) -> Graph: ...
    def __len__(self) -> int: ...
    def whole(self) -> Ground: ...

@final
class Ground:
    @staticmethod
    def from_points(points: _Floats, metric: _Geometry) -> Ground: ...
    @staticmethod
    def grid(
        shape: list[int], spacing: list[float], metric: _Geometry, balanced: bool
    ) -> Ground: ...
    @staticmethod
    def from_square(square: npt.NDArray[Any]) -> Ground: ...
    @staticmethod
    def from_condensed(distances: npt.NDArray[Any]) -> Ground: ...
    @staticmethod
    def discrete(n: int) -> Ground: ...
    def assume_metric(self) -> Ground: ...
    def coordinates(self) -> Optional[tuple[_Floats, str]]: ...
    def device_points(
        self,
    ) -> Optional[tuple[str, npt.NDArray[np.float32], float, float, bool]]: ...
    def period(self) -> Optional[_Period]: ...
    def condensed(self) -> Optional[npt.NDArray[Any]]: ...
    def edges(self) -> Optional[tuple[_Integers, _Integers, _Floats]]: ...
    def linkage(self, method: str, threads: int) -> Model: ...
    def prepare(self, threads: int) -> None: ...
    @property
    def points(self) -> int: ...

@final
class Model:
    @staticmethod
    def from_parents(leaves: int, parents: _Integers, lengths: _Floats) -> Model: ...
    @staticmethod
    def from_newick(text: str, names: Optional[list[str]] = None) -> Model: ...
    @staticmethod
    def from_linkage(matrix: _Floats) -> Model: ...
    @staticmethod
    def from_trees(trees: list[Model], weights: Optional[_Floats] = None) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    @staticmethod
    def load(path: str) -> Model: ...
    def save(self, path: str) -> None: ...
    @staticmethod
    def load_file(path: str) -> tuple[Model, Optional[_Calibration], Optional[Ground]]: ...
    def save_file(
        self, path: str, calibration: Optional[_Calibration] = None, ground: Optional[Ground] = None
    ) -> None: ...
    def to_bytes(self) -> bytes: ...
    def to_newick(self) -> str: ...
    def to_linkage(self) -> _Floats: ...
    def with_names(self, names: list[str]) -> Model: ...
    def scaled(self, factor: float) -> Model: ...
    def extended(self, distances: _Floats, threads: int, report: _Report) -> Model: ...
    def extended_on(
        self,
        ground: Ground,
        *,
        measures: Optional[Measures],
        support: Optional[int],
        seed: int,
        threads: int,
        report: _Report,
    ) -> Model: ...
    @property
    def is_forest(self) -> bool: ...
    @property
    def points(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def layouts(self) -> int: ...
    @property
    def names(self) -> Optional[list[str]]: ...
    @property
    def is_ultrametric(self) -> bool: ...
    def trees(self) -> list[Model]: ...
    def weights(self) -> _Floats: ...
    def summary(
        self, most: int
    ) -> tuple[_Integers, _Floats, list[tuple[int, int, float, list[int]]]]: ...
    def parents(self) -> _Integers: ...
    def lengths(self) -> _Floats: ...
    def coupling(self, a: _Row, b: _Row, normalize: bool) -> _Moves: ...
    def distance(self, a: _Row, b: _Row, normalize: bool) -> float: ...
    def unbalanced(self, a: _Row, b: _Row, penalty: float) -> float: ...
    def barycenter(self, measures: Measures, weights: Optional[_Floats]) -> _Floats: ...
    def paired(self, a: Measures, b: Measures, threads: int) -> _Floats: ...
    def pairwise(self, a: Measures, b: Optional[Measures], threads: int) -> _Floats: ...
    def census(self, measures: Measures) -> _Integers: ...
    def pairwise_part(self, a: _Part, b: Optional[_Part], threads: int) -> _Floats: ...
    def pairwise_into(
        self, a: Measures, b: Optional[Measures], out: _Floats, threads: int
    ) -> None: ...
    def nearest(
        self, a: Measures, b: Optional[Measures], k: int, threads: int
    ) -> tuple[_Floats, _Integers]: ...
    def unifrac(
        self, samples: Measures, variant: str, *, alpha: float, unrooted: bool, threads: int
    ) -> _Floats: ...
    @staticmethod
    def check_table(bytes: int) -> None: ...
    @staticmethod
    def check_balanced(a: Measures, b: Optional[Measures]) -> None: ...
    def embed(
        self, measures: Measures, threads: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], _Floats, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Labeled:
    def __new__(cls, measures: Measures, pairs: _Integers, distances: _Floats) -> Labeled: ...
    @staticmethod
    def sample(
        ground: Ground,
        measures: Measures,
        *,
        count: int,
        seed: int,
        test: bool,
        threads: int,
        report: _Report = None,
    ) -> Labeled: ...
    @staticmethod
    def count_within(
        ground: Ground,
        measures: Measures,
        *,
        seconds: float,
        seed: int,
        threads: int,
        report: _Report = None,
    ) -> int: ...
    @staticmethod
    def paired(
        ground: Ground, a: Measures, b: Measures, *, threads: int, report: _Report = None
    ) -> Labeled: ...
    def error(self, model: Model, threads: int) -> float: ...
    @property
    def support(self) -> int: ...
    def __len__(self) -> int: ...

@final
class Space:
    def __new__(cls, bytes: bytes) -> Space: ...
    @staticmethod
    def fit(
        clouds: Clouds,
        metric: _Geometry,
        data: Labeled,
        *,
        method: str,
        seed: int,
        threads: int,
        report: _Report = None,
    ) -> Space: ...
    def table(
        self, left: Clouds, right: Optional[Clouds], *, threads: int, report: _Report = None
    ) -> _Floats: ...
    def pairs(
        self, clouds: Clouds, pairs: _Integers, *, threads: int, report: _Report = None
    ) -> _Floats: ...
    def intervals(
        self, clouds: Clouds, pairs: _Integers, *, threads: int, report: _Report = None
    ) -> _Floats: ...
    def score(self, clouds: Clouds, data: Labeled, threads: int) -> float: ...
    def embed(self, clouds: Clouds, threads: int) -> tuple[_Integers, _Integers, _Floats, int]: ...
    def save(self, path: str) -> None: ...
    @staticmethod
    def load(path: str) -> Space: ...
    @staticmethod
    def is_file(path: str) -> bool: ...
    @staticmethod
    def has_method(name: str) -> bool: ...
    def to_bytes(self) -> bytes: ...
    def __getnewargs__(self) -> tuple[bytes]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def period(self) -> Optional[_Period]: ...
    @property
    def method(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def error(self) -> float: ...

@final
class Estimator:
    def __new__(
        cls, ground: Ground, model: Model, *, calibration: Optional[_Calibration], threads: int
    ) -> Estimator: ...
    def paired(
        self,
        accuracy: Union[str, float],
        a: Measures,
        b: Measures,
        *,
        bounds: bool,
        threads: int,
        report: _Report = None,
    ) -> tuple[_Floats, _Floats]: ...

@final
class Index:
    def __new__(
        cls,
        ground: Ground,
        measures: Measures,
        *,
        memory: Optional[int],
        names: Optional[list[str]],
        threads: int,
        report: _Report = None,
    ) -> Index: ...
    @staticmethod
    def of_clouds(
        clouds: Clouds,
        ground: Ground,
        *,
        memory: Optional[int],
        penalty: Optional[float],
        threads: int,
        report: _Report = None,
    ) -> Index: ...
    def nearest(
        self,
        queries: Union[Measures, Clouds, None],
        k: int,
        *,
        accuracy: Union[str, float],
        threads: int,
        report: _Report = None,
        limits: Optional[list[float]] = None,
        time: Optional[float] = None,
    ) -> _Found: ...
    def radius(
        self,
        queries: Union[Measures, Clouds, None],
        radius: float,
        *,
        threads: int,
        report: _Report = None,
    ) -> _Found: ...
    def likely(
        self,
        queries: Union[Measures, Clouds, None],
        rows: tuple[int, int],
        *,
        count: int,
        threads: int,
    ) -> _BoundsOfQueries: ...
    def search_given(
        self,
        queries: Union[Measures, Clouds, None],
        rows: tuple[int, int],
        *,
        k: int,
        radius: Optional[float],
        accuracy: Union[str, float],
        given: _BoundsOfQueries,
        threads: int,
        report: _Report = None,
    ) -> _Found: ...
    def layout(self) -> tuple[_Integers, Measures]: ...
    def expected_recall(self, k: int, threads: int, report: _Report = None) -> float: ...
    def add(
        self,
        measures: Union[Measures, Clouds],
        names: Optional[list[str]],
        *,
        threads: int,
        report: _Report = None,
    ) -> int: ...
    def remove(self, numbers: _Integers) -> None: ...
    def set_names(self, names: list[str]) -> None: ...
    def set_numbers(self, numbers: list[int], next_number: int) -> None: ...
    def numbers_of(self, names: list[str]) -> list[int]: ...
    @staticmethod
    def load(path: str) -> Index: ...
    def save(self, path: str) -> None: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Index: ...
    def to_bytes(self) -> bytes: ...
    @property
    def is_of_clouds(self) -> bool: ...
    @property
    def penalty(self) -> tuple[bool, Optional[float]]: ...
    @property
    def ground(self) -> Ground: ...
    @property
    def names(self) -> Optional[list[str]]: ...
    @property
    def labels(self) -> tuple[_Integers, Optional[list[str]]]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def present(self) -> int: ...
    def __len__(self) -> int: ...

def check_search_accuracy(accuracy: Union[str, float]) -> None: ...
def calibration(
    ground: Ground, model: Model, labeled: Labeled, *, threads: int, report: _Report = None
) -> _Calibration: ...
def lost_in_single(roundings: int) -> float: ...
def methods() -> list[tuple[str, str, str]]: ...
def point_metrics() -> list[tuple[str, str]]: ...
def sample_pairs(*, count: int, measures: int, seed: int, test: bool) -> _Integers: ...
def check_options(ground: Ground, options: dict[str, Any]) -> list[str]: ...
def fit_options() -> list[_OptionRow]: ...
def solve_options() -> list[_SolveOptionRow]: ...
def costly_fit(
    ground: Ground, labeled: Labeled, options: dict[str, Any], *, seconds: Optional[float]
) -> Optional[str]: ...
def fit(
    ground: Ground,
    labeled: Labeled,
    options: dict[str, Any],
    *,
    threads: int,
    report: _Report = None,
) -> tuple[Model, tuple[_Floats, _Floats, int], tuple[Optional[str], list[tuple[str, float]]]]: ...

@final
class Comparison:
    @property
    def advice(self) -> Optional[str]: ...
    def rows(
        self,
    ) -> list[
        tuple[
            tuple[str, bool],
            tuple[float, float, float],
            tuple[float, float],
            tuple[int, Optional[float], Optional[float]],
        ]
    ]: ...
    def svg(self, title: str) -> str: ...
    def text(self) -> str: ...

def compare(
    ground: Ground,
    labeled: Labeled,
    methods: list[str],
    *,
    seed: int,
    threads: int,
    report: _Report = None,
) -> Comparison: ...
def solve(
    a: _Row,
    b: _Row,
    costs: _Costs,
    *,
    wanted: str,
    accuracy: Union[str, float, None] = None,
    seconds: Optional[float] = None,
    mass: Optional[float] = None,
    penalty: _Penalty = None,
    order: float = 1.0,
    device: Any = None,
    report: _Report = None,
) -> Answer: ...
def certify(
    a: _Row,
    b: _Row,
    costs: _Costs,
    *,
    wanted: str,
    plan: Any = None,
    left: Optional[_Floats] = None,
    right: Optional[_Floats] = None,
    accuracy: Union[str, float, None] = None,
    seconds: Optional[float] = None,
    penalty: _Penalty = None,
    report: _Report = None,
) -> Answer: ...
def emd_of_arrays(
    a: _Floats,
    b: _Floats,
    ground: _Floats,
    ground_b: Optional[_Floats],
    metric: Optional[_Geometry],
    mass: Optional[float],
    penalty: Optional[float],
) -> Optional[float]: ...
def emd_pairs(
    ground: Union[Ground, Graph, tuple[_Floats, _Geometry]],
    measures: Union[Measures, _Floats],
    pairs: _Integers,
    threads: int,
    *,
    accuracy: Union[str, float, None] = None,
    seconds: Optional[float] = None,
    penalty: _Penalty = None,
    order: float = 1.0,
    device: Any = None,
    prepare: bool = False,
    report: _Report = None,
) -> tuple[Optional[_Floats], _Floats]: ...
def plan_lengths(
    ground: Ground,
    measures: Measures,
    pairs: _Integers,
    threads: int,
    bins: int,
    report: _Report = None,
) -> _Floats: ...
def write_text(path: str, text: str) -> None: ...
def read_word_vectors(
    path: str, words: Optional[set[str]], report: _Report = None
) -> tuple[list[str], npt.NDArray[np.float32], int]: ...
def format_of(path: str, clouds: bool = False) -> tuple[str, bool]: ...
def check_copy(bytes: int) -> None: ...
def set_memory_limit(limit: Optional[int]) -> None: ...
def sinkhorn(
    a: _Row,
    b: _Row,
    costs: _Costs,
    *,
    plan: bool,
    epsilon: float,
    relative: bool,
    max_iterations: int,
    tolerance: float,
) -> tuple[float, Optional[_Moves]]: ...
