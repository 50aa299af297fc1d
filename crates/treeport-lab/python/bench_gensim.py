"""Nearest documents by treeport and by gensim's `wmdistance` over all documents.

    treeport-lab bench gensim -- DATA/twitter

DATA is a folder with `embeddings.npy` and `docs.npz`. Distinct documents are drawn at random into queries and a collection.
gensim has no index: the distance of a query to every document is one call each, solved by POT. It uses vectors in single
precision, so distances of results are compared to 1e-4. One thread; processor time, which other work changes less.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import treeport as tp
from gensim.models import KeyedVectors

QUERIES = 50
K = 10


def documents(folder):
    """Word vectors, and documents as counts of words, each document once."""
    points = np.load(folder / "embeddings.npy").astype(np.float64)
    kept = folder / "docs_with_stop_words.npz"
    docs = sp.csr_matrix(sp.load_npz(kept if kept.exists() else folder / "docs.npz"))
    rows = {}
    for row in docs:
        counts = np.rint(row.data / row.data.min()).astype(int)
        rows.setdefault((*row.indices, *counts), (row.indices, counts))
    return points, list(rows.values())


def measures(rows, words):
    """Rows of word counts as measures of total mass 1."""
    indptr = np.cumsum([0] + [len(words_of) for words_of, _ in rows])
    indices = np.concatenate([words_of for words_of, _ in rows])
    data = np.concatenate([counts / counts.sum() for _, counts in rows])
    return sp.csr_matrix((data, indices, indptr), shape=(len(rows), words))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--judged", type=int, default=3, help="queries that gensim is asked")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    points, rows = documents(arguments.data)
    order = np.random.default_rng(arguments.seed).permutation(len(rows))
    queries = [rows[i] for i in order[:QUERIES]]
    collection = [rows[i] for i in order[QUERIES:]]
    vectors = KeyedVectors(points.shape[1])
    vectors.add_vectors([str(word) for word in range(len(points))], points.astype(np.float32))
    text = lambda row: [str(word) for word in np.repeat(*row)]
    texts = [text(row) for row in collection]

    begun = time.process_time()
    neighbors = tp.WassersteinNeighbors(points=points, n_jobs=1).fit(
        measures(collection, len(points))
    )
    built = time.process_time() - begun
    batch = measures(queries, len(points))
    times = []
    for _ in range(3):
        begun = time.process_time()
        distances, _ = neighbors.kneighbors(batch, K)
        times.append((time.process_time() - begun) / len(queries))
    ours = min(times)

    theirs = np.inf
    for query, ours_found in list(zip(queries, distances))[: arguments.judged]:
        asked = text(query)
        begun = time.process_time()
        found = np.sort([vectors.wmdistance(asked, other, norm=False) for other in texts])[:K]
        theirs = min(theirs, time.process_time() - begun)
        if not np.allclose(found, ours_found, rtol=1e-4, atol=1e-4):
            raise SystemExit(f"other distances: {found} by gensim, {ours_found} by treeport")
    print(f"{arguments.data.name}: {len(collection)} documents, k = {K}; index {built:.1f} s")
    print(f"treeport, exact: {1e3 * ours:.3f} ms a query (first batch {1e3 * times[0]:.3f})")
    print(
        f"gensim, every document: {1e3 * theirs:.0f} ms a query, the fastest of {arguments.judged}; "
        f"{theirs / ours:.0f} times as long; the same distances"
    )


if __name__ == "__main__":
    main()
