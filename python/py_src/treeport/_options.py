"""Options of a fit and of exact transport, from the option tables of the library."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import fill
from typing import TypeVar

from . import _core

OF_LABELS = ("n_pairs", "budget")
"""Options that determine the pairs to solve exactly, before the fit."""

TABLE: dict[str, _core._OptionRow] = {row["name"]: row for row in _core.fit_options()}

FIT_OPTIONS = tuple(name for name in TABLE if name not in (*OF_LABELS, "seed"))
"""Parameters of `TreeWasserstein` that the library receives unchanged.

The option `seed` comes from `random_state`.
"""

_TYPES = {"whole": "int", "number": "float", "seconds": "float", "truth": "bool"}


def parameters(names: list[str]) -> str:
    """Returns the entries of options for the parameter section of a docstring."""
    return "\n".join(_parameter(TABLE[name]) for name in names if name in TABLE).lstrip()


def _parameter(row: _core._OptionRow) -> str:
    words = [name for name, _ in row["words"]]
    kind = _TYPES.get(row["kind"]) or "{" + ", ".join(f'"{word}"' for word in words) + "}"
    if row["kind"] == "start":
        kind += " or Tree"
    if row["name"] == "method":
        kind = "str"
    text = f"{row['help']}. Default: {row['default']}."
    if row["kind"] == "seconds":
        text = f"Seconds. {text}"
    lines = _filled(text, 100)
    if row["name"] == "method":
        methods = "\n".join(f"        - {name!r}: {line};" for name, _, line in _core.methods())
        lines += f"\n\n{methods}\n"
    return f"    {row['name']} : {kind}{', optional' if kind != 'bool' else ''}\n{lines}"


def _filled(text: str, columns: int) -> str:
    """Wraps a help text as lines of a docstring; words in backticks become quoted strings."""
    indent = " " * 8
    lines = re.sub(r"(?<!`)`(?!`)", '"', text)
    return fill(
        lines, columns, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


SOLVE_OPTIONS: dict[str, _core._SolveOptionRow] = {
    row["name"]: row for row in _core.solve_options()
}

_SOLVE_TYPES = {
    "number": "float",
    "prices": "float, array-like of shape (n_points,), or tuple of two such",
    "accuracy": 'float or "exact"',
    "seconds": "float",
    "device": "str",
}

Documented = TypeVar("Documented")


def with_solve_options(*names: str, many: bool = False) -> Callable[[Documented], Documented]:
    """Replaces `{options}` in a docstring by descriptions of options of exact transport."""
    rows = "\n".join(_solve_parameter(SOLVE_OPTIONS[name], many) for name in names).lstrip()

    def documented(function: Documented) -> Documented:
        function.__doc__ = (function.__doc__ or "").replace("{options}", rows)
        return function

    return documented


def _solve_parameter(row: _core._SolveOptionRow, many: bool) -> str:
    kind = _SOLVE_TYPES[row["kind"]]
    if many and row["kind"] == "prices":
        kind = "float or array-like of shape (n_points,)"
    sentences = [row["help"], row["of_many" if many else "of_one"]]
    if row["kind"] == "number":
        sentences.append(row["range"].capitalize())
    if row["kind"] == "seconds":
        sentences.insert(0, "Seconds")
    if row["kind"] == "device":
        sentences.append('It needs PyTorch and Triton: ``pip install "treeport[gpu]"``')
    if row["read_by"] != "all problems":
        sentences.append(f"For {row['read_by']}")
    text = " ".join(f"{sentence}." for sentence in sentences if sentence)
    return f"    {row['name']} : {kind}, optional\n{_filled(text, 100)}"
