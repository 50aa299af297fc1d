"""Runs the Python of the README in one piece: ``python readme.py``. Needs treeport and nothing else."""

import os
import pathlib
import re
import tempfile

ROOT = pathlib.Path(__file__).parents[2]


def run_readme(page="README.md"):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert blocks, f"{page} has no Python"
    names = {}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # it writes files
        try:
            exec("\n".join(blocks), names)
        finally:
            os.chdir(before)  # or the next page would fail, too
    return names


if __name__ == "__main__":
    run_readme()
    import treeport

    print(f"treeport {treeport.__version__} runs the README")
