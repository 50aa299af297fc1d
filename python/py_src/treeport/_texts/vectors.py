"""Readers of word vectors: GloVe, word2vec as text and binary, and fastText."""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Collection, Iterator
from typing import IO, Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from .._progress import bar
from .._types import Path

Vectors = npt.NDArray[np.float32]
# Lines between two reports of progress and checks of memory.
_LINES = 10_000
# Bytes of the longest word of a binary file, far above any in published files.
_LONGEST_WORD = 4096


def read_word_vectors(
    path: Path, words: Optional[Collection[str]] = None, *, verbose: bool = False
) -> Any:
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

    file, wanted = os.fspath(path), None if words is None else set(words)
    if isinstance(words, str):
        raise TypeError(f"words is the text {words!r}; give a list of words")
    found: dict[str, Vectors] = {}
    try:
        size = os.path.getsize(file)
        with open(file, "rb") as raw, bar("word vectors", verbose) as report:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: Any = gzip.open(raw) if zipped else raw
            for number, (word, vector) in enumerate(_entries(stream, wanted)):
                if vector is not None:
                    found.setdefault(word, vector)
                if number % _LINES == 0:
                    if found:
                        width = len(next(iter(found.values())))
                        _core.check_copy(4 * width * (len(found) + _LINES))
                    if report is not None:
                        report("word vectors", raw.tell(), size)
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{file}: {error}") from None
    if wanted is not None and not found:
        raise ValueError(
            f"{file}: it has none of the {len(wanted)} words asked for, such as {sorted(wanted)[:3]}; upper and lower "
            "case differ"
        )
    if not found:
        raise ValueError(f"{file}: it is empty")
    return pandas.DataFrame(np.stack(list(found.values())), index=list(found))


def _entries(
    stream: IO[bytes], wanted: Optional[set[str]]
) -> Iterator[tuple[str, Optional[Vectors]]]:
    """Yields words with their vectors, or with `None` if they are not wanted."""
    first = stream.readline()
    header = first.split()
    if len(header) == 2 and all(one.isdigit() for one in header):
        count, width = (int(one) for one in header)
        ahead = stream.read(_LONGEST_WORD)
        if _is_text(ahead, width):
            yield from _of_lines(ahead, stream, width, wanted, 2)
        else:
            yield from _of_binary(_Ahead(ahead, stream), count, width, wanted)
        return
    if not first:
        return
    width = _width(first)
    yield from _of_lines(first, stream, width, wanted, 1)


def _width(line: bytes) -> int:
    """Returns the number of coordinates of the first line, which may begin with several words."""
    parts = line.rstrip().split(b" ")
    numbers = 0
    for part in reversed(parts[1:]):
        try:
            float(part)
        except ValueError:
            break
        numbers += 1
    if numbers == 0:
        start = line[:40].decode("utf-8", "replace").strip()
        raise ValueError(
            f"line 1 begins with {start!r}; a line of word vectors is a word and numbers, separated by spaces"
        )
    return numbers


def _is_text(ahead: bytes, width: int) -> bool:
    """Checks whether a word and numbers, and no binary values, follow a header."""
    try:
        parts = ahead.split(b"\n")[0].decode("utf-8").split()
    except UnicodeDecodeError:
        return False
    numbers = parts[1 : 1 + min(width, 3)]
    try:
        return bool(numbers) and all(np.isfinite(float(one)) for one in numbers)
    except ValueError:
        return False


def _of_lines(
    ahead: bytes, stream: IO[bytes], width: int, wanted: Optional[set[str]], first: int
) -> Iterator[tuple[str, Optional[Vectors]]]:
    """Parses lines of a word and numbers; `ahead` has the bytes that were read already."""
    lines = (ahead + stream.readline()).splitlines() if ahead else []
    with warnings.catch_warnings():
        # An entry that is no number ends the parsing, and the count below tells.
        warnings.simplefilter("ignore", DeprecationWarning)
        for number, line in enumerate(_chained(lines, stream), first):
            text = line.rstrip(b" \r\n")
            if not text:
                continue
            if wanted is not None:
                # Most lines are skipped by their first word; words may contain spaces.
                start = text[: text.find(b" ")].decode("utf-8", "replace")
                if start not in wanted and not _has_spaces(text, width):
                    yield start, None
                    continue
            yield _of_line(text, width, number, wanted)


def _chained(lines: list[bytes], stream: IO[bytes]) -> Iterator[bytes]:
    yield from lines
    yield from stream


def _has_spaces(text: bytes, width: int) -> bool:
    return text.count(b" ") != width


def _of_line(
    text: bytes, width: int, number: int, wanted: Optional[set[str]]
) -> tuple[str, Optional[Vectors]]:
    parts = text.rsplit(b" ", width)
    try:
        vector = np.fromstring(b" ".join(parts[1:]).decode("ascii"), np.float32, sep=" ")
    except ValueError:  # also of the decoding
        vector = np.empty(0, np.float32)
    word = parts[0].decode("utf-8", "replace")
    if len(vector) != width or len(parts) != width + 1 or not np.isfinite(vector).all():
        raise ValueError(f"line {number}, word {word[:40]!r}: it does not have {width} numbers")
    return word, vector if wanted is None or word in wanted else None


class _Ahead:
    """A stream with bytes that were read already in front."""

    def __init__(self, ahead: bytes, stream: IO[bytes]) -> None:
        self.ahead, self.stream = ahead, stream

    def read(self, count: int) -> bytes:
        while len(self.ahead) < count:
            more = self.stream.read(max(count, 1 << 16))
            if not more:
                break
            self.ahead += more
        found, self.ahead = self.ahead[:count], self.ahead[count:]
        return found

    def word(self) -> bytes:
        """Returns the bytes up to a space."""
        end = self.ahead.find(b" ")
        if end < 0:
            self.ahead += self.stream.read(1 << 16)
            end = self.ahead.find(b" ")
        if not 0 <= end < _LONGEST_WORD:
            return b""
        return self.read(end + 1)[:-1].lstrip(b"\n")


def _of_binary(
    stream: _Ahead, count: int, width: int, wanted: Optional[set[str]]
) -> Iterator[tuple[str, Optional[Vectors]]]:
    """Parses word2vec's binary format: a word, a space, and numbers in single precision."""
    if width == 0:
        raise ValueError("the header says that vectors have 0 coordinates")
    for number in range(count):
        word, data = stream.word(), stream.read(4 * width)
        if len(data) < 4 * width or not word:
            raise ValueError(
                f"it ends or is damaged at word {number + 1} of {count}, which the header promises; copy it again"
            )
        text = word.decode("utf-8", "replace")
        vector = None
        if wanted is None or text in wanted:
            vector = np.frombuffer(data, "<f4").astype(np.float32)
            if not np.isfinite(vector).all():
                raise ValueError(f"word {number + 1}, {text[:40]!r}: a coordinate is not finite")
        yield text, vector
