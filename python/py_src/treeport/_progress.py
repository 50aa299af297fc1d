"""A progress bar on stderr, for `verbose`."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Optional


class Bar:
    """Shows how far work is; the compiled half calls it a few times a second."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.task = title
        self.begun = time.monotonic()
        self.shown = 0

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

    def _show(self, line: str) -> None:
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
        sys.stderr.write("\n")


class Silent:
    """Stands where a bar would."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def bar(title: str, verbose: bool) -> Bar | Silent:
    """A bar, or none."""
    return Bar(title) if verbose else Silent()
