"""All pairs by threads, shards, Dask and a GPU: ``treeport-lab bench pairs-python``.

Every part says what it compares, in one run. Blocks of Dask stay on the workers, as they do on their way to files; the last
column has them brought here as well. "processors" is the time of all processors over that of one thread, which a busy machine
changes little. Tables of shards and of Dask are compared with that of one thread, bit for bit.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import numpy as np
import treeport as tp
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


def timed(work, processor_time=time.process_time, repeats=3):
    """What the work returns, and the shortest time it took by the clock, with that of processors."""
    runs = []
    for _ in range(repeats):
        begun, before = time.perf_counter(), processor_time()
        result = work()
        runs.append((time.perf_counter() - begun, processor_time() - before))
        result = result if len(runs) == repeats else None
    return result, *min(runs)


class Lines:
    """Rows of a table: rates, as factors over the first."""

    def __init__(self, pairs):
        self.pairs, self.first = pairs, None

    def show(self, name, spent, note=""):
        self.first = self.first or spent
        print(f"  {name:<26}{self.pairs / spent:>14,.0f} pairs/s{self.first / spent:>8.2f}   {note}", flush=True)


def threads(tree, rows, lines):
    judge, one, _ = timed(lambda: tree.pairwise(rows, n_jobs=1))
    lines.show("1 thread", one)
    for count in range(2, (os.cpu_count() or 1) + 1):
        lines.show(f"{count} threads", timed(lambda count=count: tree.pairwise(rows, n_jobs=count))[1])
    return judge


def shards(tree, rows, judge, lines):
    """Processes of one thread, reading and writing files included, then `merge`."""
    beside = pathlib.Path(__file__).parents[3] / "target/release/treeport"
    binary = str(beside) if beside.exists() else shutil.which("treeport")
    if binary is None:
        print("  shards: no `treeport` here; `cargo build --release` makes it")
        return
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        tree.save(place / "model.tree")
        sparse.save_npz(place / "rows.npz", sparse.csr_matrix(rows))
        for count in (1, 2, 4):

            def run(count=count):
                parts = [place / f"{i}.npy.shard" for i in range(1, count + 1)]
                common = [binary, "distance", place / "model.tree", "--measures", place / "rows.npz", "--threads", "1"]
                each = [[*common, "--shard", f"{i}/{count}", "-o", part, "-q"] for i, part in enumerate(parts, 1)]
                running = [subprocess.Popen(command) for command in each]
                assert all(process.wait() == 0 for process in running)
                subprocess.run([binary, "merge", *parts, "-o", place / "all.npy", "-q"], check=True)

            lines.show(f"{count} shards, merged", timed(run, repeats=1)[1])
            assert np.array_equal(np.load(place / "all.npy"), judge), "the same bits"


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


def gpu(tree, rows, judge, lines):
    if importlib.util.find_spec("torch") is None:
        print('  GPU: no PyTorch; `pip install "treeport[gpu]"`')
        return
    import torch

    if not torch.cuda.is_available():
        print("  GPU: there is none")
        return
    tree.pairwise(rows[:3000], device="cuda")
    found, spent, _ = timed(lambda: tree.pairwise(rows, device="cuda"))
    off = np.abs(found - judge).max()
    lines.show(torch.cuda.get_device_name(), spent, f"off by {off:.1e} at most; `treeport-lab bench gpu` has more")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--words", type=int, default=5000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    tree = tp.linkage(points=rng.normal(size=(args.words, 8)))
    rows = documents(rng, args.rows, args.words, 100)
    print(f"{args.rows} rows of 100 words out of {args.words}: all pairs, and the rate over that of 1 thread")
    lines = Lines(args.rows * (args.rows - 1) / 2)
    judge = threads(tree, rows, lines)
    shards(tree, rows, judge, lines)
    dask(tree, rows, judge, lines)
    gpu(tree, rows, judge, lines)


if __name__ == "__main__":
    main()
