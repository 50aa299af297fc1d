"""HTML representation of models and solutions in notebooks: a few facts and a small tree."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._summary import label, sketch

if TYPE_CHECKING:
    from ._forest import Forest
    from ._solution import Solution
    from ._tree import Tree

# The number of rows of the picture, and the height of a row and the width of the tree in pixels.
ROWS, ROW, WIDTH = 16, 15, 250


def of_tree(tree: Tree) -> str:
    """Returns facts and the picture of a tree."""
    facts = [("points", f"{tree.n_points:,}"), ("nodes", f"{tree.n_nodes:,}"), ("kind", _one(tree))]
    return _page("Tree", facts, tree)


def of_forest(forest: Forest) -> str:
    """Returns facts of a forest, and the picture of the tree with the largest weight."""
    weights = forest.weights
    heaviest = int(np.argmax(weights))
    facts = [
        ("trees", f"{len(weights):,}"),
        ("points", f"{forest.n_points:,}"),
        ("nodes", f"{forest.n_nodes:,}"),
        (
            "shown",
            f"tree {heaviest + 1}, which has the largest weight: {100 * weights[heaviest]:.1f} %",
        ),
    ]
    return _page("Forest", facts, forest.trees[heaviest])


def of_fitted(model: Any) -> str:
    """Returns facts of a fitted `TreeWasserstein`, and the picture of its tree."""
    totals = "divided by their totals" if model.normalize else "as they are"
    facts = [("points", f"{model.n_features_in_:,}"), ("rows", totals)]
    if hasattr(model, "method_"):
        facts = [("method", str(model.method_)), *facts]
        facts.append(("exact distances used", f"{model.n_pairs_:,}"))
        facts += _error(model)
    forest = getattr(model, "forest_", None)
    if forest is None:
        return _page("TreeWasserstein", [*facts, ("kind", _one(model.tree_))], model.tree_)
    heaviest = int(np.argmax(forest.weights))
    return _page(
        "TreeWasserstein",
        [*facts, ("kind", f"mean of {len(forest)} trees")],
        forest.trees[heaviest],
    )


def of_solution(solution: Solution, n_moves: int) -> str:
    """Returns value, gap and solver of a transport problem."""
    facts = [("value", f"{solution.value:.10g}"), ("proved gap", f"{solution.gap:.3g}")]
    facts += [
        ("moves", f"{n_moves:,}"),
        ("solver", solution.engine),
        ("seconds", f"{solution.seconds:.3g}"),
    ]
    return _page("Solution", facts + ([("route", solution.route)] if solution.route else []))


def _error(model: Any) -> list[tuple[str, str]]:
    """Returns the error or the loss on held-out exact distances, if there are any."""
    if model.stage_ in model.stage_errors_:
        return [("held-out error", f"{100 * model.stage_errors_[model.stage_]:.1f} %")]
    curve = model.validation_loss_curve_
    if len(curve) > model.best_epoch_ and np.isfinite(curve[model.best_epoch_]):
        return [("held-out loss", f"{curve[model.best_epoch_]:.3g}")]
    return []


def _one(tree: Tree) -> str:
    return "ultrametric tree" if tree.is_ultrametric else "additive tree"


def _page(title: str, facts: list[tuple[str, str]], tree: Optional[Tree] = None) -> str:
    """Builds a table of facts and the picture of a tree, in the colors of the surrounding page."""
    cell = 'style="text-align:left;padding:1px 10px 1px 0;border:none;background:none"'
    rows = "".join(
        f"<tr><td {cell}>{escape(k)}</td><td {cell}>{escape(v)}</td></tr>" for k, v in facts
    )
    return (
        '<div style="display:flex;gap:28px;align-items:flex-start;flex-wrap:wrap">'
        f'<div><b>{title}</b><table style="border:none;margin:4px 0">{rows}</table></div>{picture(tree) if tree is not None else ""}</div>'
    )


def picture(tree: Tree) -> str:
    """Draws a tree in few rows as inline SVG."""
    parent, x, y, groups = sketch(tree, ROWS)
    deepest = max(x[g.node] + g.below for g in groups)
    across = x * (WIDTH / deepest if deepest > 0 else 0.0)
    down = (y + 0.7) * ROW
    edges = "".join(
        f"M{across[p]:.1f} {down[p]:.1f}V{down[v]:.1f}H{across[v]:.1f}"
        for v, p in enumerate(parent)
        if v
    )
    parts, longest = [f'<path d="{edges}" fill="none" stroke="currentColor" stroke-width="1"/>'], 0
    for group in groups:
        left, at, far = across[group.node], down[group.node], across[group.node]
        if group.size > 1:
            far = left + group.below * (WIDTH / deepest if deepest > 0 else 0.0)
            wedge = f"M{left:.1f} {at:.1f}L{far:.1f} {at - 5:.1f}V{at + 5:.1f}Z"
            parts.append(
                f'<path d="{wedge}" fill="currentColor" fill-opacity="0.25" stroke="currentColor"/>'
            )
        text = label(group, tree.names, 18)
        longest = max(longest, len(text))
        parts.append(
            f'<text x="{far + 5:.1f}" y="{at + 3.5:.1f}" fill="currentColor">{escape(text)}</text>'
        )
    width, height = WIDTH + 12 + 6 * longest, len(groups) * ROW + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="-1 0 {width} {height}" '
        f'font-family="sans-serif" font-size="10.5" role="img">{"".join(parts)}</svg>'
    )
