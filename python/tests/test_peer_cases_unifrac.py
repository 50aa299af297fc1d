"""The tables that scikit-bio tests its UniFrac by, with the same numbers.

scikit-bio took most of them from QIIME 1.9.1, another program, to twelve digits; here they stand as the fractions that they
are. test_unifrac_cases.py has more cases of the same kind on a tree of our own, and what is refused.

Cases of scikit-bio that do not apply:

- a tree of one node, samples without any taxon, tables of no columns: a tree has leaves here, and a table a column for each.
- counts as vectors of nodes (PyCogent's, the branch correction): private functions; the trees and samples behind them are here.
- `pairwise_func`, `validate=False`, callables and their warnings, other measures of diversity: treeport has none of them.
- the table of 126 samples from QIIME: a data file; test_unifrac.py compares large random tables with scikit-bio itself.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import treeport as tp

FIVE = "(((((OTU1:0.5,OTU2:0.5):0.5,OTU3:1.0):1.0):0.0,(OTU4:0.75,OTU5:0.75):1.25):0.0)root;"
FIVE_AND_MORE = "(((((OTU1:0.5,OTU2:0.5):0.5,OTU3:1.0):1.0):0.0,(OTU4:0.75,(OTU5:0.25,(OTU6:0.5,OTU7:0.5):0.5):0.5):1.25):0.0)root;"
FOUR = "((OTU1:0.1,OTU2:0.2):0.3,(OTU3:0.5,OTU4:0.7):1.1)root;"
VARIANTS = ["unweighted", "weighted", "weighted-normalized"]
COUNTS = pd.DataFrame(
    [
        [1, 3, 0, 1, 0],
        [0, 2, 0, 4, 4],
        [0, 0, 6, 2, 1],
        [0, 0, 1, 1, 1],
        [5, 3, 5, 0, 0],
        [0, 0, 0, 3, 5],
    ],
    index=list("ABCDEF"),
    columns=[f"OTU{k}" for k in range(1, 6)],
)
# Unweighted, weighted; normalized is the weighted one over 4, because all tips are 2 away from the root.
PAIRS = {
    "AB": ("5/21", "12/5"),
    "AC": ("13/25", "28/15"),
    "AD": ("13/25", "38/15"),
    "AE": ("6/11", "88/65"),
    "AF": ("13/21", "16/5"),
    "BC": ("8/23", "34/15"),
    "BD": ("8/23", "14/15"),
    "BE": ("17/25", "16/5"),
    "BF": ("8/19", "67/80"),
    "CD": ("0", "4/3"),
    "CE": ("17/25", "74/39"),
    "CF": ("8/19", "8/3"),
    "DE": ("17/25", "8/3"),
    "DF": ("8/19", "4/3"),
    "EF": ("1", "4"),
}


def expected(pair, variant):
    unweighted, weighted = (Fraction(value) for value in PAIRS[pair])
    return float({"unweighted": unweighted, "weighted": weighted}.get(variant, weighted / 4))


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_pairs_of_six_samples(variant):
    table = tp.Tree.from_newick(FIVE).unifrac(COUNTS, variant)
    for pair in PAIRS:
        assert (
            table.loc[pair[0], pair[1]]
            == table.loc[pair[1], pair[0]]
            == pytest.approx(expected(pair, variant), abs=1e-14)
        )
    assert (np.diag(table) == 0).all()
    # In any order of the taxa, and with tips that no sample has.
    swapped = COUNTS[["OTU5", "OTU2", "OTU3", "OTU4", "OTU1"]]
    np.testing.assert_allclose(
        tp.Tree.from_newick(FIVE).unifrac(swapped, variant), table, atol=1e-14
    )
    with pytest.warns(tp.MissingColumnsWarning, match="2 of 7 points have no column"):
        more = tp.Tree.from_newick(FIVE_AND_MORE).unifrac(COUNTS, variant)
    np.testing.assert_allclose(more, table, atol=1e-14)


ROOTS = [
    # Both samples are on one side of the root: the way from there to the root is shared, and counts.
    ([1, 1, 0, 0], [1, 0, 0, 0], 0.2 / (0.1 + 0.2 + 0.3), 0.15, 0.15 / (0.45 + 0.4)),
    ([0, 0, 1, 1], [0, 0, 1, 0], 0.7 / (1.1 + 0.5 + 0.7), 0.6, 0.6 / (1.7 + 1.6)),
]


@pytest.mark.parametrize("case", ROOTS)
def test_samples_on_one_side_of_the_root(case):
    one, other, *values = case
    for variant, value in zip(VARIANTS, values):
        assert tp.Tree.from_newick(FOUR).unifrac([one, other], variant)[0, 1] == pytest.approx(
            value, rel=1e-12
        )
    # As scikit-bio rounds them.
    if one[0]:
        assert values == pytest.approx([0.3333333333, 0.15, 0.1764705882], abs=1e-9)
    else:
        assert values == pytest.approx([0.3043478261, 0.6, 0.1818181818], abs=1e-9)


def test_samples_that_share_the_root_alone():
    tree = tp.Tree.from_newick(FIVE)
    for variant, value in zip(VARIANTS, [1.0, 4.0, 1.0]):
        assert tree.unifrac([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], variant)[0, 1] == pytest.approx(
            value, rel=1e-12
        )


def test_samples_without_counts():
    for text, one, values in [
        (FIVE, [1, 1, 1, 0, 0], [1.0, 2.0, 1.0]),
        ("(OTU1:0.25,OTU2:0.25)root;", [1, 0], [1.0, 0.25, 1.0]),
    ]:
        none = [0] * len(one)
        for variant, value in zip(VARIANTS, values):
            table = tp.Tree.from_newick(text).unifrac([one, none, none], variant)
            assert table.tolist() == [[0, value, value], [value, 0, 0], [value, 0, 0]]


def test_three_samples_of_pycogent():
    """In the order a to e; weighted values by hand, and unweighted ones as lengths of one over lengths of either."""
    tree = tp.Tree.from_newick("((a:1,b:2):4,(c:3,(d:1,e:1):2):3);", names=list("abcde"))
    rows = [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [1, 0, 0, 0, 1]]
    unweighted, weighted = tree.unifrac(rows, "unweighted"), tree.unifrac(rows, "weighted")
    assert [unweighted[0, 1], unweighted[0, 2], unweighted[1, 2]] == pytest.approx(
        [10 / 16, 8 / 13, 8 / 17], rel=1e-14
    )
    ways = {
        (0, 1): 1 * (1 / 2)
        + 2 * (1 / 2 - 1 / 3)
        + 3 / 3
        + 1 / 3
        + 2 / 3
        + 4 * (1 - 1 / 3)
        + 3 * (2 / 3),
        (0, 2): 2 * (1 / 2) + 1 * (1 / 2) + 2 * (1 / 2) + 4 * (1 / 2) + 3 * (1 / 2),
        (1, 2): 1 / 2
        + 2 / 3
        + 3 / 3
        + 1 / 3
        + 1 / 2
        + 2 * (1 / 2 - 1 / 3)
        + 4 * (1 / 2 - 1 / 3)
        + 3 * (2 / 3 - 1 / 2),
    }
    assert list(ways.values()) == pytest.approx([7.5, 6.0, 4.5])
    for (i, j), way in ways.items():
        assert weighted[i, j] == pytest.approx(way, rel=1e-14)


def test_three_samples_of_the_front_door():
    """O3 is a tip without a column."""
    table = pd.DataFrame([[1, 5], [2, 3], [0, 1]], index=list("ABC"), columns=["O1", "O2"])
    tree = tp.Tree.from_newick("((O1:0.25,O2:0.50):0.25,O3:0.75)root;")
    with pytest.warns(tp.MissingColumnsWarning, match="1 of 3 points has no column"):
        found = {variant: tree.unifrac(table, variant) for variant in VARIANTS}
    # Shares of O1 are 1/6, 2/5 and 0; a unit that goes from one tip to the other goes 0.75.
    shares, depth = (
        np.array([1 / 6, 2 / 5, 0]),
        np.array([0.75, 0.75, 0.75]) - 0.25 * np.array([1 / 6, 2 / 5, 0]),
    )
    ways = 0.75 * np.abs(shares[:, None] - shares)
    np.testing.assert_allclose(found["weighted"], ways, atol=1e-15)
    np.testing.assert_allclose(
        found["weighted"], [[0, 0.175, 0.125], [0.175, 0, 0.3], [0.125, 0.3, 0]], atol=1e-7
    )
    np.testing.assert_allclose(
        found["weighted-normalized"], ways / (depth[:, None] + depth), atol=1e-15
    )
    np.testing.assert_allclose(
        found["weighted-normalized"],
        [[0, 0.128834, 0.085714], [0.128834, 0, 0.2142857], [0.085714, 0.2142857, 0]],
        atol=1e-6,
    )
    np.testing.assert_allclose(
        found["unweighted"], [[0, 0, 0.25], [0, 0, 0.25], [0.25, 0.25, 0]], atol=1e-15
    )


TREES = [
    (
        "two tips of one name",
        "((((OTU1:0.5,OTU2:0.5):0.5,OTU3:1.0):1.0):0.0,(OTU4:0.75,OTU2:0.75):1.25);",
        "`OTU2` is in the tree twice",
    ),
    ("no root", "((OTU1:0.1,OTU2:0.2):0.3,OTU3:0.5,OTU4:0.7);", "the root has 3 children"),
    ("no lengths", "((((OTU1,OTU2),OTU3)),(OTU4,OTU5));", "has no length"),
    (
        "one length missing",
        "((((OTU1,OTU2:0.5):0.5,OTU3:1.0):1.0):0.0,(OTU4:0.75,OTU5:0.75):1.25);",
        "the edge above leaf `OTU1` has no length",
    ),
]


@pytest.mark.filterwarnings("ignore::treeport.MissingColumnsWarning")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", TREES, ids=[case[0] for case in TREES])
def test_trees_that_are_refused(case, variant):
    _, text, said = case
    with pytest.raises(ValueError, match=said):
        tp.Tree.from_newick(text).unifrac(COUNTS[["OTU1", "OTU2", "OTU3"]], variant)


@pytest.mark.filterwarnings("ignore::treeport.MissingColumnsWarning")
@pytest.mark.parametrize("variant", VARIANTS)
def test_tables_that_are_refused(variant):
    tree = tp.Tree.from_newick(FIVE)
    names = ["OTU1", "OTU2", "OTU3"]
    for rows, columns, said in [
        ([[1, 2, 3], [1, 1, 1]], ["OTU1", "OTU2", "OTU2"], "OTU2 is there twice"),
        ([[1, 2, 3], [1, 1, 1]], ["OTU1", "OTU2", "OTU42"], "name no point, such as OTU42"),
        ([[1, 2, -3], [1, 1, 1]], names, "mass -3"),
        ([[1, 2, 3], [1, 1, -1]], names, "mass -1"),
        ([[1, 2, np.nan], [1, 1, 1]], names, "mass nan"),
    ]:
        with pytest.raises(ValueError, match=said):
            tree.unifrac(pd.DataFrame(rows, columns=columns), variant)
    for rows in ([[1, 2], [1, 1, 1]], [[1, 2, 3], [1, 1, 1]], [[[43]]]):
        with pytest.raises(ValueError):
            tree.unifrac(rows, variant)
    with pytest.raises(ValueError, match="not-a-variant"):
        tree.unifrac(COUNTS, "not-a-variant")
