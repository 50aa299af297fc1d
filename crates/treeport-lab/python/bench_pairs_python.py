"""All pairs by threads and Dask: ``treeport-lab bench pairs-python``.

Blocks of Dask stay on the workers, as when they are written to files; the last column includes their transfer to this process.
"processors" is the time of all processors over that of one thread, which a busy machine changes little. Tables of Dask must
equal the table of one thread bit for bit.
"""

import argparse
import importlib.util
import os
import time

import numpy as np
import treeport as tp
from scipy import sparse

CHUNKS = 500


def documents(rng, count, words, support):
    """Draws rows of equal masses at words with frequencies of a language."""
    often = 1 / np.arange(2, words + 2)
    drawn = rng.choice(words, size=(count, support), p=often / often.sum())
    start = np.arange(0, count * support + 1, support)
    rows = sparse.csr_array(
        (np.full(count * support, 1 / support), drawn.ravel(), start), shape=(count, words)
    )
    rows.sum_duplicates()
    return rows


def timed(work, processor_time=time.process_time, repeats=3):
    """Returns the result, the shortest elapsed time and its processor time."""
    runs = []
    for _ in range(repeats):
        begun, before = time.perf_counter(), processor_time()
        result = work()
        runs.append((time.perf_counter() - begun, processor_time() - before))
        result = result if len(runs) == repeats else None
    return result, *min(runs)


class Lines:
    """Rows of a printed table: rates, and their ratios to the first."""

    def __init__(self, pairs):
        self.pairs, self.first = pairs, None

    def show(self, name, spent, note=""):
        self.first = self.first or spent
        print(
            f"  {name:<26}{self.pairs / spent:>14,.0f} pairs/s{self.first / spent:>8.2f}   {note}",
            flush=True,
        )


def threads(tree, rows, lines):
    judge, one, _ = timed(lambda: tree.pairwise(rows, n_jobs=1))
    lines.show("1 thread", one)
    for count in range(2, (os.cpu_count() or 1) + 1):
        lines.show(
            f"{count} threads", timed(lambda count=count: tree.pairwise(rows, n_jobs=count))[1]
        )
    return judge


def dask(tree, rows, judge, lines):
    if importlib.util.find_spec("distributed") is None:
        print('  Dask: not installed; `pip install "treeport[dask]"`')
        return
    import treeport.dask as td
    from dask.distributed import Client, LocalCluster, wait

    single = None
    for workers in (1, 2, 4):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster) as client:
            client.run(lambda: __import__("treeport.dask"))  # which takes a second

            def used(client=client):
                return sum(client.run(time.process_time).values())

            lazy = td.pairwise(client, tree, rows, chunks=CHUNKS)
            _, spent, processors = timed(lambda lazy=lazy: wait(lazy.persist()) and None, used)
            found, brought, _ = timed(lazy.compute, used, 1)
            assert np.array_equal(found, judge), "the same bits"
        single = single or spent
        note = f"{single / spent:.2f} over 1 worker; {processors:.1f} s of processors; {brought:.1f} s brought here"
        lines.show(f"Dask, {workers} workers", spent, note)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--words", type=int, default=5000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    tree = tp.linkage(points=rng.normal(size=(args.words, 8)))
    rows = documents(rng, args.rows, args.words, 100)
    print(
        f"{args.rows} rows of 100 words out of {args.words}: all pairs, and the rate over that of 1 thread"
    )
    lines = Lines(args.rows * (args.rows - 1) / 2)
    judge = threads(tree, rows, lines)
    dask(tree, rows, judge, lines)


if __name__ == "__main__":
    main()
