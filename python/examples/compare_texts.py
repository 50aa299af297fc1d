"""Does transport pay on real texts? The table of docs/TEXTS.md, from the data in TREEPORT_DATA.

Each folder there has word counts (docs.npz), word vectors (embeddings.npy) and classes (labels.npy).
"""

import os
import time
from pathlib import Path

import numpy as np
import treeport as tp
from scipy import sparse

SETS = {"bbcsport": 500, "bbcsport_w2v1k": 737, "twitter": 1500, "ohsumed": 700}

if "TREEPORT_DATA" not in os.environ:
    print("set TREEPORT_DATA to a folder with", ", ".join(SETS))
    SETS = {}
elif "PYTEST_CURRENT_TEST" in os.environ:
    SETS = {"bbcsport_w2v1k": 100}

for name, count in SETS.items():
    folder = Path(os.environ["TREEPORT_DATA"], name)
    classes = np.load(folder / "labels.npy")
    chosen = np.random.default_rng(0).permutation(len(classes))[:count]
    documents = sparse.csr_array(sparse.load_npz(folder / "docs.npz"))[chosen]
    used = np.flatnonzero(documents.sum(axis=0))
    vectors = np.load(folder / "embeddings.npy").astype(float)[used]
    begun = time.process_time()
    found = tp.compare_neighbors(documents[:, used], classes[chosen], points=vectors)
    print(f"{count} of {name}: {time.process_time() - begun:.0f} s of processor time\n{found}\n")
