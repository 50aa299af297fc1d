"""The options of a fit, from the table of the library."""

from __future__ import annotations

from textwrap import fill

from . import _core

OF_LABELS = ("n_pairs", "budget")
"""Options that say which pairs are solved, before there is anything to fit."""

TABLE: dict[str, _core._OptionRow] = {row["name"]: row for row in _core.fit_options()}

FIT_OPTIONS = tuple(name for name in TABLE if name not in (*OF_LABELS, "seed"))
"""Parameters of `TreeWasserstein` that go to the library as they are; `seed` comes from `random_state`."""

_TYPES = {"whole": "int", "number": "float", "seconds": "float", "truth": "bool"}


def parameters(names: list[str]) -> str:
    """What a docstring says about options, in its section of parameters."""
    return "\n".join(_parameter(TABLE[name]) for name in names if name in TABLE).lstrip()


def _parameter(row: _core._OptionRow) -> str:
    words = [name for name, _ in row["words"]]
    kind = _TYPES.get(row["kind"]) or "{" + ", ".join(f'"{word}"' for word in words) + "}"
    if row["kind"] == "start":
        kind += " or Tree"
    if row["name"] == "method":
        kind = "str"
    text = f'{row["help"]}. Default: {row["default"]}.'
    if row["kind"] == "seconds":
        text = f"Seconds. {text}"
    # What the library puts between backticks are words, which are strings here.
    indent = " " * 8
    lines = fill(text.replace("`", '"'), 110, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    if row["name"] == "method":
        methods = "\n".join(f"        - {name!r}: {line};" for name, _, line in _core.methods())
        lines += f"\n\n{methods}\n"
    return f'    {row["name"]} : {kind}{", optional" if kind != "bool" else ""}\n{lines}'
