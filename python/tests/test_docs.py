"""Examples run, and types hold."""

import doctest
import importlib
import pathlib
import pkgutil
import re
import runpy
import subprocess
import sys

import pytest
import treeport
from readme import ROOT, run_readme

HERE = pathlib.Path(__file__).parent
# What needs PyTorch is tested where that is installed, examples included (`test_torch.py`).
MODULES = [
    m.name
    for m in pkgutil.walk_packages(treeport.__path__, "treeport.")
    if not m.name.endswith(("cuda", "._torch", "treeport.torch"))
]
EXAMPLES = sorted((HERE.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    for name in treeport.__all__:
        thing = getattr(treeport, name)
        assert thing.__doc__ or name.startswith("__"), name
        for part, method in vars(thing).items() if isinstance(thing, type) else []:
            if not part.startswith("_"):
                assert method.__doc__, f"{name}.{part}"


PAGES = [
    "README.md",
    "docs/index.md",
    "docs/TOUR.md",
    "docs/CLOUDS.md",
    "docs/CLUSTER.md",
    "docs/FROM_POT.md",
    "docs/FROM_ENERGYFLOW.md",
    "docs/FROM_GUDHI.md",
    "docs/NETWORKS.md",
    "docs/NEW_POINTS.md",
    "docs/SAMPLING.md",
    "docs/SEARCH.md",
    "docs/TEXTS.md",
    "docs/TWO_SAMPLES.md",
]


# POT passes them to SciPy.
@pytest.mark.filterwarnings("ignore:scipy.optimize. The `disp` and `iprint`:DeprecationWarning:ot")
@pytest.mark.parametrize("page", PAGES)
def test_pages_run(page):
    run_readme(page)


def test_the_page_of_cells_and_microbes_runs():
    for package in ("anndata", "skbio"):
        pytest.importorskip(
            package, reason=f"{package} is not installed; `pip install {package}` adds it"
        )
    with pytest.warns(treeport.MissingColumnsWarning, match="2 of 6 points have no column"):
        run_readme("docs/CELLS_AND_MICROBES.md")


def test_the_readme_quotes_the_page_of_figures():
    rows = [
        line
        for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    page = (ROOT / "docs" / "FIGURES.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 8, "a head, a line and six figures"
    for row in rows:
        assert row.replace("](docs/", "](") in page


def test_the_home_page_shows_the_code_of_the_readme():
    def python(page):
        return re.findall(
            r"^```python\n.*?^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S
        )

    assert python("docs/index.md") == python("README.md") != []


def test_the_readme_is_short_and_has_two_commands():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 100
    assert [line.split("  ")[0] for line in lines if line.startswith("cargo ")] == [
        "cargo run --release -- demo",
        "cargo xtask test",
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "-p", "treeport"],
        ["mypy", str(HERE / "typed.py")],
        ["mypy.stubtest", "treeport._core"],
    ],
    ids=["package", "use", "stubs"],
)
def test_types(command):
    module, *rest = command
    config = "--mypy-config-file" if module == "mypy.stubtest" else "--config-file"
    settings = HERE.parent / "pyproject.toml"
    whole = [sys.executable, "-m", module, config, settings, *rest]
    done = subprocess.run(whole, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
