"""Checks results of the package on tables of every library: `checked_frames.py SEED WHAT COUNT`.

Libraries that are not installed are skipped; the attack reports them at its end.
"""

import importlib
import pickle
import warnings

import numpy as np
import treeport as tp
from checks import (
    DRAW,
    SLACK,
    agree,
    check,
    collection,
    main,
    rational_transport,
    refused,
    way_lengths,
)
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import cdist, pdist, squareform


def library(name):
    """Imports a package if it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


pd, pl, torch, anndata, biom = (
    library(name) for name in ["pandas", "polars", "torch", "anndata", "biom"]
)
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def typed(values):
    """Converts integers or eighths below 128 to another type without rounding."""
    whole = (values == values.round()).all()
    return values.astype(
        DRAW.choice(["f8", "f8", ">f8", "f4", "f2", *(["i1", "u2", ">i4", "i8"] if whole else [])])
    )


def laid_out(values):
    """Copies an array to another memory layout."""
    doubled = np.repeat(np.repeat(values, 2, axis=0), 2, axis=1)
    some = [values, np.asfortranarray(values), doubled[::2, ::2], values.T.copy().T]
    return DRAW.choice([*some, values[::-1][::-1].view(np.ndarray)])


def scipy_table(values):
    """Converts to a sparse format, with split entries, explicit zeros, or unsorted columns."""
    kind = f"{DRAW.choice(FORMATS)}_{DRAW.choice(['array', 'matrix'])}"
    made, how = getattr(sparse, kind)(values), DRAW.randrange(4)
    if how == 0 and hasattr(made, "data") and not kind.startswith(("dok", "lil")):
        places = [np.concatenate([at, at]) for at in values.nonzero()]
        halves = np.tile(values[values.nonzero()] / 2, 2)
        made = sparse.coo_array((halves, places), shape=values.shape)
        made = DRAW.choice([made, made.tocsr(), sparse.csc_array(made)])
    elif how == 1:
        made = sparse.coo_array(
            (values.ravel(), np.indices(values.shape).reshape(2, -1)), shape=values.shape
        )
    elif how == 2:
        made = sparse.csr_array(values)
        for first, last in zip(made.indptr, made.indptr[1:]):
            made.indices[first:last], made.data[first:last] = (
                made.indices[first:last][::-1].copy(),
                made.data[first:last][::-1].copy(),
            )
        made.has_sorted_indices = False
    return made


def tensor(values):
    made = torch.tensor(
        values, dtype=DRAW.choice([torch.float64, torch.float32, torch.bfloat16, torch.float16])
    )
    how = DRAW.choice(["", "", "grad", "turned", "coo", "halves", "csr", "csc"])
    if how == "grad":
        made.requires_grad_()
    elif how == "turned":
        made = made.T.contiguous().T
    elif how == "halves":
        at = made.nonzero().T
        made = torch.sparse_coo_tensor(
            torch.cat([at, at], 1), torch.cat([made[tuple(at)] / 2] * 2), made.shape
        )
    elif how:
        made = getattr(made, f"to_sparse_{how}")()
    return made


def pandas_table(values, ids, names):
    frame = pd.DataFrame(values, index=ids, columns=names)
    kinds = ["f8", "f4", "Float64", pd.SparseDtype("float", 0.0), "O"]
    if DRAW.random() < 0.5:
        frame = frame.astype({name: DRAW.choice(kinds) for name in frame})
    return frame


def polars_table(values, ids, names):
    names = [str(name) for name in (range(values.shape[1]) if names is None else names)]
    kinds = [pl.Float64, pl.Float32]
    columns = {
        name: pl.Series(name, values[:, at].tolist(), dtype=DRAW.choice(kinds))
        for at, name in enumerate(names)
    }
    return pl.DataFrame(columns if ids is None else {"what rows are called": ids, **columns})


def anndata_table(values, ids, names):
    made = anndata.AnnData(
        DRAW.choice([np.array, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])(
            values.astype("f8")
        )
    )
    for axis, labels in [("obs_names", ids), ("var_names", names)]:
        if labels is not None:
            setattr(made, axis, [str(label) for label in labels])
    order = DRAW.sample(range(values.shape[1]), values.shape[1])
    return made if names is None or DRAW.random() < 0.5 else made[:, order]  # a view


def biom_table(values, ids, names):
    ids = [f"s{at}" for at in range(len(values))] if ids is None else ids
    return biom.Table(
        values.T, [str(name) for name in (range(values.shape[1]) if names is None else names)], ids
    )


def dicts(values, _, names):
    names = list(range(values.shape[1])) if names is None else names
    everything = DRAW.random() < 0.3
    rows = [
        [(name, mass) for name, mass in zip(names, row.tolist()) if mass or everything]
        for row in values
    ]
    return [dict(DRAW.sample(row, len(row))) for row in rows]


# Tables without and with names of columns.
PLAIN = {
    "list": lambda v: v.tolist(),
    "array": laid_out,
    "typed": typed,
    "scipy": scipy_table,
    **({"torch": tensor} if torch else {}),
}
NAMED = {
    name: make
    for name, make, needed in [
        ("pandas", pandas_table, pd),
        ("polars", polars_table, pl),
        ("anndata", anndata_table, anndata),
        ("biom", biom_table, biom),
        ("dicts", dicts, True),
    ]
    if needed
}


def table(values, ids, names):
    """Draws the kind of a table; returns kind, table, and the number of points without a required column."""
    kind = DRAW.choice([*PLAIN, *NAMED])
    if kind in PLAIN:
        return kind, PLAIN[kind](values), 0
    ids = None if DRAW.random() < 0.3 else ids
    if names is None:
        return kind, NAMED[kind](values, ids, None), 0
    there = [at for at in range(len(names)) if values[:, at].any() or DRAW.random() < 0.5]
    there = DRAW.sample(there, len(there))
    made = NAMED[kind](values[:, there], ids, [names[at] for at in there])
    return kind, made, 0 if kind == "dicts" else len(names) - len(there)


def ground_of(places, names):
    """Converts points to a table of some library, with names if there are any."""
    ids = None if names is None else [str(name) for name in names]
    axes, forms = ["x", "y"], ["pandas", "polars", "anndata"]
    forms = forms if names else [*forms, "array", "scipy", "torch"]
    form = DRAW.choice([form for form in forms if form in {**PLAIN, **NAMED}])
    if form == "anndata":
        made = anndata.AnnData(np.ones((len(places), 1)), obsm={"X_pca": places})
        made.obs_names = made.obs_names if names is None else ids
        return made
    if form == "torch":
        return torch.tensor(places)
    if form == "pandas":
        return pd.DataFrame(places, index=names, columns=axes)
    if form == "polars":
        return pl.DataFrame(
            {**({} if names is None else {"point": ids}), "x": places[:, 0], "y": places[:, 1]}
        )
    return PLAIN[form](places)


def told(call, missing):
    """Returns the result of a call, checks its warning about missing columns, and repeats some calls."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = call()
    warned = [w.message for w in said if issubclass(w.category, tp.MissingColumnsWarning)]
    check(bool(warned) == bool(missing), f"{missing} points have no column; warnings: {warned}")
    # Arguments are not modified, so that a repetition gives the same result.
    return call() if DRAW.random() < 0.5 else found


def all_pairs(a, b, cost):
    return np.array([[float(rational_transport(x, y, cost)) for y in b] for x in a])


def distance(x, y, points, names):
    """Computes the distance of two measures, each in the form of some library."""
    (a_kind, a, a_lacks), (b_kind, b, b_lacks) = (table(row[None], None, names) for row in (x, y))
    print(" ".join(f"{a_kind} {a!r} and {b_kind} {b!r} by emd on {names}".split()), flush=True)
    a, b = (
        row[0] if kind in ("dicts", "list") else row for kind, row in [(a_kind, a), (b_kind, b)]
    )
    a = a.iloc[0] if a_kind == "pandas" and DRAW.random() < 0.5 else a
    return told(lambda: tp.emd(a, b, points=points), a_lacks + b_lacks)


def frames():
    """Checks distances between the rows of two tables, by every function, against rational numbers."""
    size, scale = DRAW.randint(3, 8), DRAW.choice([1, 1, 8])
    texts, numbers = [f"p{k}" for k in range(size)], [str(k) for k in range(size)]
    names = DRAW.choice([None, texts, numbers[::-1], list(range(10, 10 + size))])
    places = np.array(
        [[DRAW.choice([0.0, 1.0, DRAW.random()]) for _ in range(2)] for _ in range(size)]
    )

    def counts(rows):
        draws = [DRAW.choices(range(size), k=8) for _ in range(rows)]
        return np.array([np.bincount(draw, minlength=size) for draw in draws])

    rows = [counts(4) / scale, counts(3) / scale]
    ids = [[f"s{at}" for at in range(4)], ["one", "two", "three"]]
    (left_kind, left, left_lacks), (right_kind, right, right_lacks) = (
        table(*of, names) for of in zip(rows, ids)
    )
    function = DRAW.choice(["emd_pairwise", "tree", "model", "neighbors", "one by one"])
    kept = DRAW.random() < 0.3
    said = f"{left_kind} {left!r}{' as Measures' * kept} and {right_kind} {right!r} on {names} at {places.tolist()} by {function}"
    print(" ".join(said.split()), flush=True)
    left = pickle.loads(pickle.dumps(tp.Measures(left))) if kept else left
    points, lacks = ground_of(places, names), left_lacks + right_lacks
    if function == "tree":
        expected = all_pairs(*rows, squareform(cophenet(linkage(pdist(places), "single"))))
        tree = tp.linkage(points=points, method="single")
        found = told(lambda: tree.pairwise(left, right), lacks)
    elif function == "model":
        model = told(lambda: tp.TreeWasserstein(points, method="quadtree").fit(right), right_lacks)
        # Masses are normalized by default.
        found = told(lambda: model.pairwise(left, right), lacks) * (8 / scale)
        parents, lengths = model.tree_.parents.tolist(), model.tree_.lengths.tolist()
        expected = all_pairs(*rows, way_lengths(parents, lengths, size))
    else:
        expected = all_pairs(*rows, cdist(places, places))
    if function == "emd_pairwise":
        found = told(lambda: tp.emd_pairwise(left, right, points=points), lacks)
    elif function == "neighbors":
        index = told(
            lambda: tp.WassersteinNeighbors(points, n_neighbors=3, normalize=False).fit(right),
            right_lacks,
        )
        distances, at = told(lambda: index.kneighbors(left), left_lacks)
        own = np.take_along_axis(expected, at, 1)
        agree(distances, own, 8 * SLACK, "distances of neighbors")
        found = np.empty(expected.shape)
        np.put_along_axis(found, at, distances, 1)
    elif function == "one by one":
        found = [[distance(x, y, points, names) for y in rows[1]] for x in rows[0]]
    if hasattr(found, "columns"):
        called = [str(label) for label in found.index]
        check(called in (ids[0], ["0", "1", "2", "3"]), "rows are called", called)
    agree(found, expected, 8 * SLACK, "distances")


def missing_columns():
    """Checks that a table of some points, in any order, equals the complete one with zeros."""
    names = [f"p{k}" for k in range(DRAW.randint(3, 9))]
    places = np.array([[DRAW.random(), DRAW.random()] for _ in names])
    tree = tp.linkage(points=pd.DataFrame(places, index=names))
    there = DRAW.sample(names, DRAW.randint(2, len(names)))
    some = pd.DataFrame(collection(5, len(there)), columns=there, index=[f"s{k}" for k in range(5)])
    whole = some.reindex(columns=names, fill_value=0.0)
    print(f"columns {there} of {names}", flush=True)
    for answer in [
        tree.pairwise,
        lambda rows: tp.emd_pairwise(rows, points=pd.DataFrame(places, index=names)),
    ]:
        found, expected = np.asarray(answer(some)), np.asarray(answer(whole))
        agree(found, expected, 0, "distances with zeros")
    judge = all_pairs(whole.to_numpy(), whole.to_numpy(), cdist(places, places))
    agree(found, judge, SLACK, "distances")
    refused(lambda: tree.pairwise(some.rename(columns={there[0]: "nowhere"})), "nowhere")
    if len(there) < len(names):
        refused(
            lambda: tree.pairwise(some, missing="error"),
            next(name for name in names if name not in there),
        )


main({"frames": frames, "columns": missing_columns})
