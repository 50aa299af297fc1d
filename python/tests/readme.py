"""Runs the Python of the README in one piece: ``python readme.py``. Needs treeport and nothing else."""

import os
import pathlib
import re
import tempfile

README = pathlib.Path(__file__).parents[2] / "README.md"


def run_readme():
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks, "the README has no Python"
    names = {}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # it writes files
        exec("\n".join(blocks), names)
        os.chdir(before)
    return names


if __name__ == "__main__":
    run_readme()
    import treeport

    print(f"treeport {treeport.__version__} runs the README")
