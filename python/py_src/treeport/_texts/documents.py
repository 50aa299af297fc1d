"""Documents as measures: tokens, counts or TF-IDF weights, and the vectors of their words."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
from scipy import sparse

from .._inputs import Measures, NamedTable, outside
from .._inputs import texts as as_text
from .._types import Floats

# Share of words without a vector above which a warning says so.
_MANY = 0.2


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
    points: Any
    unknown: dict[str, int]
    known_share: float

    def __repr__(self) -> str:
        rows, words = self.measures.shape
        return (
            f"Texts(n_documents={rows}, n_words={words}, dim={self.points.shape[1]}, "
            f"unknown={len(self.unknown)} words, {1 - self.known_share:.1%} of the text)"
        )


def texts(
    documents: Any,
    vectors: Any,
    *,
    stop_words: Union[str, Sequence[str], None] = "english",
    weights: str = "counts",
    vectorizer: Any = None,
) -> Texts:
    """Converts documents to measures on words, with the vectors of the words as points.

    Parameters
    ----------
    documents : sequence of str or of lists of str, dict or Series
        Texts, or lists of words. A dict or a Series has the IDs of the documents.
    vectors : DataFrame, dict or gensim's KeyedVectors
        The vectors of words, such as a result of `read_word_vectors`.
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
        With `measures`, `points` and `unknown`. Words without a vector are left out and counted; if
        there are many, a warning says so. For queries to an index or a tree, give the `points` of
        its texts as `vectors`.

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
    >>> tp.emd_pairwise(found.measures, points=found.points).round(2)
    array([[0.  , 0.5 , 6.74],
           [0.5 , 0.  , 6.4 ],
           [6.74, 6.4 , 0.  ]])
    """
    ids, given = _documents(documents)
    words, points = _vectors(vectors)
    if weights not in ("counts", "tfidf"):
        raise ValueError(f'weights is {weights!r}; it must be "counts" or "tfidf"')
    own = _vectorizer(given, stop_words, weights) if vectorizer is None else vectorizer
    table = sparse.csr_array(own.transform(given) if _is_fitted(own) else own.fit_transform(given))
    table = table.astype(np.float64)
    vocabulary = own.get_feature_names_out().tolist()
    place = {word: at for at, word in enumerate(words)}
    columns = np.array([at for at, word in enumerate(vocabulary) if word in place], dtype=np.int64)
    present = np.asarray((table != 0).sum(axis=0)).ravel() > 0
    columns = columns[present[columns]]
    unknown, share = _unknown(own, table, vocabulary, place)
    masses = sparse.csr_array(table[:, columns])
    _check_documents(masses, ids, given)
    if share < 1 - _MANY:
        some = ", ".join(list(unknown)[:5])
        warnings.warn(
            f"{1 - share:.0%} of the text has no vector, such as {some}; these words are left out",
            UserWarning,
            stacklevel=outside(),
        )
    masses = sparse.csr_array(masses.multiply(1 / masses.sum(axis=1)[:, np.newaxis]))
    names = [vocabulary[at] for at in columns]
    # Words that a text does not have are no missing columns.
    measures = Measures(NamedTable(lambda: masses, ids, names, mentioned=True))
    return Texts(measures, _frame(points[[place[name] for name in names]], names), unknown, share)


def _documents(documents: Any) -> tuple[Optional[list[Any]], list[Any]]:
    """Returns IDs and texts or lists of words."""
    if isinstance(documents, (str, bytes)):
        raise TypeError("documents is one text; give a list of them")
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
            "vectors are a DataFrame with words as index, a dict, or gensim's KeyedVectors, "
            f"not {type(vectors).__name__}; `read_word_vectors` reads files"
        )
    return as_text(vectors.index), np.asarray(vectors, dtype=np.float64)


def _vectorizer(given: list[Any], stop_words: Any, weights: str) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    options: dict[str, Any] = {"stop_words": stop_words}
    if not isinstance(given[0], str):
        stop = set() if stop_words is None else _stop_words(stop_words)
        options = {"analyzer": lambda words: [word for word in words if word not in stop]}
    elif stop_words is not None and not isinstance(stop_words, str):
        options = {"stop_words": list(stop_words)}
    if weights == "counts":
        return CountVectorizer(**options)
    return TfidfVectorizer(norm=None, **options)


def _stop_words(stop_words: Any) -> set[str]:
    if not isinstance(stop_words, str):
        return set(stop_words)
    if stop_words != "english":
        raise ValueError(f'stop_words is {stop_words!r}; it must be "english", a list or None')
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return set(ENGLISH_STOP_WORDS)


def _is_fitted(vectorizer: Any) -> bool:
    return hasattr(vectorizer, "vocabulary_")


def _unknown(
    vectorizer: Any, table: Any, vocabulary: list[str], place: dict[str, int]
) -> tuple[dict[str, int], float]:
    """Counts words without a vector, and returns the share of words with one."""
    idf = getattr(vectorizer, "idf_", None) if getattr(vectorizer, "use_idf", False) else None
    counts = table if idf is None else sparse.csr_array(table.multiply(1 / idf))
    # A vectorizer with a norm has no counts any more; documents that have the word count then.
    whole = getattr(vectorizer, "norm", None) is None and not getattr(
        vectorizer, "sublinear_tf", False
    )
    each = np.asarray((counts if whole else table != 0).sum(axis=0)).ravel()
    times = np.rint(each).astype(np.int64)
    absent = [at for at, word in enumerate(vocabulary) if word not in place and times[at] > 0]
    order = sorted(absent, key=lambda at: (-times[at], vocabulary[at]))
    total = float(times.sum())
    known = 1.0 if total == 0 else 1 - float(times[absent].sum()) / total
    return {vocabulary[at]: int(times[at]) for at in order}, known


def _check_documents(masses: Any, ids: Any, given: list[Any]) -> None:
    without = np.flatnonzero(np.asarray(masses.sum(axis=1)).ravel() == 0)
    if len(without) == 0:
        return
    at = int(without[0])
    name, start = at if ids is None else ids[at], given[at]
    shown = start if isinstance(start, str) else " ".join(start)
    raise ValueError(
        f"{len(without)} of {len(given)} documents have no word with a vector, such as document {name}, {shown[:60]!r}; "
        "leave them out, or give more vectors"
    )


def _frame(points: Floats, names: list[str]) -> Any:
    import pandas

    return pandas.DataFrame(points, index=names)
