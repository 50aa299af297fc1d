"""What notebooks show."""

import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest
import treeport as tp
from treeport._progress import Bar


def texts(html):
    """The page parses as XML, and says this."""
    return " ".join(ET.fromstring(html).itertext())


def test_trees_and_forests_are_shown(rng):
    tree = tp.Tree.from_newick("((cat:1,dog:1.5):2,'<b>R&D</b>':3);")
    page = tree._repr_html_()
    said = texts(page)
    assert "cat" in said and "<b>R&D</b>" in said and "additive tree" in said
    assert "<b>R" not in page  # names are no markup
    large = tp.linkage(points=rng.normal(size=(2000, 3)))
    assert "ultrametric tree" in texts(large._repr_html_()) and len(large._repr_html_()) < 20_000
    assert " more" in texts(large._repr_html_())
    forest = tp.Forest([tree, tree.scaled(2)], weights=[1, 3])
    assert "tree 2, which has the largest weight: 75.0 %" in texts(forest._repr_html_())
    for odd in (tp.Tree([0], [0.0]), tp.Tree([2, 2, 2], [0.0, 0.0, 0.0])):
        assert "nan" not in odd._repr_html_() and "inf" not in odd._repr_html_()


@pytest.mark.parametrize("method", ["auto", "additive", "average", "forest"])
def test_what_is_fitted_is_shown(words, documents, tmp_path, method, options_of):
    tw = tp.TreeWasserstein(words, method=method, **options_of(method, epochs=2))
    assert "<style>" in tw._repr_mimebundle_()["text/html"]  # scikit-learn's diagram
    page = tw.fit(documents)._repr_mimebundle_()["text/html"]
    said = texts(page)
    assert "<style>" not in page and method in said and f"{tw.n_pairs_:,}" in said
    if method == "auto":
        assert f"{100 * tw.stage_errors_[tw.stage_]:.1f} %" in said
    assert ("mean of" in said) == hasattr(tw, "forest_")
    assert page == tw._repr_html_()
    tw.save(tmp_path / "model.tree")
    assert "TreeWasserstein" in texts(tp.load(tmp_path / "model.tree")._repr_html_())


def test_bars_change_in_place_where_there_is_a_notebook(monkeypatch, capsys):
    shown = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    place = SimpleNamespace(display=lambda *_, **__: handle)
    monkeypatch.setitem(sys.modules, "IPython.display", place)
    with Bar("fitting") as bar:
        bar("epochs", 5, 10)
    assert shown[0].startswith("epochs  50%") and shown[-1].startswith("fitting done in")
    assert capsys.readouterr().err == ""
    shell.kernel = None
    with Bar("fitting") as bar:
        bar("epochs", 5, 10)
    assert "\r" in capsys.readouterr().err and len(shown) == 2
