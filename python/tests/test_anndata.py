"""Groups of cells as measures."""

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.spatial.distance import cdist

anndata = pytest.importorskip(
    "anndata", reason="anndata is not installed; `pip install anndata` adds it"
)


@pytest.fixture
def cells(rng):
    kinds = np.array(["T", "B", "NK"])[rng.integers(3, size=120)]
    obs = pd.DataFrame(
        {
            "cell_type": pd.Categorical(kinds, categories=["T", "none", "B", "NK"]),
            "donor": rng.integers(10, 14, size=120),
            "weight": rng.random(120),
        },
        index=[f"cell{k}" for k in range(120)],
    )
    obs.loc["cell7", "cell_type"] = np.nan
    shift = np.where(kinds == "B", 4.0, 0.0)[:, None]
    made = anndata.AnnData(rng.poisson(2.0, size=(120, 9)).astype(np.float32), obs=obs)
    made.obsm["X_pca"] = rng.normal(size=(120, 5)) + shift
    return made


def test_a_group_is_an_even_spread_over_its_cells(cells):
    measures = tp.Measures.from_anndata(cells, "cell_type")
    assert list(measures.ids) == ["T", "B", "NK"]  # in the order of categories; "none" has no cells
    assert measures.names == list(cells.obs_names)
    rows = measures._rows().toarray()
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    for kind, row in zip(measures.ids, rows):
        members = (cells.obs["cell_type"] == kind).to_numpy()
        assert ((row > 0) == members).all() and len(set(row[members])) == 1
    weighted = tp.Measures.from_anndata(cells, "donor", weights="weight")
    assert list(weighted.ids) == ["10", "11", "12", "13"]
    members = (cells.obs["donor"] == 12).to_numpy()
    expected = np.where(members, cells.obs["weight"], 0)
    np.testing.assert_allclose(weighted._rows().toarray()[2], expected / expected.sum())
    same = tp.Measures.from_anndata(cells, "donor", weights=cells.obs["weight"].to_numpy())
    assert (same._rows() != weighted._rows()).nnz == 0


def test_distances_of_groups_have_their_names(cells, tmp_path):
    measures = tp.Measures.from_anndata(cells, "cell_type")
    tw = tp.TreeWasserstein(cells.obsm["X_pca"], epochs=5).fit(measures)
    assert tw.model_.names == list(cells.obs_names)
    found = tw.pairwise(measures)
    assert list(found.index) == list(found.columns) == ["T", "B", "NK"]
    cost = cdist(cells.obsm["X_pca"], cells.obsm["X_pca"])
    exact = [
        tp.emd(*measures._rows().toarray()[[i, j]], cost=cost) for i, j in [(0, 1), (0, 2), (1, 2)]
    ]
    np.testing.assert_allclose(found.to_numpy()[[0, 0, 1], [1, 2, 2]], exact, rtol=0.2)
    assert found.loc["T", "B"] > 2 * found.loc["T", "NK"]
    # It stands for its coordinates, and its cells may be some of those that were fitted.
    again = tp.TreeWasserstein(cells, epochs=5).fit(measures)
    assert again.model_ == tw.model_
    some = cells[cells.obs["donor"] != 12][::-1]
    with pytest.warns(tp.MissingColumnsWarning, match="30 of 120 points have no column"):
        part = tw.pairwise(tp.Measures.from_anndata(some, "donor"))
    whole = tw.pairwise(tp.Measures.from_anndata(cells, "donor"))
    np.testing.assert_allclose(part, whole.drop(index="12", columns="12"), atol=1e-12)
    # Where AnnData keeps such results.
    cells.uns["cell_type_distances"] = found
    cells.obsp["profile_distances"] = (
        tp.linkage(points=np.arange(9.0)).pairwise(cells, normalize=True).to_numpy()
    )
    cells.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(
        back.uns["cell_type_distances"], found, check_index_type=False, check_column_type=False
    )
    assert back.obsp["profile_distances"].shape == (120, 120)


def test_few_cells_of_large_groups_are_drawn(cells):
    drawn = [
        tp.Measures.from_anndata(cells, "cell_type", n_cells=5, random_state=seed)
        for seed in (0, 0, 1)
    ]
    counts = [np.diff(measures._rows().indptr).tolist() for measures in drawn]
    assert counts == [[5, 5, 5]] * 3
    rows = [measures._rows() for measures in drawn]
    assert (rows[0] != rows[1]).nnz == 0 and (rows[0] != rows[2]).nnz > 0
    np.testing.assert_allclose(rows[0].sum(axis=1), 1)
    whole = tp.Measures.from_anndata(cells, "cell_type")._rows()
    assert ((rows[0] > 0).toarray() <= (whole > 0).toarray()).all()
    many = tp.Measures.from_anndata(cells, "cell_type", n_cells=1000)._rows()
    assert (many != whole).nnz == 0


def test_what_is_not_there_is_named(cells):
    with pytest.raises(
        ValueError,
        match="obs has no column 'celltype'; its columns: 'cell_type', 'donor', 'weight'",
    ):
        tp.Measures.from_anndata(cells, "celltype")
    with pytest.raises(ValueError, match=r"weights have shape \(3,\), expected \(120,\)"):
        tp.Measures.from_anndata(cells, "donor", weights=[1, 2, 3])
    cells.obs.loc["cell3", "weight"] = -1.0
    with pytest.raises(ValueError, match="weight of cell cell3 is -1.0"):
        tp.Measures.from_anndata(cells, "donor", weights="weight")
    with pytest.raises(ValueError, match="n_cells is 0"):
        tp.Measures.from_anndata(cells, "donor", n_cells=0)
    with pytest.raises(ValueError, match="no cell has both"):
        tp.Measures.from_anndata(cells, "donor", weights=np.zeros(120))
    with pytest.raises(TypeError, match="of type ndarray; give an AnnData"):
        tp.Measures.from_anndata(np.eye(3), "donor")
