"""Progress bars for `verbose`: on stderr, or in notebooks a line updated in place."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Optional


class Bar:
    """Progress bar that the compiled half calls a few times per second."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.task = title
        self.begun = time.monotonic()
        self.shown = 0
        self.handle = in_notebook()

    def __call__(self, task: str, done: int, total: int) -> None:
        self.task = task or self.title
        seconds = time.monotonic() - self.begun
        if not total:  # the amount of work is unknown, possibly only for now
            self._show(f"{self.task} {seconds:.0f} s")
            return
        share = done / total
        left = f", {seconds / share - seconds:.0f} s left" if share > 0.01 else ""
        bar = "█" * round(20 * share)
        self._show(f"{self.task} {share:4.0%} |{bar:<20}| {done}/{total} {seconds:.0f} s{left}")

    def expect(self, what: str) -> None:
        """Prints a rough estimate of the work before it begins."""
        sys.stderr.write(f"{self.title}: {what}, roughly\n")
        sys.stderr.flush()

    def explain(self, route: str) -> None:
        """Prints the solvers that will run, and the reason."""
        sys.stderr.write(f"{self.title}: {route}\n")
        sys.stderr.flush()

    def _show(self, line: str) -> None:
        if self.handle is not None:
            self.handle.update({"text/plain": line}, raw=True)
            return
        # Padding overwrites the rest of a longer line.
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
    """Context manager in place of a bar, without output."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def in_notebook() -> Any:
    """Returns an updatable display in the output of a notebook's cell; `None` outside notebooks.

    A saved notebook keeps all lines that end in a carriage return. A display keeps only the last."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # a terminal
        return None
    from IPython.display import display

    place: Any = display  # untyped even in versions of IPython with types
    return place({"text/plain": ""}, raw=True, display_id=True)


def bar(title: str, verbose: bool) -> Bar | Silent:
    """Returns a progress bar if `verbose`, or else a silent context manager."""
    return Bar(title) if verbose else Silent()
