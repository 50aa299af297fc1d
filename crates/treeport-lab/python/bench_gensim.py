"""The nearest documents by treeport beside gensim's `wmdistance`, which is asked about every document.

    treeport-lab bench gensim -- DATA/twitter

DATA is a folder with `embeddings.npy` and `docs.npz`, read as for `bench ot-estimators`. Documents are drawn
at random into queries and a collection. gensim has no index: the word mover's distance of a query to every
document is one call each, solved by POT. Its distances come from vectors in single precision, so
lists are compared by distances, to 1e-4. All on one thread; times are those of the processor, which other work changes less.
"""

import argparse
import time
from pathlib import Path

from bench_ot_estimators import documents, measures

import numpy as np
from gensim.models import KeyedVectors

import treeport as tp

QUERIES = 50
K = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
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
    neighbors = tp.WassersteinNeighbors(points=points, n_jobs=1).fit(measures(collection, len(points)))
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
