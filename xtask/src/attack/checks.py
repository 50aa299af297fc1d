"""Shared parts of the checking scripts: draws, a reference solver in rational numbers, and the main loop.

A line is printed before every check, so that a crash of the interpreter can be located. A wrong result, or an
unexpected error, ends the run with code 4 and a message.
"""

import random
import sys
import warnings
from fractions import Fraction

import numpy as np

DRAW = random.Random(int(sys.argv[1]))
# Tolerance for rounding, relative to the terms of a sum.
SLACK = 1e-9


class Wrong(Exception):
    """A wrong result."""


def check(holds, *why):
    if not holds:
        raise Wrong(" ".join(str(word) for word in why))


def agree(found, expected, slack, why):
    """Checks that two tables agree to an absolute tolerance."""
    found, expected = np.asarray(found), np.asarray(expected)
    close = np.allclose(found, expected, rtol=0, atol=slack)
    check(close, f"{why}: {found.tolist()} and not {expected.tolist()}")


def near(a, b, slack=SLACK):
    return a == b or abs(a - b) <= slack * max(abs(a), abs(b))


def refused(call, named):
    """Checks that a call fails with an error that contains a text."""
    try:
        call()
    except ValueError as error:
        check(named in str(error), named, "is not named:", error)
    else:
        raise Wrong(f"what has to do with {named} was taken")


def collection(rows, points):
    table = np.array(
        [[DRAW.choice([0.0, 0.0, 1.0, DRAW.random()]) for _ in range(points)] for _ in range(rows)]
    )
    table[np.arange(rows), [DRAW.randrange(points) for _ in range(rows)]] += 0.5
    return table / table.sum(axis=1, keepdims=True)


def rational_transport(a, b, cost, mass=None, penalty=None):
    """Minimum cost in rational numbers by successive shortest paths.

    It stops when `mass` or all mass is moved, or when a path costs as much as the penalties of its two ends.
    """
    a, b = [Fraction(x) for x in a], [Fraction(x) for x in b]
    cost = [[Fraction(x) for x in row] for row in cost]
    plan = [[Fraction(0)] * len(b) for _ in a]
    rest, value = min(sum(a), sum(b)) if mass is None else Fraction(mass), Fraction(0)
    while rest > 0 and any(a) and any(b):
        price, path = _cheapest_path(a, b, cost, plan)
        if penalty is not None and price >= 2 * Fraction(penalty):
            break
        back = list(zip(path[2::2], path[1::2]))
        amount = min([rest, a[path[0]], b[path[-1]], *(plan[i][j] for i, j in back)])
        for i, j in zip(path[::2], path[1::2]):
            plan[i][j] += amount
        for i, j in back:
            plan[i][j] -= amount
        a[path[0]], b[path[-1]] = a[path[0]] - amount, b[path[-1]] - amount
        rest, value = rest - amount, value + amount * price
    return value + (Fraction(penalty) * (sum(a) + sum(b)) if penalty is not None else 0)


def _cheapest_path(a, b, cost, plan):
    """Cheapest augmenting path by Bellman-Ford: its cost, and its rows and columns alternately.

    Ties are broken by length, which keeps the number of paths small.
    """
    rows = {i: (Fraction(0), 0, (i,)) for i in range(len(a)) if a[i]}
    columns, changed = {}, True
    while changed:
        changed = False
        for i, (price, steps, path) in rows.items():
            for j in range(len(b)):
                if j not in columns or (price + cost[i][j], steps + 1) < columns[j][:2]:
                    columns[j], changed = (price + cost[i][j], steps + 1, (*path, j)), True
        for j, (price, steps, path) in columns.items():
            for i in range(len(plan)):
                if plan[i][j] and (i not in rows or (price - cost[i][j], steps + 1) < rows[i][:2]):
                    rows[i], changed = (price - cost[i][j], steps + 1, (*path, i)), True
    price, _, path = min(columns[j] for j in columns if b[j])
    return price, path


def way_lengths(parents, lengths, leaves):
    """Computes the distances between the leaves of a tree in rational numbers."""
    climbs = []
    for leaf in range(leaves):
        climbs.append({leaf: Fraction(0)})
        while parents[leaf] != leaf:
            climbs[-1][parents[leaf]] = climbs[-1][leaf] + Fraction(lengths[leaf])
            leaf = parents[leaf]
    return [
        [min(one[node] + other[node] for node in one.keys() & other) for other in climbs]
        for one in climbs
    ]


def main(questions):
    """Runs the check of the command line as often as requested."""
    warnings.simplefilter("ignore")
    for _ in range(int(sys.argv[3])):
        try:
            questions[sys.argv[2]]()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            sys.exit(4)
