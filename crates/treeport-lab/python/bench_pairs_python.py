"""All pairs by threads, shards, Dask and a GPU, and weighted UniFrac against other packages: ``treeport-lab bench pairs-python``.

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


def samples(rng, count, tips):
    """Counts like those of a microbiome: a few hundred taxa of each sample, most of them rare."""
    table = sparse.random_array((count, tips), density=min(1, 300 / tips), rng=rng, format="csr")
    table.data = np.ceil(np.exp(rng.normal(1, 1.5, size=len(table.data))))
    return table


def unifrac(count, peer_count, path):
    rng = np.random.default_rng(1)
    if path is None:
        tree = tp.linkage(points=rng.normal(size=(10_000, 5)))
        tree = tp.Tree.from_newick(tree.to_newick())
    else:
        tree = tp.Tree.from_newick(pathlib.Path(path).read_text())
    counts = samples(rng, count, tree.n_points)
    counts = counts[counts.sum(axis=1) > 0]
    shares = sparse.csr_array(counts.multiply(1 / counts.sum(axis=1)[:, None]))
    print(f"weighted UniFrac: {counts.shape[0]} samples, {tree.n_points} tips; peers on the first {peer_count}")
    rate = counts.shape[0] * (counts.shape[0] - 1) / 2
    out = np.empty((counts.shape[0],) * 2)
    spent = timed(lambda: tree.pairwise(shares, out=out), repeats=1)[1]
    print(f"  {'treeport':<26}{rate / spent:>14,.0f} pairs/s", flush=True)
    few = counts[:peer_count].toarray().astype(int)
    pairs = peer_count * (peer_count - 1) / 2
    names = [str(k) for k in range(tree.n_points)]
    if importlib.util.find_spec("skbio") is None:
        print("  scikit-bio: not installed")
        return
    from io import StringIO

    from skbio import TreeNode
    from skbio.diversity import beta_diversity

    text = tree.to_newick()
    known = tree.names or names
    theirs = TreeNode.read(StringIO(text), convert_underscores=False)
    if len(theirs.children) > 2:
        theirs = theirs.unrooted_copy() if hasattr(theirs, "unrooted_copy") else theirs
    found, spent, _ = timed(
        lambda: beta_diversity("weighted_unifrac", few, taxa=known, tree=theirs, validate=False), repeats=1
    )
    off = np.abs(found.data - out[:peer_count, :peer_count]).max() / out.max()
    print(f"  {'scikit-bio':<26}{pairs / spent:>14,.0f} pairs/s   differs by {off:.1e} of the largest", flush=True)
    if importlib.util.find_spec("unifrac") is None:
        print("  unifrac: not installed (it comes by conda)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--words", type=int, default=5000)
    parser.add_argument("--samples", type=int, default=10_000, help="of the phylogeny; 0 leaves UniFrac out")
    parser.add_argument("--peer-samples", type=int, default=100)
    parser.add_argument("--tree", help="Newick text of a phylogeny [default: a random one of 10,000 tips]")
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
    if args.samples:
        unifrac(args.samples, args.peer_samples, args.tree)


if __name__ == "__main__":
    main()
