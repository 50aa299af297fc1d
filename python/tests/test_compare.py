"""`compare`: error and time of every method."""

import numpy as np
import pytest
import treeport as tp


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)), rng.poisson(0.3, size=(50, 40)) + np.eye(50, 40)


def test_rows_picture_and_advice(data, tmp_path):
    words, documents = data
    found = tp.compare(documents, words, methods=["tree", "arcs", "mean-label"], n_pairs=80)
    rows = {row["method"]: row for row in found.rows}
    assert set(rows) == {"tree", "arcs", "mean-label", "exact"}
    errors = [row["scaled_error"] for row in found.rows]
    assert errors == sorted(errors) and rows["exact"]["error"] == 0
    # Bounds of so few words may be exact, too, and then the faster of both is on the front.
    assert any(row["front"] and row["scaled_error"] == 0 for row in found.rows)
    assert 0 < rows["tree"]["scaled_error"] < rows["mean-label"]["scaled_error"]
    assert rows["tree"]["certified_width"] is None and rows["arcs"]["certified_width"] >= 0
    assert found.advice.startswith("Solve exactly: all 1,225 pairs take about")
    assert "●" in repr(found) and found.advice in repr(found)
    assert found._repr_html_().startswith("<svg")
    found.save_svg(tmp_path / "front.svg")
    assert (tmp_path / "front.svg").read_text(encoding="utf-8") == found.to_svg()
    frame = found.to_frame()
    assert frame.loc["exact", "error"] == 0 and frame["pair_seconds"].min() >= 0


def test_the_same_labels_give_the_same_errors(data):
    words, documents = data
    twice = [tp.compare(documents, words, methods="slices", n_pairs=60) for _ in range(2)]
    errors = [[row["error"] for row in found.rows] for found in twice]
    assert errors[0] == errors[1]


def test_clouds_and_costs():
    rng = np.random.default_rng(1)
    clouds = tp.Clouds([rng.normal(size=(6, 2)) for _ in range(20)])
    assert len(tp.compare(clouds, methods=["average"], n_pairs=30).rows) == 2
    cost = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]]
    rows = tp.compare(rng.random((9, 3)), cost=cost, n_pairs=20).rows
    assert "quadtree" not in {row["method"] for row in rows}, "it needs coordinates"


def test_what_is_wrong_is_said(data, tmp_path):
    words, documents = data
    with pytest.raises(ValueError, match="magic"):
        tp.compare(documents, words, methods=["magic"])
    with pytest.raises(ValueError, match="n_pairs is 1"):
        tp.compare(documents, words, n_pairs=1)
    with pytest.raises(FileNotFoundError, match="cannot write"):
        tp.compare(documents, words, methods=["tree"], n_pairs=20).save_svg(tmp_path / "no" / "a")
