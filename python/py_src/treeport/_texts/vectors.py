"""Readers of word vectors: GloVe, word2vec as text and binary, and fastText."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Optional

from .. import _core
from .._progress import bar
from .._types import DataFrame, Path


def read_word_vectors(
    path: Path, words: Optional[Collection[str]] = None, *, verbose: bool = False
) -> DataFrame:
    """Reads word vectors of GloVe, word2vec (text and binary) or fastText (``.vec``).

    Parameters
    ----------
    path : str or path-like
        The content determines the format; the file may be gzip.
    words : collection of str, optional
        The words to keep; all by default. Others are skipped while reading, so a file of many
        gigabytes needs the memory of these alone. `texts` takes the result, and drops unused words.
    verbose : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    vectors : DataFrame of shape (n_words, n_dimensions)
        Its index is the words, in the order of the file; of equal words the first counts. Wherever
        `points` have names it can be given as `points`.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not such a file; the message names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import treeport as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "glove.txt")
    ...     _ = path.write_text("cat 0.5 1\\ndog 0.25 1\\ncar 9 0\\n")
    ...     tp.read_word_vectors(path, words=["car", "cat"])
           0    1
    cat  0.5  1.0
    car  9.0  0.0
    """
    import pandas

    if isinstance(words, str):
        raise TypeError(f"words is the text {words!r}; give a list of words")
    file, wanted = os.fspath(path), None if words is None else set(words)
    try:
        with bar("word vectors", verbose) as report:
            found, coordinates, dim = _core.read_word_vectors(file, wanted, report)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return pandas.DataFrame(coordinates.reshape(-1, dim), index=found)
