"""All pairs by threads, and by Dask with workers of one thread each: ``python bench_dask.py [rows] [words]``.

Blocks stay on the workers, as they do on their way to files; the last column has them brought here as well. Every table is
compared with that of one thread, bit for bit.
"""

import sys
import time

import numpy as np
import treeport as tp
import treeport.dask as td
from dask.distributed import Client, LocalCluster, wait
from scipy import sparse

CHUNKS = 1000


def documents(rng, count, words, support):
    """Rows of equal masses at words that are drawn with frequencies like those of a language."""
    often = 1 / np.arange(2, words + 2)
    drawn = rng.choice(words, size=(count, support), p=often / often.sum())
    start = np.arange(0, count * support + 1, support)
    rows = sparse.csr_array((np.full(count * support, 1 / support), drawn.ravel(), start), shape=(count, words))
    rows.sum_duplicates()
    return rows


def seconds(work):
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def main():
    count, words = (int(word) for word in [*sys.argv[1:], *["6000", "5000"][len(sys.argv) - 1 :]])
    rng = np.random.default_rng(0)
    tree = tp.linkage(points=rng.normal(size=(words, 8)))
    rows, pairs = documents(rng, count, words, 100), count * (count - 1) / 2
    judge, one = seconds(lambda: tree.pairwise(rows, n_jobs=1))
    _, two = seconds(lambda: tree.pairwise(rows, n_jobs=2))
    print(f"{count} rows of 100 words out of {words}, blocks of {CHUNKS} rows")
    print(f"{'':<20}{'pairs/s':>12}{'over 1 thread':>15}{'over 1 worker':>15}{'brought here':>14}")
    for name, spent in [("1 thread", one), ("2 threads", two)]:
        print(f"{name:<20}{pairs / spent:>12,.0f}{one / spent:>15.2f}")
    single = None
    for workers in [1, 2, 4]:
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster) as client:
            client.run(lambda: __import__("treeport.dask"))
            made, spent = seconds(lambda: wait(td.pairwise(client, tree, rows, chunks=CHUNKS).persist()))
            lazy = td.pairwise(client, tree, rows, chunks=CHUNKS)
            del made
            found, gathered = seconds(lazy.compute)
            assert np.array_equal(found, judge), "the same bits"
        single = single or spent
        name = f"{workers} worker{'s' if workers > 1 else ''}"
        brought = f"{pairs / gathered:,.0f}"
        print(f"{name:<20}{pairs / spent:>12,.0f}{one / spent:>15.2f}{single / spent:>15.2f}{brought:>14}")


if __name__ == "__main__":
    main()
