"""Checks results of the package independently: `checked_answers.py SEED WHAT COUNT`."""

import math
import threading
import time
from fractions import Fraction

import numpy as np
import treeport as tp
from checks import (
    DRAW,
    SLACK,
    agree,
    check,
    collection,
    main,
    near,
    rational_transport,
    way_lengths,
)
from scipy import sparse
from scipy.spatial.distance import cdist


def masses(count, sixteenths=False):
    """Draws masses with few digits, many digits, or 0; their total is positive. Sums of sixteenths are exact."""
    if sixteenths:
        found = [DRAW.choice([0, 0, 1, 2, 16, DRAW.randrange(100)]) / 16 for _ in range(count)]
        found[DRAW.randrange(count)] += 0.5
        return np.array(found)
    found = [
        DRAW.choice([0.0, 0.1, 0.3, 0.25, 1.0, 7.0, DRAW.random(), DRAW.random() * 1e-6])
        for _ in range(count)
    ]
    found[DRAW.randrange(count)] += DRAW.choice([0.4, 1.0, DRAW.random() + 0.1])
    return np.array(found)


def spread(orders):
    """Draws a number within that many orders of magnitude around 1."""
    return 10 ** DRAW.uniform(-orders / 2, orders / 2)


def costs(rows, columns):
    """Draws costs of different magnitudes, with ties and zeros."""
    orders, few = DRAW.choice([0, 3, 12, 40]), [spread(40) for _ in range(3)]
    kinds = [
        lambda: 0.0,
        lambda: spread(orders),
        lambda: DRAW.choice(few),
        lambda: float(DRAW.randrange(4)),
    ]
    used = DRAW.sample(kinds, DRAW.randint(1, len(kinds)))
    return np.array([[DRAW.choice(used)() for _ in range(columns)] for _ in range(rows)])


def moved_cost(plan, cost):
    """Cost of a plan; an infinite cost without mass does not count."""
    return math.fsum(mass * cost[i, j] for (i, j), mass in np.ndenumerate(plan) if mass)


def check_plan(plan, a, b):
    check((plan >= 0).all(), "a plan with a negative entry", plan.tolist())
    for sums, given in [(plan.sum(axis=1), a), (plan.sum(axis=0), b)]:
        check(
            (sums <= given + SLACK * max(given.max(), 1e-300)).all(),
            f"the plan moves {sums} of {given}",
        )


def reordered(a, b, cost):
    """The problem with permuted rows and columns, and transposed."""
    rows, columns = (DRAW.sample(range(len(of)), len(of)) for of in (a, b))
    yield a[rows], b[columns], cost[np.ix_(rows, columns)]
    yield b, a, np.ascontiguousarray(cost.T)
    yield b[columns], a[rows], np.ascontiguousarray(cost[np.ix_(rows, columns)].T)


def penalty_problem():
    sixteenths = DRAW.random() < 0.5
    a, b = masses(DRAW.randint(1, 6), sixteenths), masses(DRAW.randint(1, 6), sixteenths)
    cost = costs(len(a), len(b))
    one, other = DRAW.choice(cost.ravel().tolist()), DRAW.choice(cost.ravel().tolist())
    penalty = DRAW.choice([0.0, spread(40), spread(6), one, other / 2])
    print(f"emd({a.tolist()}, {b.tolist()}, {cost.tolist()}, penalty={penalty})", flush=True)
    value, plan, (u, v) = tp.emd(
        a, b, cost, penalty=penalty, return_plan=True, return_potentials=True
    )
    plan, most = plan.toarray(), penalty * (a.sum() + b.sum())
    check(0 <= value <= most * (1 + SLACK), f"value {value} is not within 0 and {most}")
    least = float(rational_transport(a, b, cost, penalty=penalty))
    # Totals that differ by rounding count as equal.
    rounding = SLACK * max(least, SLACK * most) + (0.0 if sixteenths else 1e-15 * most)
    check(abs(value - least) <= rounding, f"value {value} and, in rational numbers, {least}")
    bounds = tp.emd(a, b, cost, penalty=penalty, accuracy=DRAW.choice(["exact", 1e-3, 0.1, 0.5]))
    inside = bounds.lower - rounding <= least <= bounds.upper + rounding
    check(inside, f"{least} is not within {bounds}")
    check_plan(plan, a, b)
    slack = SLACK * max(value, SLACK * most)
    left = math.fsum([*a, *b, *(-2 * plan.ravel())])
    paid = moved_cost(plan, cost) + penalty * max(left, 0.0)
    check(paid <= value + slack, f"the plan costs {paid} and the value is {value}")
    sums = np.add.outer(u, v)
    room = SLACK * np.maximum(np.abs(u)[:, None] + np.abs(v)[None], cost)
    check((sums <= cost + room).all(), f"potentials exceed a cost by {(sums - cost).max()}")
    within = max(u.max(), v.max()) <= penalty * (1 + SLACK)
    check(within, f"potentials exceed the penalty: {u} {v}")
    proved = math.fsum([*(a * u), *(b * v)])
    check(proved >= value - slack, f"potentials prove {proved} and the value is {value}")
    check(tp.emd(a, b, cost, penalty=penalty) == value, "another value without plan and potentials")
    for other in reordered(a, b, cost):
        again = tp.emd(*other, penalty=penalty)
        check(abs(again - value) <= slack, f"value {value} and, in another order, {again}")


def mass_problem():
    sixteenths = DRAW.random() < 0.5
    a, b = masses(DRAW.randint(1, 6), sixteenths), masses(DRAW.randint(1, 6), sixteenths)
    cost = costs(len(a), len(b))
    near_an_end = 10 ** DRAW.uniform(-300 if DRAW.random() < 0.2 else -12, -1)
    mass = min(a.sum(), b.sum()) * DRAW.choice(
        [0.0, 1.0, 0.5, DRAW.random(), near_an_end, 1 - near_an_end]
    )
    print(f"emd({a.tolist()}, {b.tolist()}, {cost.tolist()}, mass={mass})", flush=True)
    value, plan = tp.emd(a, b, cost, mass=mass, return_plan=True)
    plan = plan.toarray()
    check_plan(plan, a, b)
    check(near(plan.sum(), mass), "the plan moves", plan.sum(), "and not", mass)
    check(
        near(moved_cost(plan, cost), value),
        f"the plan costs {moved_cost(plan, cost)} and the value is {value}",
    )
    # The last mass of a rounded total may cost any amount.
    if sixteenths or mass < 0.99 * min(a.sum(), b.sum()):
        least = float(rational_transport(a, b, cost, mass=mass))
        check(near(value, least), "value", value, "and, in rational numbers,", least)
    # For any penalty, the relaxed value bounds the cost of this mass from below.
    for penalty in [DRAW.choice(cost.ravel().tolist()) / 2, spread(40)]:
        left = max(a.sum() + b.sum() - 2 * mass, 0.0)
        least = tp.emd(a, b, cost, penalty=penalty) - penalty * left
        check(
            value >= least - SLACK * max(abs(least), value, penalty * (a.sum() + b.sum())),
            f"value {value} is below {least}",
        )
    for other in reordered(a, b, cost):
        again = tp.emd(*other, mass=mass)
        check(near(again, value), "value", value, "and, in another order,", again)


def tree_over(leaves):
    """Draws parents and lengths of a tree, over 40 orders of magnitude."""
    free, parents = list(range(leaves)), {}
    while len(free) > 1:
        node = leaves + len(set(parents.values()))
        for child in DRAW.sample(free, min(len(free), DRAW.choice([2, 2, 3]))):
            parents[child] = node
            free.remove(child)
        free.append(node)
    parents[free[0]] = free[0]
    lengths = [DRAW.choice([0.0, 1.0, spread(40)]) for _ in range(len(parents) - 1)] + [0.0]
    return [parents[node] for node in range(len(parents))], lengths


def penalties_elsewhere():
    """Checks trees, graphs and tables of pairs with a penalty."""
    size = DRAW.randint(2, 6)
    rows = np.array([masses(size, sixteenths=True) for _ in range(3)])
    penalty = DRAW.choice([0.0, 1.0, spread(6), spread(40)])
    kind = DRAW.choice(["tree", "graph", "table"])
    if kind == "tree":
        parents, lengths = tree_over(size)
        cost, tree = way_lengths(parents, lengths, size), tp.Tree(parents, lengths)
        print(f"Tree({parents}, {lengths}), penalty={penalty}, {rows.tolist()}", flush=True)
        found = [[tree.distance(a, b, penalty=penalty) for b in rows] for a in rows]
    elif kind == "graph":
        lengths = [spread(40) for _ in range(size - 1)]
        cost = [
            [sum(map(Fraction, lengths[min(i, j) : max(i, j)])) for i in range(size)]
            for j in range(size)
        ]
        print(f"chain {lengths}, penalty={penalty}, {rows.tolist()}", flush=True)
        chain = sparse.coo_array(
            (lengths, (range(size - 1), range(1, size))), shape=(size, size)
        ).tocsr()
        found = tp.emd_pairwise(rows, rows, graph=chain, penalty=penalty)
    else:
        cost = np.triu(costs(size, size), 1)
        cost += cost.T
        print(f"table {cost.tolist()}, penalty={penalty}, {rows.tolist()}", flush=True)
        found = tp.emd_pairwise(rows, rows, cost=cost, penalty=penalty)
    for a, values in zip(rows, found):
        for b, value in zip(rows, values):
            least = float(rational_transport(a, b, cost, penalty=penalty))
            room = SLACK * max(least, SLACK * penalty * (a.sum() + b.sum()))
            check(abs(value - least) <= room, "value", value, "and, in rational numbers,", least)


def generic_masses(count):
    """Draws masses with exact sums; without equal sums of some, optimal potentials are unique.

    Points without mass come last.
    """
    parts = [DRAW.randrange(1, 2**40) for _ in range(DRAW.randint(1, count))]
    parts = [max(1, part * 2**42 // sum(parts)) for part in parts]
    parts[0] += 2**42 - sum(parts)
    return np.array(parts + [0] * (count - len(parts))) / 2**40


def rates():
    """Compares rates with finite differences in rational numbers, at points with and without mass."""
    a, b = (generic_masses(DRAW.randint(2, 6)) for _ in range(2))
    metric = DRAW.choice(["euclidean", "manhattan", "chebyshev", "sqeuclidean", None])
    if metric is None:
        cost = costs(len(a), len(b))
        ground = {"cost": cost}
    else:
        whole = DRAW.random() < 0.5  # many ties
        draw = (lambda: float(DRAW.randrange(5))) if whole else DRAW.random
        x, y = ([[draw(), draw()] for _ in side] for side in (a, b))
        cost = cdist(x, y, metric.replace("manhattan", "cityblock"))
        ground = {"points": x, "points_b": y, "metric": metric}
    print(f"rates of {a.tolist()}, {b.tolist()}, {ground}", flush=True)
    found = tp.solve(a, b, **ground, rates=True).rates
    little = Fraction(1, 2**60)
    sides = [[Fraction(mass) for mass in side] for side in (a, b)]
    value = rational_transport(*sides, cost)
    for side, rate in enumerate(found):
        source = DRAW.choice([at for at, mass in enumerate(sides[side]) if mass])
        for sink in range(len(rate)):
            moved = [list(masses) for masses in sides]
            moved[side][source] -= little
            moved[side][sink] += little
            change = float((rational_transport(*moved, cost) - value) / little)
            said = rate[sink] - rate[source]
            room = SLACK * max(cost.max(), abs(said))
            check(abs(change - said) <= room, "side", side, source, "to", sink, change, "not", said)


def penalized_clouds():
    """Checks distances and neighbors of clouds with a penalty; clouds may be empty."""
    clouds = [
        (
            masses(size, sixteenths=True) if size else [],
            np.array(
                [[DRAW.choice([0.0, 1.0, DRAW.random()]) for _ in "xy"] for _ in range(size)]
            ).reshape(size, 2),
        )
        for size in (DRAW.choice([0, 1, 1, 2, 4]) for _ in range(DRAW.randint(2, 7)))
    ]
    penalty = DRAW.choice([0.0, 0.5, 1.0, spread(4), spread(40)])
    shown = [(list(weights), points.tolist()) for weights, points in clouds]
    print(f"clouds {shown}, penalty={penalty}", flush=True)
    held = tp.Clouds(clouds, empty=True)
    most = penalty * 2 * max(sum(cloud[0]) for cloud in clouds)
    every = np.array(
        [
            [
                float(
                    rational_transport(
                        a, b, cdist(x, y) if len(a) and len(b) else [], penalty=penalty
                    )
                )
                for b, y in clouds
            ]
            for a, x in clouds
        ]
    )
    room = SLACK * np.maximum(every, SLACK * most)
    found = tp.emd_pairwise(held, penalty=penalty)
    check((abs(found - every) <= room).all(), "distances", found, "and not", every)
    index = tp.WassersteinNeighbors(n_neighbors=3, penalty=penalty).fit(held)
    for (near_by, at), ways in zip(zip(*index.kneighbors(held)), every):
        scale = SLACK * max(ways.max(), SLACK * most)
        check((abs(near_by - np.sort(ways)[:3]) <= scale).all(), near_by, "of", ways)
        check((abs(near_by - ways[at]) <= scale).all(), near_by, "at", at, "of", ways)


def sized():
    """Checks few points against many, far points, and deadlines: bounds, potentials and their time.

    No answer may take much longer than the exact value.
    """
    few = DRAW.choice([1, 2, 5, 60, 400])
    n, m = DRAW.choice([(few, 3000), (3000, few), (400, 500)])
    x, y = ([[DRAW.random(), DRAW.random()] for _ in range(count)] for count in (n, m))
    if DRAW.random() < 0.5:
        for at in range(DRAW.choice([1, 3])):
            side = x if DRAW.random() < 0.5 else y
            side[at % len(side)][0] = DRAW.choice([1e3, 1e6, 1e9])
    even = DRAW.random() < 0.5
    a, b = (np.array([1.0 if even else DRAW.random() for _ in side]) for side in (x, y))
    a, b = a / a.sum(), b / b.sum()
    print(f"{n} against {m} points, far {np.max(x)}, {np.max(y)}, even {even}", flush=True)

    def timed(call):
        begun = time.process_time()
        return call(), time.process_time() - begun

    value, seconds = timed(lambda: tp.emd(a, b, x, y))
    judge = tp.emd(a, b, cdist(x, y))
    room = SLACK * value
    check(abs(judge - value) <= room, "value", value, "and, by a matrix,", judge)
    calls = {
        "accuracy": lambda: tp.solve(a, b, x, y, accuracy=DRAW.choice([1e-6, 0.01, 0.3])),
        "time": lambda: tp.solve(a, b, x, y, time=DRAW.choice([1e-9, 0.01, 5])),
        "potentials": lambda: tp.solve(a, b, x, y, potentials=True),
        "rates": lambda: tp.solve(a, b, x, y, rates=True),
    }
    for name, call in calls.items():
        found, taken = timed(call)
        check(found.lower - room <= value <= found.upper + room, name, found, "of", value)
        check(taken <= 20 * seconds + 2, name, "took", taken, "s, the value", seconds)
    u, v = tp.solve(a, b, x, y, potentials=True).potentials
    costs_of_all = cdist(x, y)
    room = SLACK * (costs_of_all.max() + np.abs(u).max())
    check((u[:, None] + v <= costs_of_all + room).all(), "potentials beyond a cost")
    check(abs(a @ u + b @ v - value) <= room, "potentials prove", a @ u + b @ v, "of", value)


def grounds(size):
    """Draws a ground metric in a supported form, with ties and duplicate points."""
    places = np.array(
        [[DRAW.choice([0.0, 1.0, DRAW.random()]) for _ in range(2)] for _ in range(size)]
    )
    ways = np.abs(places[:, None] - places).sum(2)
    steps = [DRAW.choice([1.0, DRAW.random() + 0.1]) for _ in range(size - 1)]
    chain = sparse.diags_array(steps, offsets=1, shape=(size, size)).tocsr()
    plane = {"points": places, "metric": "manhattan"}
    return DRAW.choice([{"points": places}, plane, {"cost": ways}, {"graph": chain}])


def all_ways(ground, rows, queries):
    """Solves the distances of all queries to all rows one by one; checks one of them in rational numbers."""
    together = np.concatenate([queries, rows])
    pairs = [(q, len(queries) + r) for q in range(len(queries)) for r in range(len(rows))]
    found = tp.emd_pairs(together, pairs, **ground).reshape(len(queries), -1)
    units = np.eye(rows.shape[1])
    cost = tp.emd_pairs(units, list(np.ndindex(len(units), len(units))), **ground).reshape(
        len(units), -1
    )
    q, r = DRAW.randrange(len(queries)), DRAW.randrange(len(rows))
    least = float(rational_transport(queries[q], rows[r], cost))
    check(
        abs(found[q, r] - least) <= SLACK * cost.max(),
        f"distance {found[q, r]} and, in rational numbers, {least}",
    )
    return found


def check_neighbors(answer, every, numbers, k):
    """Checks the results of an index against the distances to all of its current rows."""
    for distances, at, ways in zip(*answer, every):
        scale = SLACK * max(ways.max(), 1e-300)
        expected = np.sort(ways)[:k]
        check(distances.shape == expected.shape, len(distances), "neighbors, not", len(expected))
        agree(distances, expected, scale, "neighbors at")
        known = len(set(at.tolist())) == len(at) and set(at.tolist()) <= set(numbers)
        check(known, f"number {at} of {numbers}")
        own = [ways[numbers.index(number)] for number in at]
        agree(distances, own, scale, "distances of neighbors")


def check_radius(index, every, numbers, queries):
    """Checks a range query; rows at the radius may be included or not."""
    radius = DRAW.choice([0.0, DRAW.choice(every.ravel().tolist()), DRAW.random()])
    scale = SLACK * max(every.max(), 1e-300)
    for at, ways in zip(index.radius_neighbors(queries, radius, return_distance=False), every):
        inside, most = (
            set(np.array(numbers)[ways <= radius + side].tolist()) for side in (-scale, scale)
        )
        check(inside <= set(at.tolist()) <= most, "within", radius, "are", at, "and not", inside)


def changed_index():
    size = DRAW.randint(2, 12)
    ground, k = grounds(size), DRAW.choice([1, 2, 5, 40])
    rows, queries = collection(DRAW.randint(4, 30), size), collection(4, size)
    index = tp.WassersteinNeighbors(**ground, n_neighbors=k).fit(rows)
    numbers, kept, ever = list(range(len(rows))), list(rows), len(rows)
    for _ in range(DRAW.randint(1, 8)):
        if DRAW.random() < 0.5 or len(numbers) < 2:
            more = collection(DRAW.randint(1, 5), size)
            given = index.add(more).tolist()
            check(given == list(range(ever, ever + len(more))), "numbers", given, "after", ever)
            numbers, kept, ever = numbers + given, kept + list(more), ever + len(more)
        else:
            gone = DRAW.sample(numbers, DRAW.randint(1, len(numbers) - 1))
            index.remove(gone)
            left = [at for at, number in enumerate(numbers) if number not in gone]
            numbers, kept = [numbers[at] for at in left], [kept[at] for at in left]
        print(f"k {k}, numbers {numbers} on {ground}", flush=True)
        if DRAW.random() < 0.3:
            index.save("changed.index")
            index = tp.WassersteinNeighbors.load("changed.index").set_params(n_neighbors=k)
        every = all_ways(ground, np.array(kept), queries)
        check_neighbors(index.kneighbors(queries), every, numbers, k)
        check_radius(index, every, numbers, queries)


def shared_index():
    """Searches, changes and saves one index in threads; every result must be that of some state."""
    ground, k = grounds(10), 3
    rows, queries = collection(30, 10), collection(6, 10)
    index = tp.WassersteinNeighbors(**ground, n_neighbors=k).fit(rows)
    print(f"threads on {ground}", flush=True)
    over, wrong, answers, gone, ever = threading.Event(), [], [], [], dict(enumerate(rows))
    changers = [[collection(3, 10) for _ in range(10)] for _ in range(2)]

    def search(_):
        while not over.is_set():
            answers.append(index.kneighbors(queries))

    def save(_):
        while not over.is_set():
            index.save("shared.index")
            answers.append(tp.WassersteinNeighbors.load("shared.index").kneighbors(queries, k))

    def change(number):
        """Adds rows, and removes a third of them; the original rows remain."""
        for more in changers[number]:
            given = index.add(more).tolist()
            ever.update(zip(given, more))
            index.remove(given[:1])
            gone.append(given[0])

    def working(task, number):
        try:
            task(number)
        except Exception as error:
            wrong.append(error)

    others = [
        threading.Thread(target=working, args=(task, 0)) for task in (search, search, search, save)
    ]
    changing = [threading.Thread(target=working, args=(change, number)) for number in range(2)]
    for thread in others + changing:
        thread.start()
    for thread in changing:
        thread.join()
    over.set()
    for thread in others:
        thread.join()
    check(not wrong, *wrong)
    numbers = sorted(ever)
    check(numbers == list(range(30 + 2 * 30)), "numbers", numbers)
    every = all_ways(ground, np.array([ever[number] for number in numbers]), queries)
    for distances, at in answers:
        own = np.take_along_axis(every, at, axis=1)
        agree(distances, own, SLACK * every.max(), "distances of neighbors")
        worst = np.sort(every[:, :30])[:, :k]  # among the rows that are never removed
        proper = (distances <= worst + SLACK * every.max()).all()
        check(proper, f"neighbors at {distances} and others at {worst}")
    left = [number for number in numbers if number not in gone]
    check_neighbors(index.kneighbors(queries), every[:, left], left, k)


QUESTIONS = {
    "relaxed": lambda: DRAW.choice(
        [penalty_problem, penalty_problem, mass_problem, penalties_elsewhere]
    )(),
    "rates": rates,
    "clouds": penalized_clouds,
    "sized": sized,
    "changes": changed_index,
    "threads": shared_index,
}

main(QUESTIONS)
