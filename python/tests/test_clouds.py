"""Clouds: every way in makes the same clouds to the bit, and what is asked of them is what single problems answer."""

import copy
import itertools
import pickle
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
import treeport as tp
from scipy.spatial.distance import cdist

ot = pytest.importorskip("ot")
pd = pytest.importorskip("pandas")

IDS = ["P00", "P01", "P02", "P03"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def pairs(rng):
    """Four clouds of one to six points in the plane, as (masses, points)."""
    return [(rng.dirichlet(np.ones(size)), rng.normal(size=(size, 2))) for size in (3, 1, 6, 2)]


def stacked(pairs):
    points = np.concatenate([points for _, points in pairs])
    offsets = np.cumsum([0, *(len(points) for _, points in pairs)])
    return points, offsets, np.concatenate([masses for masses, _ in pairs])


def long_table(pairs, masses=True):
    rows = [
        {"id": name, **({"mass": m} if masses else {}), "x": x, "y": y}
        for name, (mass, points) in zip(IDS, pairs)
        for m, (x, y) in zip(mass, points)
    ]
    return pd.DataFrame(rows)


def cells(pairs, extra=True):
    """An AnnData with a cell for every point, in another order than that of the groups, and one without a group."""
    table = long_table(pairs)
    order = np.argsort(np.arange(len(table)) % 3, kind="stable")
    table = table.iloc[order].reset_index(drop=True)
    points, names = table[["x", "y"]].to_numpy(), [f"c{at}" for at in range(len(table))]
    obs = pd.DataFrame(
        {"patient": table["id"].to_numpy(), "w": table["mass"].to_numpy() * 8}, index=names
    )
    if extra:
        obs.loc["c99"] = [None, 1.0]
        points = np.vstack([points, [[9.0, 9.0]]])
    return SimpleNamespace(obs=obs, obs_names=obs.index, obsm={"X_pca": points}, X=points)


def same(made, expected):
    assert made == expected
    for one, other in (
        (made.points, expected.points),
        (made.masses, expected.masses),
        (made.offsets, expected.offsets),
    ):
        assert one.tobytes() == other.tobytes()


def test_every_way_in_makes_the_same_clouds(pairs):
    expected = tp.Clouds(pairs, ids=IDS)
    points, offsets, masses = stacked(pairs)
    events = [np.column_stack([mass, where]) for mass, where in pairs]
    turned = [np.column_stack([where, mass]) for mass, where in pairs]
    ways = [
        tp.Clouds(dict(zip(IDS, pairs))),
        tp.Clouds(tuple(pairs), ids=IDS),
        tp.Clouds([(mass.tolist(), where.tolist()) for mass, where in pairs], ids=IDS),
        tp.Clouds(events, weights="first", ids=IDS),
        tp.Clouds(dict(zip(IDS, turned)), weights="last"),
        tp.Clouds([event.tolist() for event in events], weights="first", ids=IDS),
        tp.Clouds(points, offsets, masses, ids=IDS),
        tp.Clouds(
            np.asfortranarray(points), offsets.astype(np.uint8), masses=masses.tolist(), ids=IDS
        ),
        tp.Clouds(long_table(pairs)),
        tp.Clouds(long_table(pairs).set_index("id")),
        tp.Clouds(
            long_table(pairs).rename(columns={"id": "who", "mass": "w"}),
            groupby="who",
            weights="w",
            columns=["x", "y"],
        ),
        tp.Clouds(expected),
        tp.Clouds.concat([expected[:1], expected[1:3], expected[[3]]]),
        expected[::-1][[3, 2, 1, 0]],
        expected[np.ones(4, dtype=bool)],
        expected[IDS],
        pickle.loads(pickle.dumps(expected)),
        copy.deepcopy(expected),
    ]
    for made in ways:
        same(made, expected)


def test_every_way_in_makes_the_same_uniform_clouds(pairs):
    arrays = [where for _, where in pairs]
    expected = tp.Clouds(arrays, ids=IDS)
    points, offsets, _ = stacked(pairs)
    ways = [
        tp.Clouds([(None, where) for where in arrays], ids=IDS),
        tp.Clouds([np.asfortranarray(where) for where in arrays], ids=IDS),
        tp.Clouds([where.tolist() for where in arrays], ids=IDS),
        tp.Clouds([(np.full(len(where), 1 / len(where)), where) for where in arrays], ids=IDS),
        tp.Clouds([arrays[0], (None, arrays[1]), *arrays[2:]], ids=IDS),
        tp.Clouds(points, offsets, ids=IDS),
        tp.Clouds(long_table(pairs, masses=False)),
    ]
    for made in ways:
        same(made, expected)
    assert np.array_equal(expected.masses[:3], np.full(3, 1 / 3))
    cube = np.stack([arrays[0], arrays[2][:3]])
    same(tp.Clouds(cube), tp.Clouds(list(cube)))


def test_polars_tables(pairs):
    pl = pytest.importorskip("polars")
    same(tp.Clouds(pl.DataFrame(long_table(pairs).to_dict("list"))), tp.Clouds(pairs, ids=IDS))
    with pytest.raises(TypeError, match=r"frame.collect\(\)"):
        tp.Clouds(pl.DataFrame({"id": ["a"], "x": [1.0]}).lazy())


def test_awkward_arrays(pairs):
    ak = pytest.importorskip("awkward")
    events = [np.column_stack([mass, where]) for mass, where in pairs]
    nested = ak.Array([event.tolist() for event in events])
    expected = tp.Clouds(pairs)
    same(tp.Clouds(nested, weights="first"), expected)
    fields = dict(
        zip(
            ("pt", "y", "phi"),
            (ak.Array([event[:, axis].tolist() for event in events]) for axis in range(3)),
        )
    )
    same(tp.Clouds(ak.zip(fields), weights="pt"), expected)
    same(tp.Clouds(ak.zip(fields), weights="first"), expected)
    with pytest.raises(ValueError, match="the records have the fields pt, y, phi"):
        tp.Clouds(ak.zip(fields), weights="mass")


class Records(list):
    """Stands in for an awkward array of records."""

    fields = ["pt", "y", "phi"]


def test_records(pairs):
    events = Records({"pt": mass, "y": where[:, 0], "phi": where[:, 1]} for mass, where in pairs)
    same(tp.Clouds(events, weights="pt"), tp.Clouds(pairs))
    assert tp.Clouds(events).dim == 3


def test_groups_of_cells(pairs):
    adata = cells(pairs)
    table = long_table(pairs)
    order = np.argsort(np.arange(len(table)) % 3, kind="stable")
    table = table.iloc[order]
    by_group = {name: table[table["id"] == name] for name in IDS}
    expected = tp.Clouds({name: rows[["x", "y"]].to_numpy() for name, rows in by_group.items()})
    same(tp.Clouds(adata, groupby="patient"), expected)
    same(tp.Clouds(adata, groupby="patient", obsm="X_pca"), expected)
    same(tp.Clouds(adata, groupby="patient", obsm="X"), expected)
    weighted = {
        name: (rows["mass"].to_numpy() * 8, rows[["x", "y"]].to_numpy())
        for name, rows in by_group.items()
    }
    same(tp.Clouds(adata, groupby="patient", weights="w"), tp.Clouds(weighted, normalize=True))
    # The same transport as of groups on shared points.
    measures = tp.Measures.from_anndata(adata, "patient", weights="w")
    shared = tp.emd_pairwise(measures, points=adata.obsm["X_pca"])
    pd.testing.assert_frame_equal(
        tp.emd_pairwise(tp.Clouds(adata, groupby="patient", weights="w")), shared, rtol=1e-12
    )


def test_real_anndata(pairs):
    anndata = pytest.importorskip("anndata")
    stand_in = cells(pairs, extra=False)
    adata = anndata.AnnData(X=stand_in.X, obs=stand_in.obs, obsm=stand_in.obsm)
    same(tp.Clouds(adata, groupby="patient"), tp.Clouds(stand_in, groupby="patient"))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean"])
def test_distances_are_those_of_single_problems_and_of_pot(pairs, metric, rng):
    clouds = tp.Clouds(pairs, ids=IDS)
    others = tp.Clouds([rng.normal(size=(size, 2)) for size in (4, 1, 5)])
    table = tp.emd_pairwise(clouds, metric=metric)
    cross = tp.emd_pairwise(clouds, others, metric=metric)
    assert table.index.tolist() == table.columns.tolist() == cross.index.tolist() == IDS
    for (i, (a, x)), (j, (b, y)) in itertools.product(enumerate(clouds), enumerate(clouds)):
        one = tp.emd(a, b, x, y, metric=metric)
        assert table.iloc[i, j] == pytest.approx(one, rel=1e-12, abs=1e-15)
        assert one == pytest.approx(ot.emd2(a, b, cdist(x, y, metric)), rel=1e-9, abs=1e-12)
    for (i, (a, x)), (j, (b, y)) in itertools.product(enumerate(clouds), enumerate(others)):
        assert cross.iloc[i, j] == pytest.approx(tp.emd(a, b, x, y, metric=metric), rel=1e-12)
    listed = tp.emd_pairs(clouds, [("P02", "P00"), ("P01", "P03")], metric=metric)
    assert listed.tolist() == [table.loc["P00", "P02"], table.loc["P01", "P03"]]
    assert (table.to_numpy() == table.to_numpy().T).all()
    np.testing.assert_array_equal(tp.emd_pairwise(clouds, metric=metric, n_jobs=1), table)
    np.testing.assert_array_equal(tp.emd_pairwise(pairs, metric=metric), table)


def test_bounds_and_penalties(pairs):
    clouds = tp.Clouds(
        [(mass * (1 + at), where) for at, (mass, where) in enumerate(pairs)], ids=IDS
    )
    judge = [[tp.emd(a, b, x, y, penalty=0.4) for b, y in clouds] for a, x in clouds]
    np.testing.assert_allclose(tp.emd_pairwise(clouds, penalty=0.4), judge, rtol=1e-9, atol=1e-12)
    exact = tp.emd_pairwise(clouds.normalized())
    bounds = tp.emd_pairwise(clouds.normalized(), accuracy=0.1)
    assert (bounds.lower.to_numpy() <= exact.to_numpy() * (1 + 1e-12)).all()
    assert (bounds.upper.to_numpy() >= exact.to_numpy() * (1 - 1e-12)).all()
    assert bounds.lower.index.tolist() == IDS and bounds.plan is None


def test_empty_clouds_where_a_penalty_allows_them():
    clouds = tp.Clouds({"none": np.empty((0, 2)), "one": [[0.0, 0.0]], "nothing": []}, empty=True)
    assert clouds.sizes.tolist() == [0, 1, 0] and clouds.totals.tolist() == [0, 1, 0]
    table = tp.emd_pairwise(clouds, penalty=3.0)
    assert table.loc["none", "one"] == 3.0 and table.loc["none", "nothing"] == 0.0
    with pytest.raises(ValueError, match="cloud none: it has no mass"):
        tp.emd_pairwise(clouds)
    assert tp.emd_pairs(
        [(None, np.empty((0, 1))), ([2.0], [[1.0]])], [(0, 1)], penalty=2.0
    ).tolist() == [4.0]


def test_lists_of_arrays_need_no_class(pairs):
    arrays = [where for _, where in pairs]
    np.testing.assert_array_equal(tp.emd_pairwise(arrays), tp.emd_pairwise(tp.Clouds(arrays)))
    np.testing.assert_array_equal(
        tp.emd_pairwise(arrays, tp.Clouds(pairs)),
        tp.emd_pairwise(tp.Clouds(arrays), tp.Clouds(pairs)),
    )


def test_one_cloud_some_clouds(pairs):
    clouds = tp.Clouds(pairs, ids=IDS)
    assert len(clouds) == 4 and clouds.dim == 2 and clouds.sizes.tolist() == [3, 1, 6, 2]
    for at in (2, -2, "P02", np.int64(2)):
        masses, points = clouds[at]
        np.testing.assert_array_equal(masses, pairs[2][0])
        np.testing.assert_array_equal(points, pairs[2][1])
    assert [len(points) for _, points in clouds] == [3, 1, 6, 2]
    assert (
        clouds[1:3].ids
        == clouds[["P01", "P02"]].ids
        == clouds[np.array([1, 2])].ids
        == ["P01", "P02"]
    )
    assert len(clouds[:0]) == 0 and clouds[:0].dim == 2
    assert clouds != clouds[:3] and clouds != tp.Clouds(pairs) and clouds != "P00"
    for which, error in (
        (4, IndexError),
        (-5, IndexError),
        ("P09", KeyError),
        ([True], IndexError),
        (1.5, KeyError),
    ):
        with pytest.raises(error):
            clouds[which]
    with pytest.raises(KeyError, match="several clouds are called 'a'"):
        tp.Clouds(pairs[:2], ids=["a", "a"])["a"]


def test_what_it_says_of_itself(pairs):
    assert repr(tp.Clouds(pairs)) == "Clouds(n_clouds=4, points=1 to 6, dim=2, totals=1)"
    assert (
        repr(tp.Clouds([([2.0], [[0.0]]), ([0.5], [[1.0]])]))
        == "Clouds(n_clouds=2, points=1, dim=1, totals=0.5 to 2)"
    )
    assert repr(tp.Clouds(pairs)[:0]) == "Clouds(n_clouds=0, points=none, dim=2, totals=none)"
    assert tp.Clouds([([2.0], [[0.0]])], normalize=True).totals.tolist() == [1.0]


LINE = [[0.0], [1.0]]
POINTS = np.array([[0.0, 1.0], [2.0, 3.0]])
FRAME = pd.DataFrame({"id": ["a", "a", "b"], "mass": [0.5, 0.5, 1.0], "x": [0.0, 1.0, 2.0]})
BAD = [
    (lambda: tp.Clouds([]), "there are no clouds; a list of them has at least one"),
    (
        lambda: tp.Clouds({"a": LINE, "b": [[0.0, 1.0]]}),
        "the points of cloud b have 2 coordinates, those of cloud a 1; the numbers have to be equal",
    ),
    (
        lambda: tp.Clouds({"a": LINE, "b": ([1.0], LINE)}),
        "cloud b has 1 masses and 2 points; there has to be one for each",
    ),
    (
        lambda: tp.Clouds({"a": LINE, "b": ([1.0, -1.0], LINE)}),
        "cloud b: point 1 has mass -1; masses must be finite and at least 0",
    ),
    (
        lambda: tp.Clouds([LINE, ([1.0, np.nan], LINE)]),
        "cloud 1: point 1 has mass NaN; masses must be finite and at least 0",
    ),
    (
        lambda: tp.Clouds({"a": LINE, "b": [[0.0], [np.nan]]}),
        "cloud b: coordinate 0 of point 1 is NaN; coordinates must be finite",
    ),
    (
        lambda: tp.Clouds({"a": LINE, "b": ([0.0, 0.0], LINE)}),
        "cloud b: it has no mass; drop it or give it a positive entry (with `empty=True`, `Clouds` may have none, for transport with a `penalty`)",
    ),
    (
        lambda: tp.Clouds({"a": LINE, "b": (1.0, LINE, 3)}),
        "cloud b is a tuple of 3; give (masses, points), or an array of points",
    ),
    (
        lambda: tp.Clouds({"a": [[0.5, 0.5], [[0.0], [1.0]]]}),
        "cloud a is a list of masses and points; give a tuple, (masses, points)",
    ),
    (
        lambda: tp.Clouds({"a": (None, LINE)}, weights="first"),
        "cloud a is a tuple, which has its masses; leave out `weights`",
    ),
    (
        lambda: tp.Clouds({"a": LINE}, weights="first"),
        "cloud a has 1 column, and needs one for masses and at least one for coordinates",
    ),
    (
        lambda: tp.Clouds({"a": LINE}, weights="pt"),
        'weights is \'pt\'; masses are in the "first" or the "last" column of arrays',
    ),
    (lambda: tp.Clouds({"a": LINE}, ids=["a", "b"]), "2 IDs for 1 clouds"),
    (
        lambda: tp.Clouds({"a": LINE}, groupby="x"),
        "`groupby` does not apply to a list of clouds, which supports `weights` of these options",
    ),
    (
        lambda: tp.Clouds(POINTS),
        "an array of shape (2, 2) is no list of clouds; give `offsets` that say where each begins, a list of arrays, or an array of three axes",
    ),
    (
        lambda: tp.Clouds(POINTS, [0, 1]),
        "offsets go from 0 up to the number of points, which is 2; they are [0, 1]",
    ),
    (
        lambda: tp.Clouds(POINTS, [0, 2, 1, 2]),
        "offsets go from 0 up to the number of points, which is 2; offset 2 is less than the one before it",
    ),
    (
        lambda: tp.Clouds(POINTS, [0.0, 2.0]),
        "offsets are a list of whole numbers, not float64 of shape (2,)",
    ),
    (
        lambda: tp.Clouds(POINTS, [0, 2], [1.0]),
        "there are 1 masses and 2 points; there has to be one for each",
    ),
    (
        lambda: tp.Clouds(FRAME, groupby="who"),
        "the table has no column 'who' (`groupby` says which column has the IDs of clouds); its columns are 'id', 'mass', 'x'",
    ),
    (
        lambda: tp.Clouds(FRAME[["id", "mass"]]),
        "the table has no columns of coordinates; its columns are 'id', 'mass'",
    ),
    (
        lambda: tp.Clouds(FRAME.assign(site="left")),
        "column 'site' is of type object; coordinates and masses are numbers (`columns` says which columns are coordinates)",
    ),
    (
        lambda: tp.Clouds(FRAME.assign(x=[0.0, None, 1.0])),
        "cloud a: coordinate 0 of point 1 is NaN; coordinates must be finite",
    ),
    (
        lambda: tp.Clouds(FRAME.assign(id=["a", None, "b"])),
        "row 1 has no id; every point belongs to a cloud",
    ),
    (lambda: tp.Clouds(FRAME[:0]), "the table has no rows; a row is a point of a cloud"),
    (
        lambda: tp.emd_pairwise(tp.Clouds({"a": LINE, "b": ([1.0, 1.0], LINE)})),
        "clouds a and b have total mass 1 and 2; transport needs equal masses, so divide each by its total first (`normalize=True` of `Clouds`), or let mass be left over (`penalty` of `emd_pairs` and `emd_pairwise`)",
    ),
    (
        lambda: tp.emd_pairs(tp.Clouds({"a": LINE, "b": ([1.0, 1.0], LINE)}), [("b", "a")]),
        "clouds b and a have total mass 2 and 1; transport needs equal masses, so divide each by its total first (`normalize=True` of `Clouds`), or let mass be left over (`penalty` of `emd_pairs` and `emd_pairwise`)",
    ),
    (
        lambda: tp.emd_pairwise(tp.Clouds({"a": LINE}), tp.Clouds([POINTS])),
        "the points of A have 1 coordinates, those of B 2; the numbers have to be equal",
    ),
    (
        lambda: tp.emd_pairwise(tp.Clouds({"a": LINE}), points=LINE),
        "Clouds bring their own points; leave out `points`, `cost` and `graph`",
    ),
    (
        lambda: tp.emd_pairwise(tp.Clouds({"a": LINE}), tp.Measures([[1.0]])),
        "one of A and B are Clouds, which bring their own points, and the other is not; give both as Clouds",
    ),
    (
        lambda: tp.emd_pairwise(tp.Clouds({"a": [[0.0, 0.0], [1.0, 0.0]]}), metric="cosine"),
        "cloud a: point 0 has length 0, so its cosine distance is undefined; drop it or use another metric",
    ),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_input_names_the_cloud(number):
    call, message = BAD[number]
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == message


def test_what_takes_no_clouds_says_so():
    clouds = tp.Clouds([LINE, LINE])
    tree = tp.Tree.from_newick("(a:1,b:2);")
    for call in (
        lambda: tp.Measures(clouds),
        lambda: tree.pairwise(clouds),
        lambda: tree.distance(clouds, clouds),
        lambda: tp.emd(clouds, clouds, points=LINE),
        lambda: tp.emd([1.0], [1.0], points=clouds),
        lambda: np.asarray(clouds),
    ):
        with pytest.raises(TypeError, match="Clouds bring their own points"):
            call()
    for wrong, match in (
        (tp.Measures([[1.0]]), "Measures are rows of masses on points that all share"),
        ("f.csv", "Clouds.read"),
        (3, "not int"),
    ):
        with pytest.raises(TypeError, match=match):
            tp.Clouds(wrong)


def test_later_changes_to_the_input_do_not_reach_them():
    points = np.array([[0.0], [1.0]])
    clouds = tp.Clouds([points])
    points[:] = 9
    assert clouds.points.ravel().tolist() == [0.0, 1.0]


def test_memory_is_asked_before_it_is_taken():
    huge = np.broadcast_to(np.zeros((1, 2)), (2**40, 2))
    with pytest.raises(MemoryError):
        tp.Clouds(huge, [0, 2**40])


def written(pairs, folder):
    """The same clouds in every kind of file that this installation can write, with how they are read."""
    table, clouds = long_table(pairs), tp.Clouds(pairs, ids=IDS)
    points, offsets, masses = stacked(pairs)
    table.to_csv(folder / "a.csv", index=False)
    table.to_csv(folder / "a.tsv.gz", index=False, sep="\t")
    # The first points of all clouds, then the second ones, …
    table.iloc[np.argsort(table.groupby("id").cumcount(), kind="stable")].to_csv(
        folder / "b.csv", index=False
    )
    table.rename(columns={"id": "who", "mass": "w"}).to_csv(folder / "c.csv", index=False)
    clouds.save(folder / "a.npz")
    np.savez_compressed(
        folder / "b.npz", points=points, offsets=offsets, masses=masses, ids=np.array(IDS)
    )
    (folder / "arrays").mkdir()
    for name, (mass, where) in zip(IDS, pairs):
        np.save(
            folder / "arrays" / f"{name}.npy", np.asfortranarray(np.column_stack([mass, where]))
        )
    ways = {
        "a.csv": {},
        "a.tsv.gz": {},
        "b.csv": {},
        "a.npz": {},
        "b.npz": {},
        "arrays": {"weights": "first"},
    }
    ways["c.csv"] = {"groupby": "who", "weights": "w", "columns": ["x", "y"]}
    return ways


def test_every_file_holds_the_same_clouds(pairs, tmp_path):
    expected = tp.Clouds(pairs, ids=IDS)
    for name, options in written(pairs, tmp_path).items():
        same(tp.Clouds.read(tmp_path / name, **options), expected)
        same(tp.Clouds.read(str(tmp_path / name), normalize=True, **options), expected.normalized())
    with np.load(tmp_path / "a.npz") as file:
        assert (
            sorted(file) == ["ids", "masses", "offsets", "points"] and file["ids"].tolist() == IDS
        )
    cube = np.stack([pairs[0][1], pairs[2][1][:3]])
    np.save(tmp_path / "cube.npy", cube)
    same(tp.Clouds.read(tmp_path / "cube.npy"), tp.Clouds(cube))
    numbered = tp.Clouds(pairs, ids=[7, 8, 9, 10])
    numbered.save(tmp_path / "numbered.npz")
    assert tp.Clouds.read(tmp_path / "numbered.npz") == numbered


def test_parquet(pairs, tmp_path):
    pl = pytest.importorskip("polars")
    pl.DataFrame(long_table(pairs).to_dict("list")).write_parquet(tmp_path / "a.parquet")
    same(tp.Clouds.read(tmp_path / "a.parquet"), tp.Clouds(pairs, ids=IDS))


def test_h5ad(pairs, tmp_path):
    anndata = pytest.importorskip("anndata")
    stand_in = cells(pairs, extra=False)
    anndata.AnnData(X=stand_in.X, obs=stand_in.obs, obsm=stand_in.obsm).write_h5ad(
        tmp_path / "a.h5ad"
    )
    same(
        tp.Clouds.read(tmp_path / "a.h5ad", groupby="patient", obsm="X_pca"),
        tp.Clouds(stand_in, groupby="patient"),
    )


@pytest.mark.parametrize("accuracy", [None, "0.05"])
def test_the_command_line_prints_the_same_distances(pairs, accuracy, tmp_path, binary):
    clouds = tp.Clouds(pairs, ids=IDS)
    words = [] if accuracy is None else ["--accuracy", accuracy]
    found = tp.emd_pairwise(clouds, metric="manhattan", accuracy=accuracy and float(accuracy))
    columns = [found] if accuracy is None else [found.lower, found.upper]
    expected = [
        [left, right, *(table.loc[left, right] for table in columns)]
        for left, right in itertools.combinations(IDS, 2)
    ]
    for name, options in written(pairs, tmp_path).items():
        given = [
            ["--" + word, value if isinstance(value, str) else ",".join(value)]
            for word, value in options.items()
        ]
        flags = [flag for pair in given for flag in pair]
        done = subprocess.run(
            [binary, "exact", "--clouds", tmp_path / name, "--metric", "manhattan", *flags, *words],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
        assert [[left, right, *map(float, numbers)] for left, right, *numbers in rows] == expected


def test_bad_files_name_the_file_and_the_cloud(tmp_path):
    path = tmp_path / "bad.csv"
    for text, said in (
        (
            "id,mass,x\na,1,0\nb,-1,0\n",
            "cloud b: point 0 has mass -1; masses must be finite and at least 0",
        ),
        ("id,mass,x\na,1,0\nb,0,0\n", "cloud b: it has no mass"),
        ("who,x\na,1\n", "csv, header: no column `id`; its columns are `who`, `x`"),
        ("id,x\na,left\n", "csv, line 2, column 2: `left` is not a number"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError) as caught:
            tp.Clouds.read(path)
        assert str(caught.value).startswith(f"{path}: {said}")
    with pytest.raises(FileNotFoundError):
        tp.Clouds.read(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="name it .npy, .npz, .csv, .tsv, .h5ad or .parquet"):
        tp.Clouds.read(tmp_path / "none.xlsx")
    with pytest.raises(ValueError, match="`obsm` is for AnnData files"):
        tp.Clouds.read(path, obsm="X_pca")
    assert tp.Clouds.read(
        _written(path, "id,mass,x\na,1,0\nb,0,0\n"), empty=True
    ).totals.tolist() == [1.0, 0.0]


def _written(path, text):
    path.write_text(text)
    return path


def test_a_dict_of_points_is_clouds_with_ids(rng):
    x, y = rng.normal(size=(8, 2)), rng.normal(size=(6, 2))
    frames = {name: pd.DataFrame(one, columns=["u", "v"]) for name, one in zip("xy", (x, y))}
    expected = tp.emd(None, None, x, y)
    for given in ({"x": x, "y": y}, frames):
        table = tp.emd_pairwise(given)
        assert list(table.index) == list(table.columns) == ["x", "y"]
        assert table.loc["x", "y"] == pytest.approx(expected)
        assert tp.emd_pairs(given, [("y", "x")]) == pytest.approx([expected])
    assert tp.emd_pairwise(list(frames.values()))[0, 1] == pytest.approx(expected)
