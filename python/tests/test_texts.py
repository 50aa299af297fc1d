"""Word vectors from files, documents as measures, and the comparison with plain baselines."""

import gzip
import math
import os
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.stats import binom
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer
from treeport._texts.compare import _votes, mcnemar

WORDS = {"cat": [0.5, -1.0, 2e-3], "naïve": [1.0, 0.0, 3.25], "New York": [7.0, 8.0, 9.0]}


def lines(words=WORDS):
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in words.items()).encode()


def binary(words=WORDS, between=b"\n"):
    packed = (f"{word} ".encode() + struct.pack("<3f", *row) for word, row in words.items())
    return b"%d 3\n" % len(words) + between.join(packed)


ONE_WORD = {"cat": WORDS["cat"], "naïve": WORDS["naïve"]}
FORMATS = {
    "glove": lines(),
    "word2vec text": b"3 3\n" + lines(),
    "fastText, spaces at the ends": b"3 3\n" + lines().replace(b"\n", b" \n"),
    "binary": binary(ONE_WORD),
    "binary without line ends": binary(ONE_WORD, b""),
    "gzip": gzip.compress(b"3 3\n" + lines()),
    "gzip of binary": gzip.compress(binary(ONE_WORD)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_same_vectors(name, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(FORMATS[name])
    found = tp.read_word_vectors(path)
    expected = ONE_WORD if "binary" in name else WORDS
    assert list(found.index) == list(expected)
    np.testing.assert_array_equal(found, np.array(list(expected.values()), np.float32))
    some = tp.read_word_vectors(path, words={"naïve", "dog"}, verbose=True)
    assert list(some.index) == ["naïve"] and (some.loc["naïve"] == found.loc["naïve"]).all()


def test_many_words_cross_every_buffer(tmp_path):
    rng = np.random.default_rng(0)
    rows = {f"word{at}é": rng.normal(size=50).astype(np.float32) for at in range(3000)}
    packed = b"".join(f"{w} ".encode() + v.tobytes() + b"\n" for w, v in rows.items())
    text = "".join(f"{w} {' '.join(map(repr, v.tolist()))}\n" for w, v in rows.items()).encode()
    for data in (b"3000 50\n" + packed, b"3000 50\n" + text, text):
        (tmp_path / "v").write_bytes(data)
        found = tp.read_word_vectors(tmp_path / "v")
        assert list(found.index) == list(rows)
        np.testing.assert_array_equal(found, np.stack(list(rows.values())))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: the file is empty"),
        (b"cat\ndog\n", "line 1: it begins with `cat`"),
        (b"cat 1 2\ndog 1\n", "line 2, word `dog 1`: it does not have 2 numbers"),
        (b"cat 1 2\ndog 1 x\n", "line 2, word `dog 1 x`"),
        (b"2 2\ncat 1 2\ndog 1 nan\n", "line 3, word `dog 1 nan`"),
        (binary(ONE_WORD)[:-5], "word 2 of 2: the file ends or is damaged here"),
        (binary({"cat": [math.inf, 0, 0]}), "word 1, `cat`: a coordinate is not finite"),
        (gzip.compress(lines(), mtime=0)[:-9], "line 4: cannot be read further"),
    ],
)
def test_damaged_files_are_named_with_the_line(data, message, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        tp.read_word_vectors(path)
    assert str(path) in str(caught.value)
    with pytest.raises(OSError):
        tp.read_word_vectors(tmp_path / "none.txt")


def test_words_that_are_not_there_are_an_error(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(lines())
    with pytest.raises(ValueError, match="none of the 1 words asked for is there, such as Cat;"):
        tp.read_word_vectors(path, words=["Cat"])
    with pytest.raises(TypeError, match="give a list of words"):
        tp.read_word_vectors(path, words="cat")


VECTORS = {"cat": [0.0, 0.0], "dog": [0.0, 1.0], "car": [5.0, 5.0], "bus": [5.0, 6.0]}
NEWS = ["The cat sees the cat and a dog", "Car, car: a bus!", "dog and zebra and zebra"]


def test_texts_are_counts_of_words_with_vectors():
    with pytest.warns(UserWarning, match="30% of the text has no vector, such as zebra, sees"):
        found = tp.texts(dict(zip("xyz", NEWS)), VECTORS)
    assert found.measures.names == list(found.points.index) == ["bus", "car", "cat", "dog"]
    assert list(found.measures.ids) == ["x", "y", "z"]
    table = tp.emd_pairwise(found.measures, points=found.points)
    assert table.loc["x", "z"] == pytest.approx(2 / 3) and list(table.index) == ["x", "y", "z"]
    assert found.unknown == {"zebra": 2, "sees": 1} and found.known_share == pytest.approx(0.7)
    for vectors in (
        pd.DataFrame(VECTORS).T,
        SimpleNamespace(
            key_to_index={word: at for at, word in enumerate(VECTORS)},
            vectors=np.array(list(VECTORS.values())),
        ),
    ):
        with pytest.warns(UserWarning):
            again = tp.texts(pd.Series(NEWS), vectors)
        assert again.measures.ids is None and again.points.equals(found.points)
    assert "unknown=2 words, 30.0%" in repr(found)


@pytest.mark.filterwarnings("ignore:.*has no vector:UserWarning")
def test_weights_are_those_of_scikit_learn():
    tokens = [text.lower().replace(",", "").replace(":", "").strip("!").split() for text in NEWS]
    counted, listed = tp.texts(NEWS, VECTORS, stop_words=None), tp.texts(tokens, VECTORS)
    assert (
        tp.emd_pairwise(counted.measures, points=counted.points)
        == tp.emd_pairwise(listed.measures, points=listed.points)
    ).all()
    rare = tp.texts(NEWS, VECTORS, weights="tfidf")
    judge = TfidfVectorizer(stop_words="english", norm=None)
    rows = judge.fit_transform(NEWS).toarray()
    keep = [at for at, word in enumerate(judge.get_feature_names_out()) if word in VECTORS]
    rows = rows[:, keep] / rows[:, keep].sum(axis=1, keepdims=True)
    one, other = (
        tp.emd_pairwise(given, points=rare.points)
        for given in (rare.measures, pd.DataFrame(rows, columns=rare.points.index))
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)
    assert rare.unknown == {"zebra": 2, "sees": 1}
    own = CountVectorizer(vocabulary=["dog", "car", "cat"]).fit(NEWS)
    passed = tp.texts(NEWS, VECTORS, vectorizer=own)
    assert passed.measures.names == ["dog", "car", "cat"] and passed.known_share == 1.0
    assert tp.texts(NEWS, VECTORS, stop_words=["cat"]).measures.names == ["bus", "car", "dog"]


@pytest.mark.parametrize(
    ("documents", "options", "error", "message"),
    [
        ("one text", {}, TypeError, "documents is one text"),
        ([], {}, ValueError, "no documents"),
        ([3], {}, ValueError, "document 0 is 3"),
        (["cat", ["cat"]], {}, ValueError, "document 1 is a list of words"),
        ({"a": "cat", "b": "zebra"}, {}, ValueError, "such as document b, `zebra`"),
        (["cat"], {"weights": "idf"}, ValueError, "weights is `idf`; it must be counts or tfidf"),
        ([["cat"]], {"stop_words": "german"}, ValueError, 'stop_words is "german"'),
        (["cat"], {"vectors": np.eye(2)}, TypeError, "vectors are a path, a DataFrame"),
        (["cat"], {"vectors": {"cat": [1], "dog": [1, 2]}}, ValueError, "have the shapes"),
    ],
)
def test_errors_name_the_document(documents, options, error, message):
    with pytest.raises(error, match=message):
        tp.texts(documents, **{"vectors": VECTORS, **options})


def test_texts_stand_for_their_measures_and_points(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(lines(VECTORS))
    (tmp_path / "news.txt").write_text("cat dog\ncar bus car\ndog dog cat\n")
    news = tp.texts(tmp_path / "news.txt", path)
    assert list(news.points.index) == ["bus", "car", "cat", "dog"] and news.measures.ids is None
    table = tp.emd_pairwise(news.measures, points=news.points)
    assert (tp.emd_pairwise(news, points=news) == table).all()
    index = tp.WassersteinNeighbors(points=news, n_neighbors=1).fit(news)
    distances, numbers = index.kneighbors(tp.texts(["A bus, a cat, a bus"], news))
    judge = tp.emd({"bus": 2 / 3, "cat": 1 / 3}, {"car": 2 / 3, "bus": 1 / 3}, points=news.points)
    assert numbers.tolist() == [[1]] and distances[0, 0] == pytest.approx(judge)
    tree = tp.TreeWasserstein(points=news, method="average").fit(news)
    assert tree.pairwise(news).shape == (3, 3)
    found = tp.compare_neighbors(news, ["a", "b", "a"], n_neighbors=1)
    again = tp.compare_neighbors(news.measures, ["a", "b", "a"], points=news.points, n_neighbors=1)
    assert found.accuracy == again.accuracy
    with pytest.raises(TypeError, match="give the `points` of the measures"):
        tp.compare_neighbors(news.measures, ["a", "b", "a"], n_neighbors=1)
    with pytest.raises(TypeError, match="a vectorizer splits texts, not files"):
        tp.texts(tmp_path / "news.txt", path, vectorizer=CountVectorizer())


def test_rarity_of_queries_is_that_among_the_searched_texts():
    documents = ["cat dog", "car bus car", "dog dog cat", "dog bus"]
    news = tp.texts(documents, VECTORS, weights="tfidf")
    query = tp.texts(documents[1:2], news, weights="tfidf")
    own = tp.texts(documents[1:2], VECTORS, weights="tfidf")
    index = tp.WassersteinNeighbors(points=news, n_neighbors=1).fit(news)
    assert index.kneighbors(query)[0].tolist() == [[0.0]]
    assert index.kneighbors(own)[0][0, 0] > 0


def test_stop_words_are_those_of_scikit_learn():
    words = [word for word in sorted(ENGLISH_STOP_WORDS) if len(word) > 1]
    vectors = {word: [0.0] for word in [*words, "stop"]}
    assert tp.texts([" ".join([*words, "stop"])], vectors).measures.names == ["stop"]
    kept = tp.texts([" ".join(words)], vectors, stop_words=None)
    assert kept.measures.names == words


@pytest.mark.filterwarnings("error::treeport.MissingColumnsWarning")
def test_new_texts_are_queries_on_the_words_of_the_old_ones():
    old = tp.texts(["cat dog", "car bus car", "dog dog cat"], VECTORS)
    new = tp.texts({"q": "a bus, a cat, a bus"}, old.points)
    index = tp.WassersteinNeighbors(points=old.points, n_neighbors=1).fit(old.measures)
    distances, numbers = index.kneighbors(new.measures)
    judge = tp.emd({"bus": 2 / 3, "cat": 1 / 3}, {"car": 2 / 3, "bus": 1 / 3}, points=old.points)
    assert numbers.tolist() == [[1]] and distances[0, 0] == pytest.approx(judge)


def test_raw_texts_and_vectors_are_named_where_masses_are_expected(tmp_path):
    for refused in (
        lambda: tp.TreeWasserstein().fit(NEWS),
        lambda: tp.Measures([["cat", "dog"]]),
        lambda: tp.emd_pairwise(NEWS, points=np.eye(3)),
    ):
        with pytest.raises(ValueError, match=r"list of texts; `texts\(documents, vectors\)`"):
            refused()
    with pytest.raises(TypeError, match="this is a list of texts"):
        tp.Clouds(NEWS)
    for fit in (tp.TreeWasserstein().fit, tp.Measures):
        with pytest.raises(ValueError, match=r"2 arrays of two axes; .* give `Clouds\(arrays\)`"):
            fit([np.eye(2), np.ones((3, 2))])
    (tmp_path / "glove.txt").write_bytes(lines(ONE_WORD))
    with pytest.raises(ValueError, match="`read_word_vectors` reads them"):
        tp.Measures.read(tmp_path / "glove.txt")
    (tmp_path / "table.csv").write_text("a,b\n1,x\n")
    with pytest.raises(ValueError, match="is not a number$"):
        tp.Measures.read(tmp_path / "table.csv")


def test_methods_are_compared_case_by_case(rng):
    points = np.concatenate([rng.normal(size=(25, 4)), rng.normal(1.5, size=(25, 4))])
    chance = np.repeat([[3, 2], [2, 3]], 25, axis=0).repeat(25, axis=1) / 125
    rows = np.array([rng.multinomial(6, row) for row in chance])
    y = np.repeat(["a", "b"], 25)
    found = tp.compare_neighbors(rows, y, points=points, n_neighbors=3)
    shares = rows / rows.sum(axis=1, keepdims=True)
    table = tp.emd_pairwise(shares, points=points)
    right = 0
    for at in range(50):
        order = [other for other in np.argsort(table[at], kind="stable") if other != at][:3]
        votes = y[order].tolist()
        right += max(votes, key=lambda one: (votes.count(one), -votes.index(one))) == y[at]
    assert found.accuracy["exact transport"] == pytest.approx(right / 50, abs=0.021)  # ties
    assert set(found.accuracy) == {*found.pvalues, "exact transport"} and len(found.pvalues) == 3
    for name, p in found.pvalues.items():
        assert p == mcnemar(found.correct["exact transport"], found.correct[name])
    assert "p against exact transport" in repr(found)
    with pytest.raises(ValueError, match="fewer than 60 others"):
        tp.compare_neighbors(rows, y, points=points, n_neighbors=60)
    with pytest.raises(ValueError, match="have one class"):
        tp.compare_neighbors(rows, ["a"] * 50, points=points)


def test_votes_and_p_values_are_those_of_textbooks():
    assert _votes(np.array([[1, 0, 0], [2, 1, 0], [0, 1, 1]])).tolist() == [0, 2, 1]
    one, other = np.array([True] * 9 + [False] * 3), np.array([False] * 8 + [True] * 4)
    # 8 cases that only the first has right, 3 that only the other has.
    assert mcnemar(one, other) == pytest.approx(2 * binom.cdf(3, 11, 0.5))
    assert mcnemar(one, one) == 1.0


@pytest.mark.skipif("TREEPORT_DATA" not in os.environ, reason="needs TREEPORT_DATA")
def test_transport_wins_on_short_texts_of_real_sports_news():
    folder = Path(os.environ["TREEPORT_DATA"], "bbcsport_w2v1k")
    from scipy import sparse

    rows, y = sparse.load_npz(folder / "docs.npz")[:150], np.load(folder / "labels.npy")
    points = np.load(folder / "embeddings.npy").astype(float)
    chosen = np.random.default_rng(0).permutation(737)[:150]
    rows = sparse.load_npz(folder / "docs.npz")[chosen]
    found = tp.compare_neighbors(rows, y[chosen], points=points)
    assert found.accuracy["exact transport"] > 0.6
