"""Point clouds of the benchmarks."""

import numpy as np


def clouds(rng, kind, n):
    """Draws two clouds of n points: uniform in the plane or R³, shifted, or clusters in R⁵⁰."""
    if kind == "clusters":
        centers = 3 * rng.normal(size=(40, 50))
        shares = rng.dirichlet(np.ones(40), size=2)
        return [centers[rng.choice(40, n, p=share)] + rng.normal(size=(n, 50)) for share in shares]
    dim = 3 if kind == "space" else 2
    x, y = rng.random((n, dim)), rng.random((n, dim))
    return x, y + 0.5 if kind == "shifted" else y
