"""The first picture of a new user: ``python first_picture.py``. Needs treeport and nothing else."""

import pathlib
import sys
import tempfile
import time

begun = time.perf_counter()
import numpy as np  # noqa: E402
import treeport as tp  # noqa: E402

rng = np.random.default_rng(0)
points = rng.normal(size=(40, 2))
tw = tp.TreeWasserstein(points=points).fit(rng.poisson(0.3, size=(60, 40)) + np.eye(60, 40))
picture = tw.model_._repr_html_()  # what a notebook shows
assert "<svg" in picture
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "tree.html").write_text(picture, encoding="utf-8")
where = pathlib.Path(tp.__file__)
assert pathlib.Path(sys.prefix) in where.parents, f"{where} is not what was installed"
print(
    f"treeport {tp.__version__} ({tp.__commit__}): a picture after {time.perf_counter() - begun:.1f} s"
)
