"""UniFrac of every kind, judged by scikit-bio and by the formulas."""

import io

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse
from skbio import TreeNode
from skbio.diversity import beta_diversity

TIPS = 60


@pytest.fixture(scope="module")
def phylogeny():
    rng = np.random.default_rng(2)
    text = tp.linkage(points=rng.normal(size=(TIPS, 3))).to_newick()
    names = [f"t{k}" for k in range(TIPS)]
    return tp.Tree.from_newick(
        text.replace("(", "(t").replace(",", ",t").replace("t(", "("), names=names
    )


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(3)
    table = rng.poisson(0.3, size=(20, TIPS)) * rng.integers(1, 50, size=(20, TIPS))
    table[np.arange(20), np.arange(20)] += 3
    table[7] = table[3]
    table[8] = 2 * table[3]
    return table


def by_formula(tree, counts, weight):
    """Differences of shares over their sums, by lengths times weights, edge by edge."""
    below = np.zeros((len(counts), tree.n_nodes))
    below[:, : tree.n_points] = counts
    for node in range(tree.n_nodes - 1):
        below[:, tree.parents[node]] += below[:, node]
    totals = counts.sum(axis=1)
    shares, found = below / totals[:, None], np.zeros((len(counts),) * 2)
    for i in range(len(counts)):
        for j in range(len(counts)):
            both, difference = shares[i] + shares[j], np.abs(shares[i] - shares[j])
            individuals, everybody = below[i] + below[j], totals[i] + totals[j]
            with np.errstate(divide="ignore", invalid="ignore"):
                w = tree.lengths * weight(both, individuals, everybody)
            w[(both == 0) | ~np.isfinite(w)] = 0
            found[i, j] = (w * difference).sum() / (w * both).sum()
    return found


@pytest.mark.parametrize("variant", ["weighted", "weighted-normalized", "unweighted"])
def test_as_scikit_bio_has_it(phylogeny, counts, variant):
    tree = TreeNode.read(io.StringIO(phylogeny.to_newick()))
    options = {"normalized": True} if variant == "weighted-normalized" else {}
    metric = "unweighted_unifrac" if variant == "unweighted" else "weighted_unifrac"
    theirs = beta_diversity(
        metric, counts, taxa=phylogeny.names, tree=tree, validate=False, **options
    )
    for rows in (counts, sparse.csr_array(counts)):
        ours = phylogeny.unifrac(rows, variant)
        np.testing.assert_allclose(ours, theirs.data, rtol=0, atol=1e-13)
    assert ours[3, 7] == 0
    np.testing.assert_allclose(ours[3, 8], 0, atol=1e-15)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_generalized_is_its_formula(phylogeny, counts, alpha):
    expected = by_formula(phylogeny, counts, lambda both, *_: both ** (alpha - 1.0))
    ours = phylogeny.unifrac(counts, "generalized", alpha=alpha)
    np.testing.assert_allclose(ours, expected, atol=1e-13)
    assert (ours == ours.T).all()
    if alpha == 1:
        np.testing.assert_allclose(
            ours, phylogeny.unifrac(counts, "weighted-normalized"), atol=1e-13
        )


def test_variance_adjusted_is_its_formula(phylogeny, counts):
    expected = by_formula(phylogeny, counts, lambda _, m, mt: 1 / np.sqrt(m * (mt - m)))
    np.testing.assert_allclose(phylogeny.unifrac(counts, "variance-adjusted"), expected, atol=1e-12)


@pytest.mark.parametrize(
    "variant", ["weighted", "weighted-normalized", "unweighted", "generalized", "variance-adjusted"]
)
def test_units_do_not_matter(phylogeny, counts, variant):
    """Neither of counts nor, where distances are ratios, of lengths."""
    expected = phylogeny.unifrac(counts, variant)
    for size in (2.0**-600, 2.0**600):
        assert (phylogeny.unifrac(size * counts, variant) == expected).all()
    if variant != "weighted":
        for size in (2.0**-600, 2.0**600):
            assert (phylogeny.scaled(size).unifrac(counts, variant) == expected).all()


@pytest.mark.parametrize(
    "variant", ["weighted", "weighted-normalized", "unweighted", "generalized", "variance-adjusted"]
)
def test_frames_keep_their_names_and_may_lack_tips(phylogeny, counts, variant):
    kept = np.flatnonzero(counts.sum(axis=0))[::-2]
    table = counts[:, kept]
    rows = np.flatnonzero(table.sum(axis=1))
    frame = pd.DataFrame(
        table[rows], columns=[f"t{k}" for k in kept], index=[f"s{k}" for k in rows]
    )
    whole = np.zeros((len(rows), TIPS))
    whole[:, kept] = table[rows]
    with pytest.warns(tp.MissingColumnsWarning, match="30 of 60 points have no column"):
        found = phylogeny.unifrac(frame, variant)
    assert list(found.index) == list(found.columns) == list(frame.index)
    assert (found.to_numpy() == phylogeny.unifrac(whole, variant, n_jobs=1)).all()


def test_what_makes_no_sense_is_refused(phylogeny, counts):
    for alpha in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            phylogeny.unifrac(counts, "generalized", alpha=alpha)
    with pytest.raises(ValueError, match="variance-adjusted"):
        phylogeny.unifrac(counts, "weighed")
    with pytest.raises(ValueError, match="2 of 3 columns name no point, such as x, y"):
        phylogeny.unifrac(pd.DataFrame([[1, 2, 3]], columns=["t1", "x", "y"]))
    with pytest.raises(ValueError, match="t1 is there twice"):
        phylogeny.unifrac(pd.DataFrame([[1, 2]], columns=["t1", "t1"]))
