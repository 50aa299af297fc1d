"""All pairs and nearest neighbors on a GPU, against one core and `torch.cdist`: ``treeport-lab bench gpu``.

100,000 documents of 100 words on a tree over 13,243 points, some words much more frequent than others.
"""

import argparse
import time

import numpy as np
import torch
import treeport as tp
from scipy import sparse
from treeport._devices import tables, tables_cuda


def documents(count, support, points, seed):
    """Draws rows of masses; word r has probability proportional to 1 / (r + 50)."""
    rng = np.random.default_rng(seed)
    rarity = torch.log(torch.arange(points, device="cuda") + 50.0)
    generator = torch.Generator("cuda").manual_seed(seed)
    order = torch.tensor(rng.permutation(points), device="cuda")
    words = []
    for first in range(0, count, 8192):
        size = (min(8192, count - first), points)
        noise = torch.rand(size, device="cuda", generator=generator).clamp_(min=1e-30)
        drawn = (-torch.log(-torch.log(noise)) - rarity).topk(support, dim=1).indices
        words.append(order[drawn].sort(dim=1).values.cpu().numpy())
    masses = rng.random((count, support)) + 0.1
    masses /= masses.sum(axis=1, keepdims=True)
    start = np.arange(0, count * support + 1, support)
    return sparse.csr_array(
        (masses.ravel(), np.concatenate(words).ravel(), start), shape=(count, points)
    )


def seconds(work, times=1):
    """Returns the shortest time of several calls."""
    least = np.inf
    for _ in range(times):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        least = min(least, time.perf_counter() - begun)
    return least


def dense_rates(tree, measures):
    """Measures pairs per second with dense coordinates, beside PyTorch, and the instruction rate."""
    engine = tables_cuda.CudaTableEngine("cuda")
    engine.frequent = -1.0
    rows = tables.SparseRows(*tree._raw.embed(tree._measures(measures), 0)[:3])
    side, _ = tables.sides(engine, rows, None, tree.n_nodes)
    left, right = side.dense
    engine.tile(left, right)
    ours = seconds(lambda: engine.tile(left, right), 5)
    a, b = left.T[:1024].contiguous(), right.T[:1024].contiguous()
    torch.cdist(a, b, p=1)
    theirs = seconds(lambda: torch.cdist(a, b, p=1), 3)
    pairs = left.shape[1] * right.shape[1]
    properties = torch.cuda.get_device_properties(0)
    limit = properties.multi_processor_count * 128 * torch.cuda.clock_rate() * 1e6
    return left.shape[0], pairs / ours, 1024**2 / theirs, 2 * pairs * left.shape[0] / ours / limit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--support", type=int, default=100)
    parser.add_argument("--points", type=int, default=13_243)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(200, 32))
    points = centers[rng.integers(200, size=args.points)] + rng.normal(size=(args.points, 32))
    tree = tp.linkage(points=points)
    rows = documents(args.documents, args.support, args.points, 1)
    print(
        f"{torch.cuda.get_device_name()}; {args.documents} documents of {args.support} of {args.points} words"
    )
    columns, ours, theirs, share = dense_rates(tree, rows[:8192])
    print(
        f"all {columns} coordinates: {ours / 1e6:.0f} M pairs/s, {share:.2f} of the instruction limit;",
        end=" ",
    )
    print(f"torch.cdist {theirs / 1e6:.0f} M pairs/s")
    pairs = args.documents * (args.documents - 1) / 2
    warm = rows[:5000]
    tree.pairwise(warm, device="cuda")
    tree.kneighbors(warm, device="cuda")
    few = tp.Measures(rows[:3000])
    one_core = 3000 * 2999 / 2 / seconds(lambda: tree.pairwise(few, n_jobs=1), 2)

    def say(what, taken):
        rate = pairs / taken
        times = f"{rate / theirs:.0f} times torch.cdist, {rate / one_core:.0f} times one core"
        print(f"{what}: {taken:.1f} s, {rate / 1e6:.0f} M pairs/s, {times}", flush=True)

    print(f"one core: {one_core / 1e6:.2f} M pairs/s")
    print(f"embedding alone: {seconds(lambda: tree.embed(rows)):.1f} s")
    on_gpu = torch.empty((args.documents, args.documents), device="cuda")
    say(
        "all pairs, left on the GPU",
        seconds(lambda out=on_gpu: tree.pairwise(rows, device="cuda", out=out)),
    )
    del on_gpu
    torch.cuda.empty_cache()
    say("all pairs, in an array", seconds(lambda: tree.pairwise(rows, device="cuda")))
    say("10 nearest of each", seconds(lambda: tree.kneighbors(rows, device="cuda")))


if __name__ == "__main__":
    main()
