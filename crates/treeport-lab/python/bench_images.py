"""Images of smooth blobs: ``treeport-lab bench images``.

Each image is a sum of eight Gaussian blobs at random places. Every answer is proved: its bounds are no farther apart than the
accuracy, or than the time allows.
"""

import argparse
import json
import resource
import time

import numpy as np
import treeport as tp


def blobs(rng, side):
    """Returns an image of positive masses with the sum 1."""
    rows, columns = np.mgrid[:side, :side] / side
    image = np.full((side, side), 1e-4)
    for _ in range(8):
        (y, x), width = rng.random(2), 0.03 + 0.07 * rng.random()
        image += np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * width**2))
    return image / image.sum()


def measure(side, metric, args):
    rng = np.random.default_rng(args.seed)
    a, b = blobs(rng, side), blobs(rng, side)
    wall, processor = time.perf_counter(), time.process_time()
    options = {"accuracy": args.accuracy, "time": args.time}
    answer = tp.solve(a, b, grid=1.0, metric=metric, **options)
    return {
        "bench": "images",
        "case": f"{side} x {side}, {metric}",
        "seconds": time.perf_counter() - wall,
        "processor": time.process_time() - processor,
        "gap": answer.gap / answer.lower if answer.lower else None,
        "engine": answer.engine,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256], help="pixels a side")
    parser.add_argument("--metrics", nargs="+", default=["euclidean", "sqeuclidean"])
    parser.add_argument("--accuracy", type=float, default=0.01)
    parser.add_argument("--time", type=float, help="seconds for each")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for metric in args.metrics:
        for side in args.sizes:
            print(json.dumps(measure(side, metric, args)), flush=True)


if __name__ == "__main__":
    main()
