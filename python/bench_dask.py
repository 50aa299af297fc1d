"""All pairs by threads, and by Dask with workers of one thread each: ``python bench_dask.py [rows] [words]``.

Blocks stay on the workers, as they do on their way to files; the last column has them brought here as well. "processors" is
the time of all processors over that of one thread, which a busy machine changes little. Every table is compared with that of
one thread, bit for bit.
"""

import sys
import time

import numpy as np
import treeport as tp
import treeport.dask as td
from dask.distributed import Client, LocalCluster, wait
from scipy import sparse

CHUNKS = 500


def documents(rng, count, words, support):
    """Rows of equal masses at words that are drawn with frequencies like those of a language."""
    often = 1 / np.arange(2, words + 2)
    drawn = rng.choice(words, size=(count, support), p=often / often.sum())
    start = np.arange(0, count * support + 1, support)
    rows = sparse.csr_array((np.full(count * support, 1 / support), drawn.ravel(), start), shape=(count, words))
    rows.sum_duplicates()
    return rows


def timed(work, processor_time, repeats=3):
    """What the work returns, and the shortest time it took by the clock, with that of processors."""
    runs = []
    for _ in range(repeats):
        begun, before = time.perf_counter(), processor_time()
        result = work()
        runs.append((time.perf_counter() - begun, processor_time() - before))
        result = result if len(runs) == repeats else None
    return result, *min(runs)


def main():
    given = [int(word) for word in sys.argv[1:]]
    count, words = [*given, *[6000, 5000][len(given) :]]
    rng = np.random.default_rng(0)
    tree = tp.linkage(points=rng.normal(size=(words, 8)))
    rows, pairs = documents(rng, count, words, 100), count * (count - 1) / 2
    judge, one, busy = timed(lambda: tree.pairwise(rows, n_jobs=1), time.process_time)
    print(f"{count} rows of 100 words out of {words}, blocks of {CHUNKS} rows")
    print(f"{'':<12}{'pairs/s':>12}{'over 1 thread':>15}{'over 1 worker':>15}{'processors':>12}{'brought here':>14}")

    def show(name, spent, used, *more):
        print(f"{name:<12}{pairs / spent:>12,.0f}{one / spent:>15.2f}", *more[:1] or [f"{'':>14}"], end="")
        print(f"{used / busy:>12.2f}", *more[1:])

    show("1 thread", one, busy)
    show("2 threads", *timed(lambda: tree.pairwise(rows, n_jobs=2), time.process_time)[1:])
    single = None
    for workers in [1, 2, 4]:
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster) as client:
            client.run(lambda: __import__("treeport.dask"))  # which takes a second

            def used():
                return sum(client.run(time.process_time).values())

            lazy = td.pairwise(client, tree, rows, chunks=CHUNKS)
            _, spent, processors = timed(lambda: wait(lazy.persist()) and None, used)
            found, brought, _ = timed(lazy.compute, used, 1)
            assert np.array_equal(found, judge), "the same bits"
        single = single or spent
        show(f"{workers} workers", spent, processors, f"{single / spent:>14.2f}", f"{pairs / brought:>13,.0f}")


if __name__ == "__main__":
    main()
