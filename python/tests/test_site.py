"""What puts the site together, without Sphinx."""

import importlib.util
import os
import pathlib

import pytest
import treeport

ROOT = pathlib.Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "site" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)


def test_every_page_has_its_place():
    docs = ROOT / "docs"
    written = {path.stem for path in build.pages()} - {"index"}
    scripts = {
        f"{folder}{path.stem}" for folder in build.SCRIPTS for path in (docs / folder).glob("*.py")
    } - {"tutorials/run"}
    made = {name.removesuffix(".md") for name in build.GENERATED}
    listed = [name for names in build.SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(written | scripts | made)


def test_links_are_those_of_the_site():
    site = build.pages()
    page = ROOT / "docs" / "HOW.md"

    def linked(text):
        return build.linked(text, page, site)

    assert linked("[a](../CHANGELOG.md#unreleased)") == "[a](CHANGELOG.md#unreleased)"
    assert linked("[a](PYTHON.md) [b](#here)") == "[a](PYTHON.md) [b](#here)"
    assert linked("[a](recipes/jets.py) [b](tutorials/jets.py#x)") == (
        "[a](recipes/jets.md) [b](tutorials/jets.md#x)"
    )
    assert linked("[a](https://example.org)") == "[a](https://example.org)"
    assert linked("the [examples](../python/examples)") == "the examples"
    with pytest.raises(SystemExit, match=r"HOW.md: NONE.md leads nowhere"):
        linked("[a](NONE.md)")


def test_drawings_go_into_the_page_and_take_its_color(tmp_path):
    page = ROOT / "docs" / "HOW.md"
    text = build.with_drawings("![a](drawings/tree.svg)\n\n![b](report.png)", page, tmp_path)
    assert text.startswith('<div class="drawing">\n<svg ')
    assert "<style>" not in text and "currentColor" in text
    assert text.endswith("![b](report.png)")
    assert (tmp_path / "report.png").is_file()


def test_references_have_our_methods_and_not_those_of_others():
    members = build.own_members(treeport.TreeWasserstein)
    assert {"fit", "estimate", "coupling", "transform"} <= set(members)
    assert "get_params" not in members and "set_fit_request" not in members
    assert "autofunction:: treeport.emd\n" in build.python_reference()


def test_the_repository_has_a_page_of_every_public_name():
    page, written = ROOT / "docs" / "PYTHON.md", build.python_index()
    if "TREEPORT_WRITE_DOCS" in os.environ:
        page.write_text(written, encoding="utf-8")
    hint = "`TREEPORT_WRITE_DOCS=1 python -m pytest python/tests/test_site.py` writes it again"
    assert page.read_text(encoding="utf-8") == written, hint
    assert "| `emd` | Computes the exact transport cost" in written
