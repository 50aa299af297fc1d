"""The same word gives the same bytes from Python as from the command line.

The command line's own tests hold it to the library, so that all three agree.
"""

import json
import subprocess

import numpy as np
import pytest
import treeport as tp
from conftest import BINARY
from scipy import sparse
from treeport import _core

METHODS = [name for name, *_ in _core.methods()]


def run(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory, binary):
    """Points and counts, as arrays and as files."""
    rng = np.random.default_rng(7)
    points = rng.normal(size=(40, 3))
    counts = rng.poisson(0.4, size=(50, 40)) + np.eye(50, 40, dtype=np.int64)
    counts[40:, 0] += 1
    folder = tmp_path_factory.mktemp("faces")
    np.save(folder / "points.npy", points)
    sparse.save_npz(folder / "counts.npz", sparse.csr_array(counts.astype(np.float64)))
    return folder, points, counts


def data(folder):
    return "--points", folder / "points.npy", "--measures", folder / "counts.npz", "--normalize"


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_saves_the_same_bytes(files, method, seed, tmp_path):
    folder, points, counts = files
    ours, theirs = tmp_path / "python", tmp_path / "command-line"
    tw = tp.TreeWasserstein(points, method=method, n_pairs=60, random_state=seed).fit(counts)
    tw.save(ours)
    words = (
        "fit",
        *data(folder),
        "--method",
        method,
        "--n-pairs",
        60,
        "--seed",
        seed,
        "-o",
        theirs,
    )
    run(*words, "--with-metric")
    assert ours.read_bytes() == theirs.read_bytes()
    tw.save(ours, with_metric=False)
    run(*words)
    assert ours.read_bytes() == theirs.read_bytes()


def test_options_have_the_same_names_and_meaning(files, tmp_path):
    folder, points, counts = files
    options = {
        "start": "ward",
        "epochs": 7,
        "batch_size": 9,
        "learning_rate": 0.4,
        "schedule": "cosine",
        "validation_fraction": 0.3,
        "patience": 5,
        "loss": "squared",
        "n_pairs": 70,
    }
    for method, more in [
        ("auto", {}),
        ("ultrametric", {"scale": False}),
        ("learned-forest", {"n_trees": 3, "point_pairs": 40}),
        ("sliced-ctwd", {"n_trees": 2, "point_pairs": 50, "branching": 3, "depth": 2}),
    ]:
        chosen = {**more, "n_pairs": 70} if method == "sliced-ctwd" else {**options, **more}
        usual = tp.TreeWasserstein(points, method=method, **chosen).fit(counts).model_
        for name in chosen:  # an option that does nothing would agree, too
            fewer = {other: value for other, value in chosen.items() if other != name}
            changed = tp.TreeWasserstein(points, method=method, **fewer).fit(counts).model_
            assert changed != usual or (name == "patience"), f"{method} does not read {name}"
        ours, theirs = tmp_path / f"{method}-python", tmp_path / f"{method}-command-line"
        tp.TreeWasserstein(points, method=method, **chosen).fit(counts).save(ours)
        words = [
            ("--" + name.replace("_", "-"), str(value).lower()) for name, value in chosen.items()
        ]
        run(
            "fit", *data(folder), "--method", method, *sum(words, ()), "--with-metric", "-o", theirs
        )
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("method", ["auto", "forest"])
def test_eval_and_score_print_the_same_digits(files, method, tmp_path):
    folder, points, counts = files
    tw = tp.TreeWasserstein(points, method=method, random_state=3).fit(counts)
    tw.save(tmp_path / "model")
    shown = run("eval", tmp_path / "model", *data(folder), "--seed", 3, "--json")
    assert json.loads(shown.splitlines()[0])["error"] == -tw.score(counts)


@pytest.mark.parametrize("accuracy", ["tree", "flow", "arcs", "exact", "0.05"])
def test_estimates_are_the_same_digits(files, accuracy, tmp_path):
    folder, points, counts = files
    tw = tp.TreeWasserstein(points, method="average", random_state=3).fit(counts)
    tw.save(tmp_path / "model")
    measures = data(folder)[2:]
    shown = run("estimate", tmp_path / "model", *measures, "--accuracy", accuracy, "--n-pairs", 40)
    rows = np.array([line.split(",") for line in shown.splitlines()[1:]], dtype=float)
    left, right = rows[:, :2].astype(int).T
    level = float(accuracy) if accuracy[0].isdigit() else accuracy
    ours = tw.estimate(counts[left], counts[right], level)
    np.testing.assert_allclose(ours, rows[:, 2], rtol=1e-14)


def test_an_index_is_the_same_bytes_and_finds_the_same(files, tmp_path):
    folder, points, counts = files
    ours, theirs = tmp_path / "python", tmp_path / "command-line"
    neighbors = tp.WassersteinNeighbors(points, n_neighbors=4).fit(counts)
    neighbors.save(ours)
    run("index", *data(folder), "-o", theirs)
    assert ours.read_bytes() == theirs.read_bytes()
    shown = run("nearest", theirs, "-k", 4)
    rows = np.array([line.split(",") for line in shown.splitlines()[1:]], dtype=float)
    distances, numbers, bounds, _ = neighbors.kneighbors(return_bounds=True)
    assert (rows[:, 2] == numbers.ravel()).all() and (rows[:, 3] == distances.ravel()).all()
    assert (rows[::4, 4] == bounds).all()


def test_a_budget_only_chooses_how_many_pairs(files, tmp_path):
    folder, points, counts = files
    ours, theirs = tmp_path / "python", tmp_path / "command-line"
    tw = tp.TreeWasserstein(points, method="average", budget=0.002).fit(counts)
    assert 1 <= tw.n_pairs_ <= 50 * 49 // 2
    tw.save(ours)
    words = ("fit", *data(folder), "--method", "average", "--n-pairs", tw.n_pairs_, "-o", theirs)
    run(*words, "--with-metric")
    assert ours.read_bytes() == theirs.read_bytes()
    for budget in (0, -1, float("nan"), float("inf"), 1e300):
        with pytest.raises(ValueError, match="budget is .* seconds above 0"):
            tp.TreeWasserstein(points, budget=budget).fit(counts)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("--word-weights", "tfidf"), {"weights": "tfidf"}),
        (("--stop-words", "none"), {"stop_words": None}),
    ],
)
def test_texts_have_the_same_index_and_neighbors(words, options, binary, tmp_path):
    folder, vectors = tmp_path / "news", tmp_path / "glove.txt"
    rng = np.random.default_rng(3)
    known = ["the", *(f"word{at}" for at in range(40))]
    vectors.write_text("".join(f"{w} {' '.join(map(str, rng.normal(size=4)))}\n" for w in known))
    (folder / "a").mkdir(parents=True)
    said = {}
    for at in range(12):
        name = f"a/{at:02}" if at % 2 else f"{at:02}"
        said[name] = " ".join([*rng.choice(known, 9), "Unseen", "the", "x"]) + "."
        (folder / f"{name}.txt").write_text(said[name])
    said = {name: said[name] for name in sorted(said)}
    new = [" ".join(rng.choice(known, 5)) for _ in range(4)]
    (tmp_path / "new.txt").write_text("\n".join(new) + "\n")
    ours, theirs = tmp_path / "python", tmp_path / "command-line"
    run("index", "--texts", folder, "--vectors", vectors, *words, "-o", theirs)
    read = tp.read_word_vectors(vectors)
    for documents in (said, folder):
        news = tp.texts(documents, read, **options)
        index = tp.WassersteinNeighbors(points=news.points).fit(news.measures)
        index.save(ours)
        assert ours.read_bytes() == theirs.read_bytes()
    lines = run("nearest", theirs, "--texts", tmp_path / "new.txt", *words, "-k", 3, "--json")
    for queries in (new, tmp_path / "new.txt"):
        found = tp.texts(queries, news, **options)
        distances, numbers = index.kneighbors(found.measures, 3)
        rows = [json.loads(line) for line in lines.splitlines()]
        assert [row["distance"] for row in rows] == distances.ravel().tolist()
        names = list(said)
        assert [row["neighbor"] for row in rows] == [names[at] for at in numbers.ravel()]
