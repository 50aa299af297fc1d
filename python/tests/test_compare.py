"""The script behind `cargo xtask bench-peers`: what it says, what it writes, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "crates" / "treeport-lab" / "python"
sys.path.insert(0, str(SCRIPTS))
import bench_compare
import compare_questions as questions

SCRIPT = SCRIPTS / "bench_compare.py"


def test_a_question_is_answered_by_what_is_installed(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, SCRIPT, "--only", "partial", "--repeat", "0", "--json", figures]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text())
    assert [row["package"] for row in found["rows"]] == ["treeport", "POT"]
    assert [row["values"] for row in found["rows"]] == ["agrees", "agrees"]
    assert found["rows"][0]["ratio"] == 1 and all(row["seconds"] > 0 for row in found["rows"])
    assert done.stdout.count("half of the mass moved") == 1 and "| POT: partial_wasserstein2 | agrees |" in done.stdout
    missing = [line for line in done.stderr.splitlines() if line.startswith("without ")]
    assert len(missing) == len(found["missing"]) and not {"treeport", "POT", "SciPy"} & set(found["missing"])
    assert list(tmp_path.iterdir()) == [figures]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_writes_nothing(tmp_path, number):
    command = [sys.executable, SCRIPT, "--only", "diagrams", "--json", tmp_path / "figures.json"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert any(line.startswith("diagrams: ") for line in child.stderr), "it has begun"
        child.send_signal(number)
        printed, said = child.communicate()
    assert (child.returncode, printed) == (130, "")
    assert said.endswith("stopped; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_values_that_differ_are_said_to():
    ours = np.array([1.0, 2.0])
    for theirs, words in [
        ([1.0, 2.0 + 1e-9], "agrees"),
        ([1.0, 2.2], "up to 10 % above"),
        ([0.9, 2.0], "up to 5 % below"),
        ([0.9, 2.2], "up to 10 % off"),
        ([1.0], "(1,) values, not (2,)"),
    ]:
        assert bench_compare.agreement(np.array(theirs), ours, 1e-8)[0] == words


def test_every_question_has_our_answer_first_and_known_packages():
    for question in questions.QUESTIONS:
        assert question.ways[0].package == "treeport", question.name
        assert {way.package for way in question.ways} <= set(questions.PACKAGES)
    with pytest.raises(Exception, match="there is no question lien; there are small, "):
        bench_compare.names("line,lien")


def test_all_nonsense_is_refused_by_us(tmp_path):
    bench_compare.refuse(tmp_path, "treeport")
    found = json.loads((tmp_path / "found.json").read_text())
    assert {found[name] for name in questions.NONSENSE} == {"error"}
