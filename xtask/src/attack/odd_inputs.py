"""Calls the package with odd inputs: `odd_inputs.py SEED CALLS`.

A line is printed before every call, so that a crash of the interpreter can be located. Exceptions are
valid results; a panic of the compiled part ends the run with code 3.
"""

import functools
import random
import sys
import warnings

import numpy as np
import treeport as tp
from scipy import sparse

DRAW = random.Random(int(sys.argv[1]))
TYPES = ["f8", ">f8", "f4", "f2", "i8", "u1", ">i4", "?", "c16", "O", "U3", "M8[s]", "longdouble"]
NUMBERS = [0.0, 1.0, -1.0, 0.5, 1e308, 1e-308, 5e-324, np.nan, np.inf, -np.inf, 1e17, 3.0]


class Sub(np.ndarray):
    """An array of a subclass."""


def shape():
    n = DRAW.choice([0, 1, 2, 3, 4, 4, 4, 5, 9])
    m = DRAW.choice([4, 4, 4, n, 0, 1, 3])
    return DRAW.choice([(n, m), (n, m), (m,), (n, m, 2), (), (n, n)])


def array():
    size = shape()
    mild = DRAW.random() < 0.5
    values = [DRAW.random() if mild else DRAW.choice(NUMBERS) for _ in range(int(np.prod(size)))]
    found = np.array(values).reshape(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = found.astype(DRAW.choice(TYPES) if DRAW.random() < 0.4 else "f8")
        except (TypeError, ValueError, OverflowError):
            pass
    how = DRAW.randrange(12)
    if how == 0:
        found = np.asfortranarray(found)
    elif how == 1 and found.ndim:
        found = np.repeat(found, 2, axis=0)[::2]
    elif how == 2:
        found = found[..., ::-1] if found.ndim else found
    elif how == 3:
        found.flags.writeable = False
    elif how == 4:
        found = np.ma.masked_invalid(found) if found.dtype.kind == "f" else found
    elif how == 5:
        found = found.view(Sub)
    elif how == 6:
        found = np.broadcast_to(found, (3, *found.shape))
    elif how == 7 and found.ndim == 2 and found.dtype.kind in "fiu":
        found = DRAW.choice([sparse.csr_array, sparse.coo_array, sparse.csc_matrix])(found)
    return found


def broken_sparse():
    """A sparse matrix with invalid index arrays."""
    good = sparse.csr_array(np.eye(4))
    part = DRAW.choice(["indices", "indptr", "data"])
    values = getattr(good, part).copy()
    values[DRAW.randrange(len(values))] = DRAW.choice([-1, 7, 2**31 - 1, 0])
    setattr(
        good, part, values[: DRAW.randrange(len(values) + 1)] if DRAW.random() < 0.3 else values
    )
    return good


def recursive():
    found = [1.0]
    found.append(found)
    return found


def giant():
    """Arrays of sizes that exceed the memory or whose product overflows, created without allocating them."""
    size = DRAW.choice([(2, 2**29), (2**29, 1), (2**15, 2**15), (2**40, 0), (0, 2**62)])
    return np.broadcast_to(np.float64(DRAW.choice([0.0, 1.0])), size)


def good(rows):
    """Valid masses on four points."""
    masses = np.array([DRAW.random() + 0.1 for _ in range(4 * rows)]).reshape(rows, 4)
    return masses / masses.sum(axis=1, keepdims=True)


def one():
    """A measure, or an odd input."""
    return good(1)[0] if DRAW.random() < 0.5 else thing()


def many():
    """A table of measures, or an odd input."""
    return good(5) if DRAW.random() < 0.5 else thing()


def thing():
    how = DRAW.randrange(20)
    if how < 12:
        return array()
    odd = [None, "abc", "", b"\0", 1, -1, 2**70, 1.5, {}, {"a": 1}, [], [[]], [1, [2]], object()]
    odd += [iter([1]), lambda: 1]
    return [broken_sparse, recursive, giant, lambda: DRAW.choice(odd)][how % 4]()


def ground():
    points = np.array([[DRAW.random(), DRAW.random()] for _ in range(4)])
    if DRAW.random() < 0.6:
        return {"points": points}
    if DRAW.random() < 0.5:
        return {"cost": np.abs(points[:, :1] - points[:, 0])}
    return {DRAW.choice(["points", "cost", "graph"]): thing()}


def number():
    return DRAW.choice(
        [None, 0, -1, 1, 2, 7, 2**31, 2**63, 2**64, 2**70, 0.5, np.nan, np.inf, "x", True]
    )


def tree():
    return tp.Tree.from_newick("((0:1,1:2):1,(2:1,3:0):2);")


@functools.cache
def fitted():
    model = tp.TreeWasserstein(points=np.arange(8.0).reshape(4, 2), epochs=2, n_pairs=5)
    return model.fit(np.eye(4) + 0.1)


def some(options):
    """Draws some of the options, with odd values."""
    return {name: number() for name in options.split() if DRAW.random() < 0.25}


def fit():
    options = some(
        "epochs batch_size learning_rate n_pairs n_trees patience random_state "
        "validation_fraction n_jobs start loss metric"
    )
    # Large counts are valid and would only take long.
    for name in ["epochs", "n_trees"]:
        if isinstance(options.get(name), int) and options[name] > 99:
            del options[name]
    methods = ["auto", "additive", "forest", "quadtree", "ultratwd", "single", "no-such", None, 3]
    method = DRAW.choice(methods)
    return tp.TreeWasserstein(method=method, **ground(), **options).fit(many())


def file():
    name = "odd.tree"
    with open(name, "wb") as out:
        out.write(bytes(DRAW.randrange(256) for _ in range(DRAW.randrange(200))))
    return tp.load(name)


def nothing_but_state():
    """A corrupted pickle state."""
    how, state = tree().__reduce__()[:2]
    body = bytearray(state[0]) if isinstance(state[0], (bytes, bytearray)) else bytearray(b"x")
    for _ in range(DRAW.randrange(5)):
        body[DRAW.randrange(len(body))] = DRAW.randrange(256)
    return how(bytes(body))


CALLS = {
    "emd": lambda: tp.emd(one(), one(), **ground()),
    "emd_pairs": lambda: tp.emd_pairs(many(), many(), **ground()),
    "sinkhorn": lambda: tp.sinkhorn(
        one(), one(), **ground(), **some("epsilon tolerance max_iterations")
    ),
    "Measures": lambda: tp.Measures(many()),
    "Tree": lambda: tp.Tree(thing(), thing(), *([thing()] if DRAW.random() < 0.3 else [])),
    "Tree.from_linkage": lambda: tp.Tree.from_linkage(thing()),
    "Tree.from_newick": lambda: tp.Tree.from_newick(
        DRAW.choice(["", "(", "();", "(a,b", "a" * 9, "(" * 9999, thing()])
    ),
    "Tree.distance": lambda: tree().distance(one(), one()),
    "Tree.pairwise": lambda: tree().pairwise(many(), many(), n_jobs=number()),
    "Tree.paired": lambda: tree().paired(many(), many()),
    "Tree.coupling": lambda: tree().coupling(one(), one()),
    "Tree.embed": lambda: tree().embed(many(), n_jobs=number()),
    "Tree.scaled": lambda: tree().scaled(number()),
    "Forest": lambda: tp.Forest(DRAW.choice([[tree()], [tree(), tree()], [], thing()]), thing()),
    "linkage": lambda: tp.linkage(**ground()),
    "fit": fit,
    "load": file,
    "pickle": nothing_but_state,
    "fitted.pairwise": lambda: fitted().pairwise(many(), many()),
    "fitted.transform": lambda: fitted().transform(many()),
    "fitted.score": lambda: fitted().score(many(), thing()),
    "fitted.estimate": lambda: fitted().estimate(
        many(), many(), DRAW.choice(["flow", "exact", 0.1, number()])
    ),
    "fitted.bounds": lambda: fitted().bounds(many(), many()),
}


def main():
    warnings.simplefilter("ignore")
    for call in range(int(sys.argv[2])):
        name = DRAW.choice(list(CALLS))
        print(f"call {call}: {name}", flush=True)
        try:
            CALLS[name]()
        except Exception:
            pass
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                print(f"PanicException: {error}", file=sys.stderr)
                sys.exit(3)
            raise


main()
