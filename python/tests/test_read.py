"""Measures from files: every format gives the same, and what is wrong is named with its file."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse

FRAME = pd.DataFrame([[1.0, 0, 2], [0, 3, 0.5]], index=["gut", "skin"], columns=["a", "b", "c"])


def check(measures, named=True):
    assert isinstance(measures, tp.Measures)
    assert (measures._rows().toarray() == FRAME.to_numpy()).all()
    if named:
        assert list(measures.ids) == ["gut", "skin"] and measures.names == ["a", "b", "c"]
    else:
        assert measures.ids is None and measures.names is None


def test_text_and_arrays(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv")
    FRAME.to_csv(tmp_path / "a.csv.gz")
    FRAME.to_csv(tmp_path / "a.tsv", sep="\t")
    for name in ("a.csv", "a.csv.gz", "a.tsv"):
        check(tp.Measures.read(tmp_path / name))
    FRAME.T.to_csv(tmp_path / "b.tsv", sep="\t", index_label="#OTU ID")
    check(tp.Measures.read(str(tmp_path / "b.tsv"), transpose=True))
    np.save(tmp_path / "a.npy", FRAME.to_numpy())
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix(FRAME.to_numpy()))
    for name in ("a.npy", "a.npz"):
        check(tp.Measures.read(tmp_path / name), named=False)


def test_biom_of_both_versions(tmp_path):
    biom = pytest.importorskip("biom", reason="it comes with scikit-bio")
    h5py = pytest.importorskip("h5py", reason="it comes with scikit-bio")
    table = biom.Table(FRAME.T.to_numpy(), list(FRAME.columns), list(FRAME.index))
    text = table.to_json("us")
    (tmp_path / "a.biom").write_text(text)
    (tmp_path / "a.biom.gz").write_bytes(gzip.compress(text.encode()))
    with h5py.File(tmp_path / "h.biom", "w") as file:
        table.to_hdf5(file, "us")
    for name in ("a.biom", "a.biom.gz", "h.biom"):
        check(tp.Measures.read(tmp_path / name))
    tree = tp.Tree.from_newick("((c:1,b:1):2,a:4);")
    found = tree.unifrac(tp.Measures.read(tmp_path / "h.biom"))
    pd.testing.assert_frame_equal(found, tree.unifrac(FRAME))
    (tmp_path / "a.biom").write_text(text[:-30])
    with pytest.raises(ValueError, match=r"a.biom: biom, line \d+, column \d+: EOF"):
        tp.Measures.read(tmp_path / "a.biom")
    with h5py.File(tmp_path / "h.biom", "r+") as file:
        file["sample/matrix/indices"][0] = 9
    with pytest.raises(ValueError, match="h.biom: the matrix of samples is damaged"):
        tp.Measures.read(tmp_path / "h.biom")
    with h5py.File(tmp_path / "h.biom", "r+") as file:
        del file["sample/ids"]
    with pytest.raises(ValueError, match="h.biom: it is HDF5, but no table of BIOM 2.1"):
        tp.Measures.read(tmp_path / "h.biom")
    (tmp_path / "h.biom").write_bytes((tmp_path / "h.biom").read_bytes()[:600])
    with pytest.raises(OSError, match="h.biom: the file of HDF5 is damaged, so copy it again"):
        tp.Measures.read(tmp_path / "h.biom")


def test_samples_without_counts_go_by_their_ids(tmp_path):
    biom = pytest.importorskip("biom", reason="it comes with scikit-bio")
    h5py = pytest.importorskip("h5py", reason="it comes with scikit-bio")
    table = biom.Table(np.array([[1.0, 0, 0], [2, 0, 0]]), ["a", "b"], ["gut", "skin", "hair"])
    (tmp_path / "a.biom").write_text(table.to_json("us"))
    with pytest.raises(ValueError, match="a.biom: row skin has no mass; drop it"):
        tp.Measures.read(tmp_path / "a.biom")
    with h5py.File(tmp_path / "h.biom", "w") as file:
        table.to_hdf5(file, "us")
    many = "2 of 3 rows have no mass, such as skin, hair; drop them"
    with pytest.raises(ValueError, match=f"h.biom: {many}"):
        tp.Measures.read(tmp_path / "h.biom")
    with pytest.raises(ValueError, match=many):
        tp.Measures(table.matrix_data.T, ids=table.ids())


def test_h5ad(tmp_path):
    anndata = pytest.importorskip(
        "anndata", reason="anndata is not installed; `pip install anndata` adds it"
    )
    cells = anndata.AnnData(sparse.csr_matrix(FRAME.to_numpy()))
    cells.obs_names, cells.var_names = list(FRAME.index), list(FRAME.columns)
    cells.write_h5ad(tmp_path / "a.h5ad")
    check(tp.Measures.read(tmp_path / "a.h5ad"))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed; `pip install pyarrow` adds it")
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.reset_index().to_parquet(tmp_path / "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        check(tp.Measures.read(tmp_path / name))
    FRAME.assign(b=[np.nan, 1]).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="c.parquet: row gut, column b: there is no number"):
        tp.Measures.read(tmp_path / "c.parquet")
    FRAME.assign(b=["x", "y"]).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(
        ValueError, match="d.parquet: column b is of type str|object; masses are numbers"
    ):
        tp.Measures.read(tmp_path / "d.parquet")


def test_names_and_first_bytes_tell_as_for_the_command_line(tmp_path):
    text = FRAME.to_csv().encode()
    for name, content in [("A.CSV", text), ("none", text), ("zipped", gzip.compress(text))]:
        (tmp_path / name).write_bytes(content)
        check(tp.Measures.read(tmp_path / name))
    np.save(tmp_path / "a.npy", FRAME.to_numpy(dtype=float))
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress((tmp_path / "a.npy").read_bytes()))
    assert tp.Measures.read(tmp_path / "a.npy.gz").shape == FRAME.shape


def test_what_is_wrong_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,a,b\ngut,1,2\nskin,NA,1\n")
    with pytest.raises(ValueError, match=r"a.csv: csv, line 3, column 2 \(`a` of `skin`\)"):
        tp.Measures.read(path)
    path.write_text("id,a,b\ngut,1,-2\n")
    with pytest.raises(ValueError, match=r"a.csv: gut has mass -2 at b \(measure 0, point 1\)"):
        tp.Measures.read(path)
    path.write_text("id,a,b\ngut,1,2\nskin,0,0\n")
    with pytest.raises(ValueError, match="a.csv: row skin has no mass; drop it"):
        tp.Measures.read(path)
    with pytest.raises(FileNotFoundError, match="cannot read `.*none.csv`: [^(]*$"):
        tp.Measures.read(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError):
        tp.Measures.read(tmp_path / "none.biom")
    with pytest.raises(
        ValueError,
        match="a.xlsx: cannot tell its format; name it .npy, .npz, .csv, .tsv, .biom, .h5ad or .parquet",
    ):
        tp.Measures.read(tmp_path / "a.xlsx")
    np.save(tmp_path / "a.npy", np.eye(2))
    with pytest.raises(ValueError, match="a.npy: transpose is set; it is for tables of text"):
        tp.Measures.read(tmp_path / "a.npy", transpose=True)


@pytest.mark.parametrize(
    "name, package", [("a.parquet", "pandas"), ("a.h5ad", "anndata"), ("a.biom", "h5py")]
)
def test_packages_that_are_missing_are_named(tmp_path, monkeypatch, name, package):
    (tmp_path / name).write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"is read by {package}: `pip install {package}`"):
        tp.Measures.read(tmp_path / name)
