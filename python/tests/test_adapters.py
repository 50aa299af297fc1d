"""Every kind of input gives the answers of plain arrays, wherever measures, points, costs and graphs are taken."""

import pickle
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse
from treeport._inputs import _adapters

pl = pytest.importorskip("polars", reason="polars has no wheel for this Python")

NAMES = list("abcde")
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def of_torch(values):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed; `pip install torch` adds it"
    )
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def sparse_tensor(values):
    return of_torch(values).detach().to_sparse()


def sparse_kind(kind):
    return lambda values: kind(np.atleast_2d(values))


DENSE = {"list": lambda values: np.asarray(values).tolist(), "tensor": of_torch}
SPARSE = {
    f"{format}_{kind}": sparse_kind(getattr(sparse, f"{format}_{kind}"))
    for format in FORMATS
    for kind in ("array", "matrix")
}
SPARSE["sparse tensor"] = sparse_tensor
FRAMES = {
    "pandas": lambda values: pd.DataFrame(values, columns=NAMES[: np.shape(values)[1]]),
    "polars": lambda values: pl.DataFrame(
        values, schema=NAMES[: np.shape(values)[1]], orient="row"
    ),
}


@pytest.fixture
def points(rng):
    return rng.normal(size=(5, 2))


@pytest.fixture
def masses(rng):
    counts = rng.integers(0, 3, size=(8, 5)).astype(float)
    counts[:, 0] += 1
    return counts / counts.sum(axis=1, keepdims=True)


def answers(rows, points):
    """What every door says about eight measures on five points."""
    tree = tp.linkage(points=points)
    tw = tp.TreeWasserstein(points, epochs=1).fit(rows)
    near = tp.WassersteinNeighbors(points, n_neighbors=2).fit(rows)
    return [
        tp.emd_pairs(rows, [(0, 1), (2, 3)], points=points),
        tp.emd_pairwise(rows, points=points),
        tree.pairwise(rows),
        tree.paired(rows, rows),
        tree.kneighbors(rows, n_neighbors=2)[0],
        tree.embed(rows).toarray(),
        tree.unifrac(rows),
        tree.barycenter(rows),
        tw.pairwise(rows),
        tw.transform(rows).toarray(),
        tw.estimate(rows, rows, "exact"),
        tw.kneighbors(rows, n_neighbors=2)[0],
        tw.score(rows),
        near.kneighbors(rows)[0],
        near.transform(rows).toarray(),
        tp.Measures(rows)._rows().toarray(),
    ]


@pytest.mark.parametrize("kind", [*DENSE, *SPARSE, *FRAMES, "Measures"])
def test_tables_of_every_kind_have_the_answers_of_an_array(kind, masses, points):
    make = {**DENSE, **SPARSE, **FRAMES, "Measures": tp.Measures}[kind]
    for found, expected in zip(answers(make(masses), points), answers(masses, points)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [*DENSE, *SPARSE, *FRAMES, "Series", "polars Series", "Measures"])
def test_one_measure_of_every_kind(kind, masses, points):
    rows = {
        name: (lambda row, make=make: make(row[np.newaxis]))
        for name, make in {**SPARSE, **FRAMES}.items()
    }
    series = {
        "Series": pd.Series,
        "polars Series": pl.Series,
        "Measures": lambda row: tp.Measures([row]),
    }
    make = {**DENSE, **rows, **series}[kind]
    tree, cost = tp.linkage(points=points), np.abs(points[:, :1] - points[:, 0])
    a, b = (make(row) for row in masses[:2])
    assert tp.emd(a, b, points=points) == tp.emd(*masses[:2], points=points)
    assert tp.emd(a, b, cost) == tp.emd(*masses[:2], cost)
    assert tp.sinkhorn(a, b, cost) == tp.sinkhorn(*masses[:2], cost)
    assert tree.distance(a, b) == tree.distance(*masses[:2])
    assert (tree.coupling(a, b) != tree.coupling(*masses[:2])).nnz == 0


def test_nothing_that_is_given_is_written_to(points):
    rows = sparse.csr_array(np.array([[0.5, 0.2, 0.3, 0.0, 0.0], [0.1, 0.2, 0.0, 0.3, 0.4]]))
    cells = SimpleNamespace(X=rows, obsm={}, obs_names=["s", "t"], var_names=NAMES[::-1])
    ground, before = pd.DataFrame(points, NAMES), rows.toarray()
    for _ in range(2):  # the second answer is that of the first
        found = tp.emd_pairwise(cells, points=ground).to_numpy()
        np.testing.assert_array_equal(found, tp.emd_pairwise(before[:, ::-1], points=points))
    np.testing.assert_array_equal(rows.toarray(), before)
    # A graph whose entries are out of order, and cannot be written to.
    ring = sparse.csr_array((np.ones(6), [2, 1, 2, 0, 1, 0], [0, 2, 4, 6]), shape=(3, 3))
    for part in (ring.data, ring.indices, ring.indptr):
        part.flags.writeable = False
    assert (
        tp.emd([1.0, 0, 0], [0, 0, 1.0], graph=ring)
        == tp.emd_pairwise(np.eye(3), graph=ring)[0, 2]
        == 1.0
    )
    assert ring.indices.tolist() == [2, 1, 2, 0, 1, 0]


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_tensors_of_half_precision(kind, points):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed; `pip install torch` adds it"
    )
    masses = np.array([[0.25, 0.0, 0.5, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]])
    dense = torch.tensor(masses, dtype=getattr(torch, kind))
    for given in [dense, dense.to_sparse(), dense.to_sparse_csr()]:
        np.testing.assert_array_equal(
            tp.emd_pairwise(given, points=points), tp.emd_pairwise(masses, points=points)
        )


@pytest.mark.parametrize("kind", [*DENSE, *SPARSE, *FRAMES])
def test_points_of_every_kind(kind, masses, points):
    make = {**DENSE, **SPARSE, **FRAMES}[kind]
    given = make(points)
    assert tp.emd(*masses[:2], points=given) == tp.emd(*masses[:2], points=points)
    assert tp.emd(*masses[:2], given, given) == tp.emd(*masses[:2], points, points)
    assert tp.linkage(points=given) == tp.linkage(points=points)
    tw = tp.TreeWasserstein(given, epochs=1).fit(masses)
    assert tw.model_ == tp.TreeWasserstein(points, epochs=1).fit(masses).model_
    assert tw.extend(make(points[:2])).model_.n_points == 7


@pytest.mark.parametrize("kind", [*DENSE, *FRAMES])
def test_costs_of_every_kind(kind, masses, points):
    cost = np.abs(points[:, :1] - points[:, 0])
    given = {**DENSE, **FRAMES}[kind](cost)
    assert tp.emd(*masses[:2], given) == tp.emd(*masses[:2], cost)
    np.testing.assert_array_equal(
        tp.emd_pairwise(masses, cost=given), tp.emd_pairwise(masses, cost=cost)
    )
    fitted = tp.TreeWasserstein(cost=given, epochs=1).fit(masses)
    assert fitted.model_ == tp.TreeWasserstein(cost=cost, epochs=1).fit(masses).model_


@pytest.mark.parametrize("kind", [*DENSE, *SPARSE, *FRAMES])
def test_adjacency_matrices_of_every_kind(kind, masses):
    ring = nx.to_numpy_array(nx.cycle_graph(5))
    given = {**DENSE, **SPARSE, **FRAMES}[kind](ring)
    assert tp.emd(*masses[:2], graph=given) == tp.emd(*masses[:2], graph=sparse.csr_array(ring))
    assert tp.linkage(graph=given) == tp.linkage(graph=sparse.csr_array(ring))


def test_a_first_column_of_text_names_the_rows_of_polars(masses, points):
    order = [3, 1, 0, 4, 2]
    labeled = pd.DataFrame(masses[:, order], [f"s{i}" for i in range(8)], [NAMES[i] for i in order])
    rows = pl.DataFrame(
        {"sample": list(labeled.index), **{name: labeled[name].to_numpy() for name in labeled}}
    )
    places = pl.DataFrame({"place": NAMES, "x": points[:, 0], "y": points[:, 1]})
    line = pd.DataFrame(points, NAMES, ["x", "y"])
    for found, expected in zip(answers(rows, places), answers(labeled, line)):
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    exact = tp.emd_pairwise(rows, points=places)
    pd.testing.assert_frame_equal(exact, tp.emd_pairwise(labeled, points=line))
    assert list(exact.index) == list(labeled.index)
    assert tp.emd({"a": 1}, {"e": 1}, points=places) == tp.emd({"a": 1}, {"e": 1}, points=line)
    assert tp.linkage(points=places).names == NAMES
    tw = tp.TreeWasserstein(places, epochs=1).fit(rows)
    assert list(tw.feature_names_in_) == tw.model_.names == NAMES
    more = pl.DataFrame({"place": ["f"], "x": [1.0], "y": [2.0]})
    assert tw.extend(more).model_.names == [*NAMES, "f"]
    with pytest.raises(
        ValueError, match=r"the new points have columns \['y', 'x'\], the old ones \['x', 'y'\]"
    ):
        tw.extend(more[["place", "y", "x"]])
    with pytest.raises(ValueError, match="1 of 5 columns name no point, such as fish"):
        tw.pairwise(rows.rename({"e": "fish"}))


def test_costs_of_polars_are_matched_by_name():
    cost = pl.DataFrame({"": ["x", "y"], "y": [1.0, 0.0], "x": [0.0, 1.0]})
    a, b = pd.Series([1.0, 0], ["x", "y"]), pd.Series([1.0, 0], ["y", "x"])
    assert tp.emd(a, b, cost) == tp.emd({"x": 1}, {"y": 1}, cost) == 1
    assert tp.emd_pairs([{"x": 1}, {"y": 1}], [(0, 1)], cost=cost).tolist() == [1.0]
    one, other = (pl.DataFrame([[1.0, 0.0]], schema=names, orient="row") for names in ("xy", "yx"))
    assert tp.emd(one, other, cost) == 1
    with pytest.raises(
        ValueError, match="a is about 'x', 'y', and b about 'y', 'x', and the points have no names"
    ):
        tp.emd(one, other, points=[[0.0], [1.0]])
    with pytest.raises(ValueError, match="column 0 is x on the left and y on the right"):
        tp.emd_pairwise(one, other, points=[[0.0], [1.0]])
    places = pl.DataFrame({"lon": [13.4, -74.0], "lat": [52.5, 40.7]})
    with pytest.raises(ValueError, match="latitude, then longitude"):
        tp.emd([1, 0], [0, 1], points=places, metric="haversine")


def test_what_polars_has_no_numbers_for_is_named():
    tree = tp.Tree.from_newick("((a:1,b:1):2,c:3);")
    with pytest.raises(
        ValueError, match="the entry of row 1, column b is missing; fill it .`fill_null`"
    ):
        tree.pairwise(pl.DataFrame({"a": [1, 2], "b": [1, None], "c": [0, 0]}))
    with pytest.raises(ValueError, match="column b is of type String; give numbers"):
        tree.pairwise(pl.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0, 0]}))
    with pytest.raises(TypeError, match="has no numbers yet; give `frame.collect"):
        tree.pairwise(pl.DataFrame({"a": [1, 2], "b": [1, 2]}).lazy())
    mixed = pl.DataFrame({"a": [True, False], "b": [0, 1], "c": [0.0, 0.0]})
    assert tree.pairwise(mixed)[0, 1] == 2


def test_measures_are_never_read_again(masses, points, monkeypatch):
    labeled = tp.Measures(pd.DataFrame(masses, columns=NAMES), names=NAMES)
    plain = tp.Measures(masses)
    tree, tw = (
        tp.linkage(points=points, names=NAMES),
        tp.TreeWasserstein(points, epochs=1).fit(masses),
    )
    near = tp.WassersteinNeighbors(points, n_neighbors=2).fit(masses)
    expected = answers(masses, points)[9], near.kneighbors(masses)[0]

    def refused(*_):
        raise AssertionError("they were read before")

    monkeypatch.setattr(tp.Measures, "_rows", refused)
    for rows in (plain, labeled):
        (
            tree.pairwise(rows),
            tree.embed(rows),
            tree.unifrac(rows),
            tree.kneighbors(rows, n_neighbors=1),
        )
        tp.emd_pairs(rows, [(0, 1)], points=points)
        np.testing.assert_array_equal(tw.transform(rows).toarray(), expected[0])
        tw.paired(rows, rows), tw.bounds(rows, rows), tw.score(rows)
        np.testing.assert_array_equal(near.kneighbors(rows)[0], expected[1])
        near.radius_neighbors(rows, 1.0)
        fitted = tp.TreeWasserstein(points, epochs=1).fit(rows)
        assert fitted.n_features_in_ == 5 and hasattr(fitted, "feature_names_in_") == (
            rows is labeled
        )
        assert tp.WassersteinNeighbors(points, n_neighbors=2).fit(rows).n_samples_fit_ == 8
    with pytest.raises(ValueError, match="X has 4 features, but TreeWasserstein is expecting 5"):
        tw.transform(tp.Measures(np.eye(4)))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        tp.TreeWasserstein(points).fit(tp.Measures(masses[:1]))


def test_pickles_of_earlier_releases_are_measures():
    rows = sparse.csr_array(np.eye(2))

    class Earlier:
        def __reduce__(self):
            import treeport._inputs

            return treeport._inputs._measures_again, (rows, ["s", "t"], ["a", "b"])

    again = pickle.loads(pickle.dumps(Earlier()))
    assert isinstance(again, tp.Measures) and (again.ids, again.names) == (["s", "t"], ["a", "b"])
    # By that name, whichever file it is in.
    old = b"ctreeport._inputs\n_measures_again\n."
    assert pickle.loads(old) is tp._inputs._measures_again


def test_every_input_has_one_adapter():
    biom = pytest.importorskip("biom", reason="it comes with scikit-bio")
    inputs = {
        "anndata": [SimpleNamespace(X=np.eye(2), obsm={})],
        "biom": [biom.Table(np.eye(2), ["a", "b"], ["s", "t"])],
        "clouds": [tp.Clouds([[[0.0]]])],
        "dicts": [{"a": 1}, [{"a": 1}, {"b": 1}]],
        "documents": [tp.texts(["cat dog"], {"cat": [1.0], "dog": [2.0]})],
        "measures": [tp.Measures(np.eye(2))],
        "networkx": [nx.path_graph(2), nx.DiGraph()],
        "pandas": [pd.DataFrame(np.eye(2)), pd.Series([1.0, 2])],
        "polars": [pl.DataFrame(np.eye(2)), pl.Series([1.0, 2]), pl.LazyFrame({"a": [1]})],
        "sparse": [make(np.eye(2)) for name, make in SPARSE.items() if "tensor" not in name],
        "torch": [],
        "none": [np.eye(2), [[1.0, 0.0]], [], [([1.0], [[0.0]])], 3.0, None, "text"],
    }
    names = {adapter.__name__.rpartition(".")[2]: adapter for adapter in _adapters.adapters()}
    assert set(names) == set(inputs) - {"none"}, "a new kind of input gets a line here, too"
    for name, examples in inputs.items():
        for example in examples:
            claimed = [own for own, adapter in names.items() if adapter.is_mine(example)]
            assert claimed == ([] if name == "none" else [name]), example
