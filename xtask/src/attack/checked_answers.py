"""Asks the package what can be checked without it: `checked_answers.py SEED WHAT COUNT`.

Before every question a line says which it is, so that a dead interpreter leaves its last words. An answer that is
wrong ends the run with code 4 and says why; so does an error where there has to be an answer.
"""

import math
import random
import sys
import threading
import warnings

import numpy as np
from scipy.spatial.distance import cdist

import treeport as tp

DRAW = random.Random(int(sys.argv[1]))
# What roundings may cost, relative to what was added up.
SLACK = 1e-9


class Wrong(Exception):
    """An answer that cannot be true."""


def check(holds, *why):
    if not holds:
        raise Wrong(" ".join(str(word) for word in why))


def near(a, b, slack=SLACK):
    return a == b or abs(a - b) <= slack * max(abs(a), abs(b))


def masses(count):
    """Few digits, many digits, or nothing; something in all."""
    found = [DRAW.choice([0.0, 0.1, 0.3, 0.25, 1.0, 7.0, DRAW.random(), DRAW.random() * 1e-6]) for _ in range(count)]
    found[DRAW.randrange(count)] += DRAW.choice([0.4, 1.0, DRAW.random() + 0.1])
    return np.array(found)


def spread(orders):
    """A number of that many orders of magnitude around 1."""
    return 10 ** DRAW.uniform(-orders / 2, orders / 2)


def costs(rows, columns):
    """Some far above others, with ties and zeros."""
    orders, few = DRAW.choice([0, 3, 12, 40]), [spread(40) for _ in range(3)]
    kinds = [lambda: 0.0, lambda: spread(orders), lambda: DRAW.choice(few), lambda: float(DRAW.randrange(4))]
    used = DRAW.sample(kinds, DRAW.randint(1, len(kinds)))
    return np.array([[DRAW.choice(used)() for _ in range(columns)] for _ in range(rows)])


def moved_cost(plan, cost):
    """What the moves cost; what is not moved costs nothing, however far it is."""
    return math.fsum(mass * cost[i, j] for (i, j), mass in np.ndenumerate(plan) if mass)


def check_plan(plan, a, b):
    check((plan >= 0).all(), "a plan with a negative entry", plan.tolist())
    for sums, given in [(plan.sum(axis=1), a), (plan.sum(axis=0), b)]:
        check((sums <= given + SLACK * max(given.max(), 1e-300)).all(), "the plan moves", sums, "of", given)


def reordered(a, b, cost):
    """The same problem with other orders of rows and columns, and from the other side."""
    rows, columns = (DRAW.sample(range(len(of)), len(of)) for of in (a, b))
    yield a[rows], b[columns], cost[np.ix_(rows, columns)]
    yield b, a, np.ascontiguousarray(cost.T)
    yield b[columns], a[rows], np.ascontiguousarray(cost[np.ix_(rows, columns)].T)


def penalty_problem():
    a, b = masses(DRAW.randint(1, 6)), masses(DRAW.randint(1, 6))
    cost = costs(len(a), len(b))
    penalty = DRAW.choice([0.0, spread(40), spread(6), DRAW.choice(cost.ravel().tolist()), DRAW.choice(cost.ravel().tolist()) / 2])
    print(f"emd({a.tolist()}, {b.tolist()}, {cost.tolist()}, penalty={penalty})", flush=True)
    value, plan, (u, v) = tp.emd(a, b, cost, penalty=penalty, return_plan=True, return_potentials=True)
    plan, most = plan.toarray(), penalty * (a.sum() + b.sum())
    check(0 <= value <= most * (1 + SLACK), "value", value, "is not within 0 and", most)
    check_plan(plan, a, b)
    left = math.fsum([*a, *b, *(-2 * plan.ravel())])
    paid = moved_cost(plan, cost) + penalty * max(left, 0.0)
    check(paid <= value + SLACK * max(value, SLACK * most), "the plan costs", paid, "and the value is", value)
    sums = np.add.outer(u, v)
    room = SLACK * np.maximum(np.abs(u)[:, None] + np.abs(v)[None], cost)
    check((sums <= cost + room).all(), "potentials beyond a cost by", (sums - cost).max())
    check(max(u.max(), v.max()) <= penalty * (1 + SLACK), "potentials beyond the penalty", u, v)
    proved = math.fsum([*(a * u), *(b * v)])
    check(proved >= value - SLACK * max(value, SLACK * most), "potentials prove", proved, "and the value is", value)
    check(tp.emd(a, b, cost, penalty=penalty) == value, "another value without plan and potentials")
    for other in reordered(a, b, cost):
        again = tp.emd(*other, penalty=penalty)
        check(abs(again - value) <= SLACK * max(value, SLACK * most), "value", value, "and, in another order,", again)


def mass_problem():
    a, b = masses(DRAW.randint(1, 6)), masses(DRAW.randint(1, 6))
    cost = costs(len(a), len(b))
    mass = min(a.sum(), b.sum()) * DRAW.choice([0.0, 1.0, 0.5, DRAW.random()])
    print(f"emd({a.tolist()}, {b.tolist()}, {cost.tolist()}, mass={mass})", flush=True)
    value, plan = tp.emd(a, b, cost, mass=mass, return_plan=True)
    plan = plan.toarray()
    check_plan(plan, a, b)
    check(near(plan.sum(), mass), "the plan moves", plan.sum(), "and not", mass)
    check(near(moved_cost(plan, cost), value), "the plan costs", moved_cost(plan, cost), "and the value is", value)
    # Whatever the penalty, no plan costs less than the least of all masses.
    for penalty in [DRAW.choice(cost.ravel().tolist()) / 2, spread(40)]:
        least = tp.emd(a, b, cost, penalty=penalty) - penalty * max(a.sum() + b.sum() - 2 * mass, 0.0)
        check(value >= least - SLACK * max(abs(least), value, penalty * (a.sum() + b.sum())), "value", value, "is below", least)
    for other in reordered(a, b, cost):
        again = tp.emd(*other, mass=mass)
        check(near(again, value), "value", value, "and, in another order,", again)


def collection(rows, points):
    table = np.array([[DRAW.choice([0.0, 0.0, 1.0, DRAW.random()]) for _ in range(points)] for _ in range(rows)])
    table[np.arange(rows), [DRAW.randrange(points) for _ in range(rows)]] += 0.5
    return table / table.sum(axis=1, keepdims=True)


def check_neighbors(found, judge, numbers):
    """What an index says of its collection, against one that was made for what it holds by now."""
    for (distances, at), (expected, _), every in zip(zip(*found), zip(*judge[0]), judge[1]):
        scale = max(expected.max(), 1e-300)
        check(np.allclose(distances, expected, rtol=0, atol=SLACK * scale), "neighbors at", distances, "and not", expected)
        check(set(at.tolist()) <= set(numbers), "number", at, "is gone")
        own = [every[numbers.index(number)] for number in at]
        check(np.allclose(own, distances, rtol=0, atol=SLACK * scale), "distances", distances, "of rows at", own)


def fresh(places, rows, queries, k):
    """Neighbors by an index of these rows alone, and the distances of the queries to all of them."""
    index = tp.WassersteinNeighbors(places, n_neighbors=k).fit(rows)
    together = np.concatenate([queries, rows])
    pairs = [(q, len(queries) + r) for q in range(len(queries)) for r in range(len(rows))]
    return index.kneighbors(queries), tp.emd_pairs(together, pairs, points=places).reshape(len(queries), -1)


def changed_index():
    places = np.array([[DRAW.random(), DRAW.random()] for _ in range(DRAW.randint(2, 12))])
    rows, queries = collection(DRAW.randint(4, 30), len(places)), collection(4, len(places))
    index = tp.WassersteinNeighbors(places, n_neighbors=2).fit(rows)
    numbers, kept = list(range(len(rows))), list(rows)
    for _ in range(DRAW.randint(1, 8)):
        if DRAW.random() < 0.5 or len(numbers) < 4:
            more = collection(DRAW.randint(1, 5), len(places))
            given = index.add(more).tolist()
            check(not set(given) & set(numbers), "numbers are given twice", given)
            numbers, kept = numbers + given, kept + list(more)
        else:
            gone = DRAW.sample(numbers, DRAW.randint(1, len(numbers) - 3))
            index.remove(gone)
            left = [at for at, number in enumerate(numbers) if number not in gone]
            numbers, kept = [numbers[at] for at in left], [kept[at] for at in left]
        print(f"numbers {numbers}", flush=True)
        judge = fresh(places, np.array(kept), queries, 2)
        check_neighbors(index.kneighbors(queries), judge, numbers)


def shared_index():
    """Searches of several threads while one adds and removes; every answer is one of some moment."""
    places = np.array([[DRAW.random(), DRAW.random()] for _ in range(10)])
    rows, queries = collection(40, 10), collection(6, 10)
    index = tp.WassersteinNeighbors(places, n_neighbors=3).fit(rows)
    print("threads", flush=True)
    over, wrong = threading.Event(), []

    def search():
        try:
            while not over.is_set():
                distances, _ = index.kneighbors(queries)
                check((np.diff(distances, axis=1) >= 0).all(), "neighbors out of order", distances)
        except RuntimeError as error:
            wrong.extend([error] if "borrow" in str(error) else [])
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    kept = dict(enumerate(rows))
    for _ in range(20):
        more = collection(3, 10)
        try:
            kept.update(zip(index.add(more).tolist(), more))
            gone = DRAW.sample(sorted(kept), 2)
            index.remove(gone)
            for number in gone:
                del kept[number]
        except RuntimeError as error:
            wrong.extend([error] if "borrow" in str(error) else [])
    over.set()
    for thread in threads:
        thread.join()
    check(not wrong, *wrong)
    check_neighbors(index.kneighbors(queries), fresh(places, np.array(list(kept.values())), queries, 3), list(kept))


def missing_columns():
    """A table that names some of the points, in any order, is the whole one with zeros."""
    import pandas as pd

    names = [f"p{k}" for k in range(DRAW.randint(3, 9))]
    places = np.array([[DRAW.random(), DRAW.random()] for _ in names])
    tree = tp.linkage(points=pd.DataFrame(places, index=names))
    there = DRAW.sample(names, DRAW.randint(2, len(names)))
    some = pd.DataFrame(collection(5, len(there)), columns=there, index=[f"s{k}" for k in range(5)])
    whole = some.reindex(columns=names, fill_value=0.0)
    print(f"columns {there} of {names}", flush=True)
    for answer in [tree.pairwise, lambda rows: tp.emd_pairwise(rows, points=pd.DataFrame(places, index=names))]:
        found, expected = np.asarray(answer(some)), np.asarray(answer(whole))
        check((found == expected).all(), "distances", found.tolist(), "and with zeros", expected.tolist())
    judge = np.array([[tp.emd(x, y, cdist(places, places)) for y in whole.to_numpy()] for x in whole.to_numpy()])
    check(np.allclose(found, judge, rtol=0, atol=SLACK), "distances", found.tolist(), "and one by one", judge.tolist())
    refused(lambda: tree.pairwise(some.rename(columns={there[0]: "nowhere"})), "nowhere")
    if len(there) < len(names):
        refused(lambda: tree.pairwise(some, missing="error"), next(name for name in names if name not in there))


def refused(call, named):
    """What has to be an error that names something."""
    try:
        call()
    except ValueError as error:
        check(named in str(error), named, "is not named:", error)
    else:
        raise Wrong(f"what has to do with {named} was taken")


QUESTIONS = {
    "relaxed": lambda: DRAW.choice([penalty_problem, penalty_problem, mass_problem])(),
    "changes": changed_index,
    "threads": shared_index,
    "columns": missing_columns,
}


def main():
    warnings.simplefilter("ignore")
    ask = QUESTIONS[sys.argv[2]]
    for _ in range(int(sys.argv[3])):
        try:
            ask()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            sys.exit(4)


main()
