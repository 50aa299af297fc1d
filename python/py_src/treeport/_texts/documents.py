"""Documents as measures: tokens, counts or TF-IDF weights, and the vectors of their words."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
from scipy import sparse

from .. import _core
from .._inputs import Measures, NamedTable, measures_of, outside
from .._inputs import texts as as_text
from .._types import DataFrame, Documents, Floats, Vectorizer, WordVectors
from .vectors import read_word_vectors


@dataclass(frozen=True, repr=False)
class Texts:
    """Documents as measures on words, as returned by `texts`.

    Attributes
    ----------
    measures : Measures
        One document a row, with IDs if there are any; the columns are words.
    points : DataFrame of shape (n_words, n_dimensions)
        The vectors of these words, in the same order.
    unknown : dict
        Words without a vector, and how often they occur; the most frequent first.
    known_share : float
        The share of all words of all documents that have a vector.
    """

    measures: Measures
    points: DataFrame
    unknown: dict[str, int]
    known_share: float

    def __repr__(self) -> str:
        rows, words = self.measures.shape
        return (
            f"Texts(n_documents={rows}, n_words={words}, dim={self.points.shape[1]}, "
            f"unknown={len(self.unknown)} words, {1 - self.known_share:.1%} of the text)"
        )


def texts(
    documents: Documents,
    vectors: WordVectors,
    *,
    stop_words: Union[str, Sequence[str], None] = "english",
    weights: str = "counts",
    vectorizer: Optional[Vectorizer] = None,
) -> Texts:
    """Converts documents to measures on words, with the vectors of the words as points.

    Parameters
    ----------
    documents : sequence of str or of lists of str, dict, Series or Path
        Texts, or lists of words. A dict or a Series has the IDs of the documents. A `pathlib.Path`
        is a folder with a file for each document, or a file with a line for each, as for
        ``treeport index --texts``.
    vectors : path, DataFrame, dict, gensim's KeyedVectors or Texts
        The vectors of words: a file that `read_word_vectors` reads, of which only the words of the
        documents are kept, or its result. For queries, give the texts that are searched: the
        queries get their words, and with ``weights="tfidf"`` the rarity of the words among them.
    stop_words : "english", list of str or None
        Words to leave out.
    weights : {"counts", "tfidf"}
        The mass of a word in a document: how often it occurs, or that times its logarithmic rarity,
        as in scikit-learn's `TfidfTransformer`. Every document is divided by its total.
    vectorizer : CountVectorizer or TfidfVectorizer of scikit-learn, optional
        Splits texts into words instead, fitted or not; `stop_words` and `weights` are its own then.

    Returns
    -------
    texts : Texts
        With `measures`, `points` and `unknown`. It can be given in place of both its measures and
        its points. Words without a vector are left out and counted; if
        there are many, a warning says so.

    Raises
    ------
    ValueError
        A document without any known word; the message names it.

    Examples
    --------
    >>> import treeport as tp
    >>> vectors = {"cat": [0.0, 0.0], "dog": [0.0, 1.0], "car": [5.0, 5.0]}
    >>> found = tp.texts(["The cat and the dog", "A dog, a dog!", "My car"], vectors)
    >>> found
    Texts(n_documents=3, n_words=3, dim=2, unknown=0 words, 0.0% of the text)
    >>> tp.emd_pairwise(found, points=found).round(2)
    array([[0.  , 0.5 , 6.74],
           [0.5 , 0.  , 6.4 ],
           [6.74, 6.4 , 0.  ]])
    """
    ids, table = _counted(documents, stop_words, vectorizer)
    if isinstance(vectors, (str, os.PathLike)):
        vectors = read_word_vectors(vectors, table.words)
    words, points = _vectors(vectors)
    if vectorizer is None:
        of = (measures_of(vectors.measures), words) if isinstance(vectors, Texts) else None
        table.weigh(weights, of)
    place = {word: at for at, word in enumerate(words)}
    names, rows, unknown, share, warning = table.texts(place)
    if warning is not None:
        warnings.warn(warning, UserWarning, stacklevel=outside())
    start, indices, masses, _ = rows
    matrix = sparse.csr_array((masses, indices, start), shape=(len(start) - 1, len(names)))
    # Words that a text does not have are no missing columns.
    measures = Measures(NamedTable(lambda: matrix, ids, names, mentioned=True))
    return Texts(
        measures, _frame(points[[place[name] for name in names]], names), dict(unknown), share
    )


def _counted(
    documents: Documents,
    stop_words: Union[str, Sequence[str], None],
    vectorizer: Optional[Vectorizer],
) -> tuple[Optional[list[Any]], _core.WordTable]:
    """Returns the IDs and the counts of words."""
    stop = stop_words if stop_words is None or isinstance(stop_words, str) else list(stop_words)
    if isinstance(documents, os.PathLike):
        if vectorizer is not None:
            raise TypeError("a vectorizer splits texts, not files; read them first")
        read = _core.WordTable.read(os.fspath(documents), stop)
        return read.ids, read
    ids, given = _documents(documents)
    named = None if ids is None else as_text(ids)
    if vectorizer is None:
        return ids, _core.WordTable.count(given, stop, named)
    is_fitted = hasattr(vectorizer, "vocabulary_")
    found = vectorizer.transform(given) if is_fitted else vectorizer.fit_transform(given)
    table = sparse.csr_array(found, dtype=np.float64)
    start, indices = table.indptr.astype(np.int64), table.indices.astype(np.int64)
    counts = _counts(vectorizer, table)
    names = vectorizer.get_feature_names_out().tolist()
    return ids, _core.WordTable.of(names, start, indices, counts, table.data, named)


def _counts(vectorizer: Any, table: Any) -> Floats:
    """Returns how often words occur, or 1 for each where a vectorizer has no counts any more."""
    is_counts = getattr(vectorizer, "norm", None) is None
    if not is_counts or getattr(vectorizer, "sublinear_tf", False):
        return np.asarray(table.data != 0, np.float64)
    has_idf = getattr(vectorizer, "use_idf", False)
    rarity = vectorizer.idf_[table.indices] if has_idf else 1.0
    return np.asarray(np.rint(table.data / rarity), np.float64)


def _documents(documents: Any) -> tuple[Optional[list[Any]], list[Any]]:
    """Returns IDs and texts or lists of words."""
    if isinstance(documents, (str, bytes)):
        raise TypeError("documents is one text; give a list of them, or a `pathlib.Path`")
    ids = None
    if isinstance(documents, Mapping):
        ids, given = list(documents), list(documents.values())
    else:
        given = list(documents)
        if hasattr(documents, "reindex"):
            index = list(documents.index)
            ids = None if index == list(range(len(index))) else index
    if not given:
        raise ValueError("there are no documents")
    for at, one in enumerate(given):
        name = at if ids is None else ids[at]
        is_list = isinstance(one, (list, tuple)) and all(isinstance(word, str) for word in one)
        if not isinstance(one, str) and not is_list:
            raise ValueError(
                f"document {name} is {one!r}; a document is a text, or a list of words"[:300]
            )
        if isinstance(one, str) != isinstance(given[0], str):
            raise ValueError(
                f"document {name} is a {'text' if isinstance(one, str) else 'list of words'}, and the first one is not; "
                "give documents of one kind"
            )
    return ids, given


def _vectors(vectors: Any) -> tuple[list[str], Floats]:
    """Returns words and their coordinates."""
    if isinstance(vectors, Texts):
        vectors = vectors.points
    if hasattr(vectors, "key_to_index") and hasattr(vectors, "vectors"):  # of gensim
        keys: Any = vectors.key_to_index
        array = np.asarray(vectors.vectors, dtype=np.float64)[[keys[word] for word in keys]]
        return list(keys), array
    if isinstance(vectors, Mapping):
        lengths = {np.shape(one) for one in vectors.values()}
        if len(lengths) != 1 or len(next(iter(lengths))) != 1:
            raise ValueError(f"the vectors of words have the shapes {sorted(lengths)[:3]}")
        return list(vectors), np.array(list(vectors.values()), dtype=np.float64)
    if not hasattr(vectors, "index") or not hasattr(vectors, "columns"):
        raise TypeError(
            "vectors are a path, a DataFrame with words as index, a dict, or gensim's KeyedVectors, "
            f"not {type(vectors).__name__}"
        )
    return as_text(vectors.index), np.asarray(vectors, dtype=np.float64)


def _frame(points: Floats, names: list[str]) -> Any:
    import pandas

    return pandas.DataFrame(points, index=names)
