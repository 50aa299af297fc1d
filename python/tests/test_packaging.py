"""What is shipped says who made it, under which terms, and which version it is."""

import importlib.metadata
import pathlib
import re

import pytest
import treeport
import yaml

ROOT = pathlib.Path(__file__).parents[2]
LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("name", LICENSES)
def test_the_wheel_carries_the_licenses(name):
    files = [file for file in importlib.metadata.files("treeport") if file.name == name]
    assert len(files) == 1, "in the folder of the installed package's metadata"
    # The source archive is made from this folder; its copy has to be the repository's.
    whole = (ROOT / name).read_bytes()
    assert files[0].locate().read_bytes() == whole
    assert (ROOT / "python" / name).read_bytes() == whole


def test_the_metadata_names_the_licenses():
    metadata = importlib.metadata.metadata("treeport")
    assert metadata["License-Expression"] == "MIT OR Apache-2.0"
    assert sorted(metadata.get_all("License-File")) == sorted(LICENSES)


def test_versions_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert treeport.__version__ == citation["version"] == importlib.metadata.version("treeport")
    assert citation["references"][0]["year"] == 2024


def test_the_commit_is_known_or_not():
    # A package that was made without git, from sources without a note, has none.
    assert treeport.__commit__ is None or re.fullmatch("[0-9a-f]{9,40}", treeport.__commit__)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_wait_to_be_asked(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    # `on` is a word for true in YAML.
    events = workflow[True]
    if path.stem == "ci":
        assert set(events) == {"push", "pull_request"} and events["push"] == {"branches": ["main"]}
        assert [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step][
            -1
        ] == "bash .ci/run"
    else:
        assert set(events) == {"workflow_dispatch", "push"}
        assert set(events["push"]) == {"tags"}
    for job in workflow["jobs"].values():
        assert job["steps"] and job["runs-on"]


def test_there_is_a_workflow_for_each_kind_of_release_and_one_that_warns():
    assert [path.stem for path in WORKFLOWS] == ["ci", "docs", "newest", "release", "wheels"]


def test_the_release_is_what_one_command_makes():
    workflow = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    )
    commands = [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert [command for command in commands if not command.startswith("rustup ")] == [
        "cargo xtask package"
    ]
    assert "secrets" not in str(workflow)
