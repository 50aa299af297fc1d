"""Inputs at the edges of what there is: far points, large numbers, odd arrays, and what other packages take."""

import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from scipy.optimize import linprog

pd = pytest.importorskip("pandas")

FAR = [[0.0, 0.0], [3e200, 4e200], [3e200, 0.0]]


def test_points_whose_squares_overflow_are_measured_by_every_door():
    rows = np.eye(3)
    assert tp.emd([1, 0, 0], [0, 1, 0], points=FAR) == pytest.approx(5e200)
    assert tp.emd(rows[0], rows[1], points=np.array(FAR)) == pytest.approx(5e200)
    assert tp.emd([1], [1], [[0, 0]], [[3e200, 4e200]]) == pytest.approx(5e200)
    value, (u, v) = tp.emd([1, 0, 0], [0, 1, 0], points=FAR, return_potentials=True)
    assert u[0] + v[1] == pytest.approx(value)
    value, (u, v) = tp.emd([1], [1], [[0, 0]], [[3e200, 4e200]], return_potentials=True)
    assert u[0] + v[0] == pytest.approx(value)
    bounds = tp.emd([1, 0, 0], [0, 1, 0], points=FAR, accuracy=0.1)
    assert bounds.lower <= 5e200 * (1 + 1e-12) and 5e200 * (1 - 1e-12) <= bounds.upper
    assert tp.sinkhorn([1, 0, 0], [0, 1, 0], points=FAR) == pytest.approx(5e200)
    table = tp.emd_pairwise(rows, points=FAR)
    np.testing.assert_allclose(table, [[0, 5e200, 3e200], [5e200, 0, 4e200], [3e200, 4e200, 0]])
    np.testing.assert_allclose(tp.emd_pairs(rows, [(0, 1)], points=np.array(FAR)), [5e200])
    np.testing.assert_allclose(tp.emd_pairs([([1], [FAR[0]]), ([1], [FAR[1]])], [(0, 1)]), [5e200])
    assert tp.linkage(points=FAR, method="single").pairwise(rows)[0, 2] == pytest.approx(3e200)
    near = tp.WassersteinNeighbors(points=FAR, n_neighbors=1).fit(rows)
    np.testing.assert_allclose(near.kneighbors(rows[:1], 3)[0], [[0, 3e200, 5e200]])
    many = np.random.default_rng(0).normal(size=(300, 3))
    far = tp.emd_pairs(np.eye(300), [(k, k + 1) for k in range(299)], points=many * 2.0**700)
    np.testing.assert_allclose(
        far, np.linalg.norm(np.diff(many, axis=0), axis=1) * 2.0**700, rtol=1e-12
    )
    with pytest.raises(ValueError, match="is inf; distances must be finite"):
        tp.emd([1, 0], [0, 1], points=[[1.7e308], [-1.7e308]])


def test_values_beyond_the_largest_number_are_said_to_be():
    cost = np.random.default_rng(0).random((6, 6)) * 1.7e308
    masses = np.full(6, 5.0)
    said = r"overflow \(the largest number is 1\.8e308\); divide the costs"
    for call in (
        lambda: tp.emd(masses, masses, cost),
        lambda: tp.emd(masses, 0.8 * masses, cost, penalty=1e308),
        lambda: tp.emd(masses, masses, cost, return_plan=True),
        lambda: tp.emd(masses, masses, cost, accuracy=0.1),
        lambda: tp.emd_pairwise(5 * np.eye(2), cost=[[0, 1.7e308], [1.7e308, 0]]),
        lambda: tp.emd([1e300, 1e300], [1e300, 1e300], [[1e10, 1e10], [1e10, 1e10]]),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_complex_masses_are_refused():
    one, cost = np.array([1 + 2j, 0]), [[0, 1], [1, 0]]
    for call in (
        lambda: tp.emd(one, [0, 1], cost),
        lambda: tp.emd([1 + 2j, 0], [0, 1], cost),
        lambda: tp.emd(sparse.csr_array(one[None]), [0, 1], cost),
        lambda: tp.emd([1, 0], [0, 1], np.array(cost) * 1j),
        lambda: tp.Measures(np.array([one])),
        lambda: tp.Measures(sparse.csr_array(np.array([one]))),
        lambda: tp.Measures(pd.DataFrame([one])),
        lambda: tp.Tree.from_newick("(a:1,b:1);").distance(one, [0, 1]),
    ):
        with pytest.raises(ValueError, match="complex"):
            call()


def test_tables_that_overlap_themselves_take_no_distances():
    tree = tp.Tree.from_newick("(a:1,b:2);")
    rows = np.eye(2)
    base = np.zeros(4)
    overlapping = np.lib.stride_tricks.as_strided(base, (2, 2), (8, 8))
    same_row = np.lib.stride_tricks.as_strided(base, (2, 2), (0, 8))
    for out in (overlapping, same_row):
        with pytest.raises(ValueError, match="several entries in one place"):
            tree.pairwise(rows, out=out)
    for out in (np.zeros((2, 2), order="F"), np.zeros((4, 4))[::2, ::-2], np.zeros((2, 2))):
        assert tree.pairwise(rows, out=out)[0, 1] == 3


def test_no_masses_are_equal_masses():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 2)), rng.normal(size=(7, 2))
    cost = np.linalg.norm(x[:, None] - y, axis=2)
    equal = tp.emd(np.full(4, 1 / 4), np.full(7, 1 / 7), cost)
    assert tp.emd(None, None, cost) == equal
    assert tp.emd(None, np.full(7, 1 / 7), cost) == equal
    assert tp.emd(None, None, x, y) == pytest.approx(equal)
    assert tp.emd(None, [1, 0, 0, 0], points=x) == pytest.approx(
        tp.emd(np.full(4, 0.25), [1, 0, 0, 0], points=x)
    )
    assert tp.sinkhorn(None, None, cost) == tp.sinkhorn(np.full(4, 1 / 4), np.full(7, 1 / 7), cost)
    assert tp.emd_pairs([(None, x), (None, y)], [(0, 1)])[0] == pytest.approx(equal)
    assert tp.emd_pairwise([(None, x)], [(None, y)])[0, 0] == pytest.approx(equal)


def test_what_other_packages_take_gets_an_error_that_shows_the_way():
    x = np.array([[0.0], [2.0]])
    events = [np.ones((4, 3)), np.ones((5, 3))]
    with pytest.raises(ValueError, match=r"emd\(x\[:, 0\], y\[:, 0\], x\[:, 1:\], y\[:, 1:\]\)"):
        tp.emd(*events, points=x)
    for call in (
        lambda: tp.emd_pairs(events, [(0, 1)]),
        lambda: tp.emd_pairwise(events),
        lambda: tp.Measures(events),
    ):
        with pytest.raises(ValueError, match=r'Clouds\(events, weights="first"\)'):
            call()


FRAME = pd.DataFrame(np.eye(3), index=["S1", "S2", "S3"], columns=list("abc"))
POINTS = pd.DataFrame([[0.0], [1.0], [5.0]], index=list("abc"))


def test_pairs_go_by_names():
    by_number = tp.emd_pairs(FRAME, [(0, 2), (1, 2)], points=POINTS)
    for rows in (FRAME, tp.Measures(FRAME)):
        assert (tp.emd_pairs(rows, [("S1", "S3"), ("S2", "S3")], points=POINTS) == by_number).all()
    assert (
        tp.emd_pairs(FRAME, pd.DataFrame([["S1", "S3"], ["S2", "S3"]]), points=POINTS) == by_number
    ).all()
    with pytest.raises(
        ValueError, match="pair 1 names S9, and no measure is called so; there are 3, such as S1"
    ):
        tp.emd_pairs(FRAME, [("S1", "S3"), ("S2", "S9")], points=POINTS)
    with pytest.raises(ValueError, match="the measures have no names"):
        tp.emd_pairs(np.eye(3), [("S1", "S3")], points=POINTS)
    with pytest.raises(ValueError, match="several measures are called so"):
        tp.emd_pairs(FRAME.set_axis(["S1", "S1", "S3"]), [("S1", "S3")], points=POINTS)


def test_what_is_wrong_goes_by_names(tmp_path):
    bad = FRAME.copy()
    bad.loc["S2"] = [1, 2, -3]
    said = r"S2 has mass -3 at c \(measure 1, point 2\); masses must be finite and at least 0"
    tree = tp.linkage(points=POINTS)
    bad.to_csv(tmp_path / "bad.csv", index_label="id")
    for call in (
        lambda: tp.Measures(bad),
        lambda: tree.pairwise(bad),
        lambda: tp.emd_pairs(bad, [(0, 1)], points=POINTS),
        lambda: tp.Measures.read(tmp_path / "bad.csv"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(ValueError, match=r"measure 0 has mass nan at b \(point 1\)"):
        tp.Measures([[1, np.nan]], names=["a", "b"])


def test_a_measure_without_mass_is_fine_where_a_penalty_is_given():
    tree, cost = tp.Tree.from_newick("((a:1,b:1):2,c:3);"), [[0, 2, 6], [2, 0, 6], [6, 6, 0]]
    none, some, points = [0, 0, 0], [1.0, 2.0, 0.0], np.array([[0.0], [1.0], [5.0]])
    for a, b, value in [(none, some, 4.5), (some, none, 4.5), (none, none, 0.0)]:
        assert tree.distance(a, b, penalty=1.5) == value
        assert tp.emd(a, b, cost, penalty=1.5) == value
        assert tp.emd(a, b, points=points, penalty=1.5) == value
        assert tp.emd(np.array(a, float), np.array(b, float), points=points, penalty=1.5) == value
        assert tp.emd(a, b, points, points, penalty=1.5) == value
        assert tp.emd_pairs([a, b], [(0, 1)], points=points, penalty=1.5)[0] == value
        assert (
            tp.emd_pairs(np.array([a, b], float), np.array([(0, 1)]), points=points, penalty=1.5)[0]
            == value
        )
        assert tp.emd_pairwise([a], [b], cost=cost, penalty=1.5)[0, 0] == value
        assert tp.emd_pairs([(a, points), (b, points)], [(0, 1)], penalty=1.5)[0] == value
        with pytest.raises(ValueError, match="mass"):
            tree.distance(a, b)
        with pytest.raises(ValueError, match="mass"):
            tp.emd(a, b, cost)


def test_tiny_penalties_keep_their_digits_on_trees():
    """Judged by a linear program in units of the penalty, where no cost is above twice its price."""
    rng = np.random.default_rng(5)
    for trial in range(60):
        n = int(rng.integers(2, 8))
        lengths = 10.0 ** rng.uniform(-25, 3, size=(n, 2))
        tree = tp.linkage(points=lengths, method="average")
        distances = tree.pairwise(np.eye(n))
        a, b = rng.integers(0, 10, size=(2, n)) / 10
        a[0] += 0.1
        penalty = 10.0 ** rng.uniform(-26, 1)
        short = np.minimum(distances / penalty, 2.0)
        # What is moved saves twice the price, less its cost. The program is solved to about 1e-7.
        sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
        found = linprog(short.ravel() - 2.0, A_ub=sums, b_ub=np.concatenate([a, b]))
        ours = tree.distance(a, b, penalty=penalty) / penalty
        assert ours == pytest.approx(a.sum() + b.sum() + found.fun, abs=1e-5), trial
        assert ours == pytest.approx(tp.emd(a, b, short, penalty=1.0), rel=1e-9, abs=1e-13), trial
    star = tp.Tree.from_newick("(a:1,b:1,c:1);")
    assert star.distance([0.3, 0, 0], [0, 0.1, 0.2], penalty=1e-20) == pytest.approx(
        6e-21, rel=1e-12
    )
    assert star.distance([0.3, 0, 0], [0, 0.1, 0.2], penalty=0) == 0
