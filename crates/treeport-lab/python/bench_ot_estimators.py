"""Exact neighbors by treeport beside the pipelines of ot_estimators, by the definition of the latter.

    treeport-lab bench ot-estimators -- REPOSITORY DATA/twitter

REPOSITORY is a copy of github.com/ilyaraz/ot_estimators with its extension built as its README says
(`ot_estimators*.so` in its folder `python`); POT has to be installed. DATA is a folder with
`embeddings.npy` and `docs.npz`. Documents are drawn at random into queries and a collection; equal
documents and queries with two nearest ones (to 1e-4, for it works in single precision) are left out,
for its pipelines are judged by the number of the document. Those with Sinkhorn's method fail in its
copy of today unless it comes first. A pipeline's accuracy is the share of queries whose true nearest document it ends
with; its time is what it prints itself. All on one thread.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import scipy.sparse as sp

import treeport as tp

# Its script always asks a thousand queries.
ASKED = 1_000

# Methods, and candidates that each leaves, as shares of the collection.
PIPELINES = [
    ("quadtree-flowtree-exact", (0.3, 0.01)),
    ("quadtree-flowtree-exact", (0.5, 0.03)),
    ("flowtree-exact", (0.01,)),
    ("flowtree-exact", (0.03,)),
    ("flowtree-exact", (0.1,)),
]


def documents(folder):
    """Word vectors, and documents as counts of words, each document once."""
    points = np.load(folder / "embeddings.npy").astype(np.float64)
    kept = folder / "docs_with_stop_words.npz"
    docs = sp.csr_matrix(sp.load_npz(kept if kept.exists() else folder / "docs.npz"))
    rows, seen = [], set()
    for row in docs:
        counts = np.rint(row.data / row.data.min()).astype(int)
        key = (tuple(row.indices), tuple(counts))
        if key not in seen:
            seen.add(key)
            rows.append((row.indices, counts))
    return points, rows


def measures(rows, words):
    """Rows of word counts as measures of total mass 1."""
    indptr = np.cumsum([0] + [len(words_of) for words_of, _ in rows])
    indices = np.concatenate([words_of for words_of, _ in rows])
    data = np.concatenate([counts / counts.sum() for _, counts in rows])
    return sp.csr_matrix((data, indices, indptr), shape=(len(rows), words))


def lists(rows):
    """Documents as lists of words, a word as often as it occurs."""
    out = np.empty(len(rows), dtype=object)
    for i, (words_of, counts) in enumerate(rows):
        out[i] = [int(word) for word in np.repeat(words_of, counts)]
    return out


def pipeline(repository, folder, methods, candidates):
    """Accuracy and seconds a query of one of its pipelines."""
    names = "-".join(str(count) for count in candidates)
    command = [sys.executable, "pipeline.py", str(folder), methods, names, "3"]
    done = subprocess.run(command, cwd=repository / "python", capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    figure = lambda name: float(re.search(name + r":\s*([0-9.e-]+)", done.stdout).group(1))
    return figure("Final accuracy"), figure("Total time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    points, rows = documents(arguments.data)
    order = np.random.default_rng(arguments.seed).permutation(len(rows))
    asked = min(ASKED, len(rows) // 3)
    queries = [rows[i] for i in order[:asked]]
    collection = [rows[i] for i in order[asked:]]
    begun = time.perf_counter()
    neighbors = tp.WassersteinNeighbors(points=points, n_jobs=1)
    neighbors.fit(measures(collection, len(points)))
    built = time.perf_counter() - begun

    two, _ = neighbors.kneighbors(measures(queries, len(points)), 2)
    clear = two[:, 1] > two[:, 0] * (1 + 1e-4)
    queries = [query for query, one in zip(queries, clear) if one]
    batch = measures(queries, len(points))
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        _, nearest = neighbors.kneighbors(batch, 1)
        times.append((time.perf_counter() - begun) / len(queries))
    ours = min(times)
    print(f"{arguments.data.name}: {len(collection)} documents, {len(queries)} queries; index {built:.1f} s")
    print(f"treeport, exact: accuracy 1.000 (proved), {1e3 * ours:.3f} ms a query")

    again = [i % len(queries) for i in range(ASKED)]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "vocab.npy", points.astype(np.float32))
        np.save(Path(folder) / "dataset.npy", lists(collection), allow_pickle=True)
        np.save(Path(folder) / "queries.npy", lists([queries[i] for i in again]), allow_pickle=True)
        np.save(Path(folder) / "answers.npy", nearest[again].T)
        for methods, shares in PIPELINES:
            candidates = [max(1, round(share * len(collection))) for share in shares] + [1]
            accuracy, seconds = pipeline(arguments.repository, folder, methods, candidates)
            shown = "-".join(str(count) for count in candidates)
            print(
                f"{methods} {shown}: accuracy {accuracy:.3f}, {1e3 * seconds:.3f} ms a query, "
                f"{seconds / ours:.0f} times as long"
            )


if __name__ == "__main__":
    main()
