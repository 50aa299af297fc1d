"""Tree layout with a limited number of rows, for plots; the report page uses the same rule.

Subtrees with fewer leaves than a threshold are collapsed. The remaining tree has few leaves and
long paths. Collapsed subtrees that branch off the same path are merged in order until a group has
at least as many leaves as the threshold. Each group, one subtree or several of a path, is one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ._inputs import Floats, Integers
    from ._tree import Tree


class Group(NamedTuple):
    """Leaves that share one row of a plot."""

    node: int
    size: int
    # Distance from its node to the deepest leaf.
    below: float
    # The first two leaves.
    points: list[int]


class Sketch(NamedTuple):
    """Layout of a plot: nodes, parents before children, and the groups from top to bottom."""

    parent: Integers
    x: Floats
    y: Floats
    groups: list[Group]


def sketch(tree: Tree, most: int) -> Sketch:
    """Lays out a tree in at most `most` rows, or four if `most` is less."""
    share = 1 if tree.n_points <= most else max(2, -(-tree.n_points // max(most, 4)))
    below = _Below(tree)
    for times in (1, 2, 4):  # four times the threshold always suffices; most shapes need less
        walk = _Walk(below, times * share)
        if share == 1 or len(walk.groups) <= most:
            break
    return walk.laid_out()


def label(group: Group, names: list[str] | None, letters: int = 24) -> str:
    """Returns the label of a row: up to two leaves, and the number of other leaves."""
    called = [str(p) if names is None else names[p] for p in group.points]
    called = [name if len(name) <= letters else name[: letters - 1] + "…" for name in called]
    rest = group.size - len(called)
    return ", ".join(called) + (f" and {rest:,} more" if rest else "")


class _Below:
    """Size, depth, first two leaves and children of every node, in lists for fast scalar access."""

    def __init__(self, tree: Tree) -> None:
        n, leaves = tree.n_nodes, tree.n_points
        parents: list[int] = tree.parents.tolist()
        self.lengths: list[float] = tree.lengths.tolist()
        self.size, self.deepest = [1] * leaves + [0] * (n - leaves), [0.0] * n
        self.first, self.second = [*range(leaves), *[n] * (n - leaves)], [n] * n
        self.order = np.argsort(tree.parents[:-1], kind="stable")
        self.start = np.searchsorted(tree.parents[self.order], np.arange(n + 1))
        for v in range(n - 1):
            p, one = parents[v], self.first[v]
            self.size[p] += self.size[v]
            depth = self.deepest[v] + self.lengths[v]
            if depth > self.deepest[p]:
                self.deepest[p] = depth
            if one < self.first[p]:
                self.first[p], self.second[p] = one, min(self.first[p], self.second[v])
            elif one < self.second[p]:
                self.second[p] = one

    def children(self, v: int) -> list[int]:
        """Returns the children of a node."""
        found: list[int] = self.order[self.start[v] : self.start[v + 1]].tolist()
        return found

    def points(self, roots: list[int]) -> list[int]:
        """Returns the first two leaves below some nodes."""
        both = sorted(leaf for v in roots for leaf in (self.first[v], self.second[v]))
        return [leaf for leaf in both[:2] if leaf < len(self.size)]


class _Walk:
    """The layout under construction."""

    def __init__(self, below: _Below, least: int) -> None:
        self.least, self.root = least, len(below.size) - 1
        self.below, self.size, self.lengths = below, below.size, below.lengths
        self.nodes: list[tuple[int, float]] = []  # parent, and length of the edge to it
        self.groups: list[Group] = []
        self.open = [(self.root, 0, 0.0)]
        while self.open:
            self._path(*self.open.pop())

    def _is_end(self, v: int) -> bool:
        """Checks whether a large subtree is one group: no large child, and size < 2 × threshold."""
        children = self.below.children(v)
        closed = all(self.size[c] < self.least for c in children)
        return closed and (v != self.root or not children) and self.size[v] < 2 * self.least

    def _path(self, start: int, parent: int, length: float) -> None:
        """Follows a path down while exactly one child is a large subtree."""
        if self._is_end(start):
            return self._group(parent, [(start, length - self.lengths[start])])
        v, top, far = start, self._inner(parent, length), 0.0
        beside: list[tuple[int, float]] = []  # collapsed subtrees, depths of parents below `top`
        leaves = 0  # leaves of `beside`
        while True:
            children = self.below.children(v)
            large = [c for c in children if self.size[c] >= self.least]
            small = [c for c in children if self.size[c] < self.least]
            beside += [(c, far) for c in small]
            leaves += sum(self.size[c] for c in small)
            if len(large) != 1:
                break
            v = large[0]
            far += self.lengths[v]
            if self._is_end(v):
                self._close(top, beside)
                return self._group(top, [(v, far - self.lengths[v])])
            if leaves >= self.least:
                self._close(top, beside)
                beside, leaves, top, far = [], 0, self._inner(top, far), 0.0
        self._close(top, beside)
        fork = self._inner(top, far) if far > 0 and large else top
        self.open += [(c, fork, self.lengths[c]) for c in large]

    def _inner(self, parent: int, length: float) -> int:
        self.nodes.append((parent, length))
        return len(self.nodes) - 1

    def _close(self, top: int, beside: list[tuple[int, float]]) -> None:
        """Merges collapsed subtrees into groups; all but the last reach the threshold."""
        some, leaves = [], 0
        for subtree in beside:
            some.append(subtree)
            leaves += self.size[subtree[0]]
            if leaves >= self.least:
                self._group(top, some)
                some, leaves = [], 0
        if some:
            self._group(top, some)

    def _group(self, top: int, subtrees: list[tuple[int, float]]) -> None:
        """Adds a group, at the root of one subtree or at the parent of the first of several."""
        first, at = subtrees[0]
        start = at + self.lengths[first] if len(subtrees) == 1 else at
        reach = [far + self.lengths[v] + self.below.deepest[v] - start for v, far in subtrees]
        points = self.below.points([v for v, _ in subtrees])
        size = sum(self.size[v] for v, _ in subtrees)
        node = self._inner(top, start)
        self.groups.append(Group(node, size, max(0.0, *reach), points))

    def laid_out(self) -> Sketch:
        """Assigns rows to groups in order of their first leaves, and centers inner nodes."""
        parent = np.array([p for p, _ in self.nodes], dtype=np.int64)
        x, first = np.zeros(len(parent)), np.full(len(parent), np.inf)
        below: list[list[int]] = [[] for _ in parent]
        for v in range(1, len(parent)):
            x[v] = x[parent[v]] + self.nodes[v][1]
            below[parent[v]].append(v)
        for group in self.groups:
            first[group.node] = group.points[0]
        for v in range(len(parent) - 1, 0, -1):
            first[parent[v]] = min(first[parent[v]], first[v])
        order, stack = [], [0]
        while stack:
            v = stack.pop()
            order.append(v)
            stack += sorted(below[v], key=lambda c: -first[c])
        row = {group.node: group for group in self.groups}
        groups = [row[v] for v in order if v in row]
        y = np.zeros(len(parent))
        y[[group.node for group in groups]] = np.arange(len(groups))
        for v in range(len(parent) - 1, -1, -1):
            if below[v]:
                y[v] = (y[below[v]].min() + y[below[v]].max()) / 2
        return Sketch(parent, x, y, groups)
