"""Weighted UniFrac of all pairs of samples: treeport against scikit-bio, in one run: ``treeport-lab bench unifrac``.

Each sample of a phylogeny has counts of about 300 of its tips. scikit-bio's all pairs would take long, so it is timed on the
pairs of fewer samples, and its time for all pairs is that of a pair times their number; its preparation of the tree and the
counts is timed apart, and counted once. Both sides get the same table and the same tree, and their distances are compared.
"""

import argparse
import io
import time

import numpy as np
import treeport as tp
from scipy import sparse


def phylogeny(tips, rng):
    """Newick text of a random tree."""
    nodes = [f"t{k}:{rng.exponential():.6f}" for k in range(tips)]
    while len(nodes) > 1:
        rng.shuffle(nodes)
        pairs = [f"({a},{b}):{rng.exponential():.6f}" for a, b in zip(nodes[::2], nodes[1::2])]
        nodes = pairs + (nodes[-1:] if len(nodes) % 2 else [])
    return nodes[0].rsplit(":", 1)[0] + ";"


def counts(samples, tips, rng):
    """Sparse counts; few taxa are common."""
    common = rng.permutation(1.0 / np.arange(1, tips + 1))
    chances = common / common.sum()
    rows = [np.unique(rng.choice(tips, size=500, p=chances), return_counts=True) for _ in range(samples)]
    start = np.cumsum([0] + [len(at) for at, _ in rows])
    parts = (np.concatenate([n for _, n in rows]).astype(float), np.concatenate([at for at, _ in rows]), start)
    return sparse.csr_array(parts, shape=(samples, tips))


def timed(function):
    begun = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begun


def main(samples, tips, some):
    from skbio import TreeNode
    from skbio.diversity import beta_diversity

    rng = np.random.default_rng(0)
    text, table = phylogeny(tips, rng), counts(samples, tips, rng)
    names = [f"t{k}" for k in range(tips)]
    tree, reading = timed(lambda: tp.Tree.from_newick(text, names=names))
    ours, seconds = timed(lambda: tree.unifrac(table))
    print(f"{samples} samples, {tips} tips, {table.nnz / samples:.0f} taxa a sample")
    print(f"treeport: {seconds:.2f} s for all {samples * (samples - 1) // 2} pairs (and {reading:.2f} s to read the tree)")
    node = TreeNode.read(io.StringIO(text))

    def theirs(count):
        rows = table[:count].toarray().astype(int)
        return beta_diversity("weighted_unifrac", rows, taxa=names, tree=node, validate=False)

    _, prepared = timed(lambda: theirs(2))  # one pair
    found, whole = timed(lambda: theirs(some))
    pairs = some * (some - 1) // 2
    each = max(whole - prepared, 0.0) / (pairs - 1)
    all_pairs = prepared + each * (samples * (samples - 1) // 2)
    print(f"scikit-bio: {prepared:.2f} s for the first pair, {1e3 * each:.3f} ms for each of {pairs - 1} others")
    print(f"scikit-bio: {all_pairs:.0f} s for all pairs, extrapolated; treeport is {all_pairs / seconds:.0f} times as fast")
    worst = np.abs(found.data - ours[:some, :some]).max() / found.data.max()
    print(f"largest difference on the {pairs} pairs, relative to the largest distance: {worst:.1e}")
    assert worst < 1e-9


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--tips", type=int, default=20_000)
    parser.add_argument("--peer-samples", type=int, default=40)
    args = parser.parse_args()
    main(args.samples, args.tips, args.peer_samples)
