"""Small odd instances with verifiable results: `certificates.py SEED PROGRAM`.

On a line the exact distance has a closed form, distances satisfy the axioms of a metric, and
certified bounds contain the exact distance. A wrong result ends the run with code 4 and a message.
"""

import itertools
import random
import subprocess
import sys

DRAW = random.Random(int(sys.argv[1]))
# Tolerance for rounding, relative to the largest result; and rounding of masses, relative to the
# largest possible distance.
SLACK, ROUNDING = 1e-9, 1e-15


def check(holds, why):
    if not holds:
        print(why, file=sys.stderr)
        sys.exit(4)


def value(unit, coarse):
    """Draws a number with ties, zeros and tiny values."""
    some = DRAW.randrange(4) if coarse else DRAW.random()
    return DRAW.choice([0.0, unit, unit * 1e-14, *[unit * some] * 3])


def table(name, header, rows):
    with open(name, "w", encoding="utf-8") as file:
        file.write(header)
        file.writelines(",".join(map(repr, row)) + "\n" for row in rows)


def run(words):
    """Returns the rows of a command's table, or None if it refuses its input."""
    print(f"treeport {words}", flush=True)
    command = [sys.argv[2], *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    refused = done.returncode == 2 and done.stderr.strip()
    good = (done.returncode == 0 or refused) and "panicked at" not in done.stderr
    check(good, f"exit code {done.returncode}: {done.stderr[:160]!r}")
    lines = done.stdout.splitlines()[1:]
    return None if refused else [[float(cell) for cell in line.split(",")] for line in lines]


def check_metric(exact, count, slack):
    """Checks symmetry, zeros and the triangle inequality of a square table."""
    for i, j in itertools.product(range(count), repeat=2):
        there, back = exact[i, j], exact[j, i]
        check(abs(there - back) <= slack, f"W({i}, {j}) = {there}, W({j}, {i}) = {back}")
        check(i != j or there == 0.0, f"W({i}, {i}) = {there}")
        for k in range(count):
            detour = there + exact[j, k]
            check(exact[i, k] <= detour + slack, f"W({i}, {k}) exceeds the sum over {j}: {detour}")


def closed_form(points, a, b):
    """The area between two distribution functions on a line."""
    order, above, area = sorted(range(len(points)), key=points.__getitem__), 0.0, 0.0
    for here, there in zip(order, order[1:]):
        above += a[here] / sum(a) - b[here] / sum(b)
        area += abs(above) * (points[there] - points[here])
    return area


def main():
    powers = [-150, -40, -9, 0, 0, 0, 3, 40, 150]
    length, mass = 10.0 ** DRAW.choice(powers), 10.0 ** DRAW.choice(powers)
    count, size, axes = DRAW.randint(2, 4), DRAW.randint(1, 8), DRAW.randint(1, 2)
    coarse = DRAW.random() < 0.5
    points = [[value(length, coarse) for _ in range(axes)] for _ in range(size)]
    masses = [[value(mass, coarse) for _ in range(size)] for _ in range(count)]
    for row in masses:
        row[0] += 0.0 if any(row) else mass
    pairs = list(itertools.product(range(count), repeat=2))
    table("points.csv", "", points)
    table("measures.csv", "", masses)
    table("pairs.csv", "left,right\n", pairs)
    words = f"--points points.csv --metric {DRAW.choice(['euclidean', 'manhattan'])}"
    words += " --measures measures.csv --normalize --pairs pairs.csv"
    rows = run(f"exact {words}")
    if rows is None:
        return
    exact = {pair: row[2] for pair, row in zip(pairs, rows)}
    check(len(rows) == len(pairs), f"{len(rows)} rows for {len(pairs)} pairs")
    span = sum(max(axis) - min(axis) for axis in zip(*points))
    largest, rounding = max(exact.values()), ROUNDING * span
    check_metric(exact, count, SLACK * largest + rounding)
    for (i, j), found in exact.items() if axes == 1 else ():
        area = closed_form([point[0] for point in points], masses[i], masses[j])
        check(abs(found - area) <= SLACK * span, f"W({i}, {j}) = {found}, not {area}")
    for accuracy in ["tree", "flow", "arcs", "exact", "0.1"]:
        rows = run(f"estimate {words} --accuracy {accuracy} --bounds --n-trees 3")
        if rows is None:
            continue
        check(len(rows) == len(pairs), f"{len(rows)} rows for {len(pairs)} pairs")
        slack = 1e-12 * largest + rounding
        for pair, (_, _, found, lower, upper) in zip(pairs, rows):
            true = exact[pair]
            inside = lower <= true + slack and true <= upper + slack
            near = accuracy != "0.1" or abs(found - true) <= 0.1 * true + slack
            check(inside and near, f"W{pair} = {true}, and {found} within {lower} and {upper}")


main()
