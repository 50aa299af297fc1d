"""Options of a fit: the signature and the docstring are those of the library's table."""

import inspect
import pickle
import warnings

import pytest
import treeport as tp
from treeport import _core

TABLE = {row["name"]: row for row in _core.fit_options()}
OWN = {
    "points",
    "cost",
    "graph",
    "weight",
    "metric",
    "normalize",
    "random_state",
    "n_jobs",
    "verbose",
    "period",
    "max_points",
}


def test_every_option_is_a_parameter_with_its_default():
    parameters = inspect.signature(tp.TreeWasserstein).parameters
    assert set(parameters) == (set(TABLE) - {"seed"}) | OWN
    given = {"method": "auto", "n_pairs": int(TABLE["n_pairs"]["default"]), "scale": True}
    for name in set(TABLE) - {"seed"}:
        assert parameters[name].default == given.get(name), name
    assert TABLE["method"]["default"].startswith("auto;") and TABLE["scale"]["default"] == "true"
    assert parameters["random_state"].default == int(TABLE["seed"]["default"])


def test_the_docstring_is_that_of_the_table():
    words = " ".join(tp.TreeWasserstein.__doc__.split())
    for name in set(TABLE) - {"seed"}:
        row = TABLE[name]
        said = f"{row['help']}. Default: {row['default']}.".replace("`", '"')
        assert said in words, name
    assert "{options}" not in words
    assert "validation_fraction : float, optional Share of the pairs" in words
    assert 'one for every 10 labels for "auto"' in words


def test_an_option_that_the_method_does_not_read_is_named(words, documents):
    tw = tp.TreeWasserstein(words, method="average", depth=3, scale=False)
    said = "`depth` is not read by method `average`; it is read by: " + ", ".join(
        TABLE["depth"]["methods"]
    )
    with pytest.warns(UserWarning) as caught:
        tw.fit(documents)
    assert [str(one.message) for one in caught] == [said]
    with pytest.warns(
        UserWarning, match="^`scale` is not read by method `auto`; it is read by: additive, "
    ):
        tp.TreeWasserstein(words, epochs=1, scale=False).fit(documents)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tp.TreeWasserstein(words, method="ctwd", branching=2, depth=3, point_pairs=50).fit(
            documents
        )


def test_branching_and_depth_shape_a_cluster_tree(words, documents):
    def nodes(**options):
        return len(
            tp.TreeWasserstein(words, method="cluster", **options).fit(documents).model_.parents
        )

    assert nodes(depth=1) < nodes(depth=2) and nodes() < nodes(branching=2)
    with pytest.raises(ValueError, match="branching is 1; a cluster is split into at least 2"):
        nodes(branching=1)


def test_pickles_without_newer_options_are_read(words, documents):
    tw = tp.TreeWasserstein(words, epochs=1).fit(documents)
    for name in ("branching", "depth", "point_pairs"):
        del tw.__dict__[name]
    again = pickle.loads(pickle.dumps(tw))
    assert again.get_params()["depth"] is None
    assert again.fit(documents).model_ == tw.model_
