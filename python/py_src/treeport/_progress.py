"""A progress bar for `verbose`: on stderr, and in notebooks a line of the cell's output that changes in place."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Optional


class Bar:
    """Shows how far work is; the compiled half calls it a few times a second."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.task = title
        self.begun = time.monotonic()
        self.shown = 0
        self.handle = in_notebook()

    def __call__(self, task: str, done: int, total: int) -> None:
        self.task = task or self.title
        seconds = time.monotonic() - self.begun
        if not total:  # how much there is to do is not known, or not yet
            self._show(f"{self.task} {seconds:.0f} s")
            return
        share = done / total
        left = f", {seconds / share - seconds:.0f} s left" if share > 0.01 else ""
        bar = "█" * round(20 * share)
        self._show(f"{self.task} {share:4.0%} |{bar:<20}| {done}/{total} {seconds:.0f} s{left}")

    def expect(self, what: str) -> None:
        """Says roughly what the work will take, before it begins."""
        sys.stderr.write(f"{self.title}: {what}, roughly\n")
        sys.stderr.flush()

    def _show(self, line: str) -> None:
        if self.handle is not None:
            self.handle.update({"text/plain": line}, raw=True)
            return
        # Blanks over what a longer line has left.
        sys.stderr.write("\r" + line.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(line)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        how = "done in" if error is None else "stopped after"
        self._show(f"{self.title} {how} {time.monotonic() - self.begun:.1f} s")
        if self.handle is None:
            sys.stderr.write("\n")


class Silent:
    """Stands where a bar would."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def in_notebook() -> Any:
    """A place in the output of a notebook's cell; `None` anywhere else.

    Lines that end in a carriage return stay in a saved notebook, one after the other; such a place keeps the last.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # a terminal
        return None
    from IPython.display import display

    place: Any = display  # untyped where IPython has types at all
    return place({"text/plain": ""}, raw=True, display_id=True)


def bar(title: str, verbose: bool) -> Bar | Silent:
    """A bar, or none."""
    return Bar(title) if verbose else Silent()
