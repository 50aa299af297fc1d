"""How the package is used, for the type checker alone; `test_docs.py` runs it over this."""

import numpy as np
import treeport as tp
import treeport.dask as td
import treeport.torch as tt

points = np.zeros((3, 2))
value: float = tp.emd([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], points=points)
value, plan = tp.emd([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], points=points, return_plan=True)
value, (u, v) = tp.emd([1.0, 0.0], [1.0], points[:2], points[:1], return_potentials=True)
value, plan, (u, v) = tp.emd(
    [1.0, 0.0], [1.0], [[1.0], [2.0]], penalty=1.0, return_plan=True, return_potentials=True
)
solution: tp.Solution = tp.solve(
    [1.0, 0.0], [1.0], points[:2], points[:1], accuracy=0.1, potentials=True
)
value, (u, v) = solution.value, solution.potentials
several: np.typing.NDArray[np.float64] = tp.emd_pairs(np.eye(3), [(0, 1)], points=points)
tw: tp.TreeWasserstein = tp.TreeWasserstein(points, epochs=3, random_state=np.random.default_rng())
tree: tp.Tree = tw.fit(np.eye(3)).tree_
several = tree.barycenter(np.eye(3), weights=[1.0, 2.0, 3.0])
value = tree.distance([1.0, 0.0, 0.0], [0.0, 2.0, 0.0], penalty=1.0)
several = tp.emd_pairwise([([1.0], [[0.0]])])
forest: tp.Forest = tp.Forest([tree], weights=[1.0])
several = tw.estimate(np.eye(3), np.eye(3), accuracy=0.1)
lower, upper = tw.bounds(np.eye(3), np.eye(3), accuracy="flow")
several = upper - lower
names: "list[str] | None" = tree.names
back: tp.TreeWasserstein = tp.load("model.tree")
near: tp.WassersteinNeighbors = tp.WassersteinNeighbors(points, accuracy=0.1).fit(np.eye(3))
whole: "np.typing.NDArray[np.int64]" = near.add(np.eye(3))
near = tp.WassersteinNeighbors.load("documents.index")
score: float = td.score(None, tw, np.eye(3))
lazy = td.pairwise(None, forest, np.eye(3), chunks=(1, 2))
lazy = td.emd_pairwise(None, np.eye(3), points=points, device="tiles", chunks=2)
tw = tw.fit(np.eye(3), client=None)
cost = tt.emd(None, None, points, points, metric="sqeuclidean", n_jobs=1)
sample: tp.TwoSampleResult = tp.two_sample_test(
    points, (None, points), strata=([0, 1, 1], [0, 0, 1])
)
value, several = sample.pvalue, sample.null_distribution
groups: tp.GroupTestResult = tp.group_test(
    np.zeros((4, 4)), ["a", "a", "b", "b"], strata=[0, 1, 0, 1]
)
value = groups.spread["a"] + groups.spread_pvalue
middle: tp.Barycenter = tp.barycenter([points, points], 2, weights=[1.0, 2.0], order=1)
several = middle.points
by: tp.PlanBy = solution.plan_by(["a", "a", "b"], {"x": 1})
svg: str = by.to_svg("mass")
news: tp.Texts = tp.texts(["a text"], tp.read_word_vectors("glove.txt", words={"text"}))
better: tp.NeighborComparison = tp.compare_neighbors(news.measures, [0, 1], points=news.points)
value = better.pvalues["tree"]
tp.two_sample_test(points, points, paired="yes")  # type: ignore[arg-type]
tp.solve([1.0], [1.0], [[0.0]], accuracy=[1])  # type: ignore[arg-type]
value = tp.emd([1.0], [1.0], [[0.0]], penalty=2.0, verbose=1.5)  # type: ignore[call-overload]
tt.emd(None, None, points, metric=2)  # type: ignore[arg-type]
wrong: str = tree.to_newick()
wrong = tree.n_points  # type: ignore[assignment]
td.transform(None, tree, np.eye(3), chunks="auto")  # type: ignore[arg-type]
