"""Drift of columns, judged by SciPy and by loops."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import treeport as tp
from scipy.stats import wasserstein_distance
from treeport._statistics.drift import holm


@pytest.fixture
def tables(rng):
    before = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(5, 3, 200), "c": 1.0})
    after = pd.DataFrame({"c": 1.0, "b": rng.normal(8, 3, 150), "a": rng.normal(0, 2, 150)})
    return before, after


def in_polars(frame):
    """A frame of polars without pyarrow."""
    return pl.DataFrame({name: frame[name].tolist() for name in frame}, nan_to_null=True)


def test_distances_are_those_of_scipy_in_units_of_the_spread(tables):
    before, after = tables
    found = tp.feature_drift(before, after)
    assert list(found.drift) == sorted(found.drift, reverse=True) and found.index.name == "column"
    for name in "ab":
        distance = wasserstein_distance(before[name], after[name])
        assert found.distance[name] == pytest.approx(distance)
        assert found.drift[name] == pytest.approx(distance / before[name].std(ddof=0))
    constant = found.loc["c"]
    assert constant.drift == 0 and constant.pvalue == 1.0 and np.isnan(constant["shift"])
    assert found.pvalue["a"] == found.pvalue["b"] == 0.001
    assert found["shift"]["b"] == pytest.approx(found.drift["b"], rel=0.05)
    assert abs(found["shift"]["a"]) < 0.5 * found.drift["a"], "the spread changed, not the mean"


def test_p_values_are_those_of_splits(rng):
    x, y = rng.normal(size=25), rng.normal(0.4, size=18)
    found = tp.feature_drift(
        pd.DataFrame({"v": x}), pd.DataFrame({"v": y}), n_resamples=60, stop_above=None
    )
    both, signs = np.sort(np.append(x, y)), np.argsort(np.append(x, y), kind="stable") < 25
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(43), (60, 1)), axis=1)
    far = [wasserstein_distance(both[signs[o]], both[~signs[o]]) for o in orders]
    exceeding = np.count_nonzero(np.array(far) >= found.distance["v"] * (1 - 1e-9))
    assert found.pvalue["v"] == (exceeding + 1) / 61


def test_p_values_have_the_right_size():
    rng = np.random.default_rng(3)
    names = [f"v{at}" for at in range(300)]
    before = pd.DataFrame(rng.exponential(size=(20, 300)), columns=names)
    after = pd.DataFrame(rng.exponential(size=(31, 300)), columns=names)
    found = tp.feature_drift(before, after, n_resamples=99)
    # Three standard errors are 0.038.
    assert np.mean(found.pvalue <= 0.05) == pytest.approx(0.05, abs=0.038)
    assert (found.adjusted > 0.05).all()


def test_missing_entries_are_counted_in_pandas_and_polars(tables):
    before, after = tables
    before.loc[:49, "a"] = np.nan
    one = tp.feature_drift(before, after)
    assert one.missing_before["a"] == 0.25 and one.missing_after["a"] == 0
    distance = wasserstein_distance(before.a.dropna(), after.a)
    assert one.distance["a"] == pytest.approx(distance)
    two = tp.feature_drift(in_polars(before), in_polars(after))
    pd.testing.assert_frame_equal(one, two)
    nullable = tp.feature_drift(before.convert_dtypes(), after.convert_dtypes(), columns=["a", "b"])
    np.testing.assert_allclose(nullable.distance["a"], one.distance["a"])
    flags = pd.DataFrame({"f": [True, False, True, True]})
    assert tp.feature_drift(flags, ~flags).distance["f"] == 0.5


def test_holm_is_the_textbook_one():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])


def test_the_picture_marks_what_is_more_than_chance(tables):
    before, after = tables
    after["c"] = 2.0  # it was constant
    drift = tp.feature_drift(before, after)
    assert drift.index[0] == "c" and drift.drift["c"] == np.inf
    ax = tp.plot_drift(drift)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(drift.index[::-1])
    assert len(ax.patches) == 3


def test_columns_without_numbers_are_named(tables):
    before, after = tables
    for table in (before, after):
        table["city"] = "Bern"
        table["day"] = pd.Timestamp("2024-01-01")
    both = [(before, after), (in_polars(before), in_polars(after))]
    for one, other in both:
        with pytest.raises(
            ValueError, match=r"city \(.*day \(dates\); .*columns=\['a', 'b', 'c'\]"
        ):
            tp.feature_drift(one, other)
        assert len(tp.feature_drift(one, other, columns=["a", "b"])) == 2
    with pytest.raises(ValueError, match="`after` has no column 'b'"):
        tp.feature_drift(before[["a", "b"]], after[["a"]])
    with pytest.raises(ValueError, match="`before` has no column 'b'"):
        tp.feature_drift(before[["a"]], after[["a", "b"]])
    with pytest.raises(ValueError, match="column a of `after` has no entries"):
        tp.feature_drift(before[["a"]], after[["a"]] * np.nan)
    with pytest.raises(ValueError, match="column a of `before` is infinite in row 0"):
        tp.feature_drift(before[["a"]] * np.inf, after[["a"]])
    with pytest.raises(TypeError, match="before is of type ndarray"):
        tp.feature_drift(before[["a"]].to_numpy(), after)


def test_text_and_dates_in_frames_are_named_everywhere():
    frame = pd.DataFrame({"x": [0.0, 1.0], "city": ["Bern", "Basel"]})
    with pytest.raises(ValueError, match="column city has .*; leave it out"):
        tp.emd(None, None, frame, frame)
    dates = pd.DataFrame({"x": [0.0, 1.0], "day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(ValueError, match="column day has dates"):
        tp.emd(None, None, dates, dates)
    sizes = pd.DataFrame({"size": pd.Categorical(["S", "L"])})
    with pytest.raises(ValueError, match="column size has"):
        tp.emd(None, None, sizes, sizes)
    years = pd.DataFrame({"year": pd.Categorical([2001, 2003])})
    assert tp.emd(None, None, years, years[:1]) == 1.0
    numbers = pd.DataFrame({"x": pd.Series([0, 1.5], dtype=object)})
    assert tp.emd(None, None, numbers, numbers) == 0
