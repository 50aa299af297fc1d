"""Conversion of user inputs to the types of the compiled half.

Each kind of input has an adapter: a file of this folder whose name has no leading underscore. The
interface of adapters is described in `_adapters`. All other modules read inputs through adapters,
so supporting a new kind takes one new file."""

from ._adapters import network_of, to_graph, to_measures, to_points
from ._measures import (
    Measures,
    _measures_again,  # pickles of earlier releases refer to this path
    check_same_columns,
    ids_of,
    labels_of,
    measures_of,
    refuse_events,
    row,
    support,
    table,
    unmapped,
    width,
)
from ._numbers import (
    array_of,
    in_rows,
    is_plain,
    is_sparse,
    neighbors_of,
    pairs_of,
    seed_of,
    threads_of,
)
from ._scikit_learn import rows_of, with_mass
from ._table import (
    MissingColumnsWarning,
    NamedTable,
    Places,
    names_of_labels,
    names_of_more,
    outside,
    own_labels,
    texts,
)
from .dicts import are_mappings, named_rows, places_in
