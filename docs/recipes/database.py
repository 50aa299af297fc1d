# %% [markdown]
# # Recipe: a database
#
# *My documents are in a database. Can a `SELECT` find those nearest to a new one, with a filter on other columns?* A tree turns
# each document into a sparse row, with a column for each node: the share of the document below the node, times the length of its edge. The distance of two
# documents is the sum of the absolute differences of their rows, which is a join in any SQL. Here we use SQLite, which comes with Python. The words and documents are made up.

# %%
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
topic = rng.integers(5, size=300)
words = rng.normal(scale=2.0, size=(5, 8))[topic] + rng.normal(size=(300, 8))
about = rng.integers(5, size=400)
chances = np.where(topic == about[:, None], 20.0, 1.0)
chances /= chances.sum(axis=1, keepdims=True)
documents = np.array([rng.multinomial(30, chance) for chance in chances])  # 30 words each

tree = tp.TreeWasserstein(points=words).fit(documents[:300])
stored, years = documents[:399], 2000 + np.arange(399) % 20  # the last one asks
rows = tree.transform(stored).tocoo()  # document, node of the tree, value

database = sqlite3.connect(":memory:")
database.executescript("""
    CREATE TABLE documents (id INTEGER PRIMARY KEY, year INTEGER, total REAL);
    CREATE TABLE entries (node INTEGER, id INTEGER, value REAL, PRIMARY KEY (node, id)) WITHOUT ROWID;
    CREATE TEMP TABLE query (node INTEGER PRIMARY KEY, value REAL);
""")
totals = np.bincount(rows.row, rows.data, minlength=len(stored)).tolist()
records = zip(range(len(stored)), years.tolist(), totals)
database.executemany("INSERT INTO documents VALUES (?, ?, ?)", records)
records = zip(rows.col.tolist(), rows.row.tolist(), rows.data.tolist())
database.executemany("INSERT INTO entries VALUES (?, ?, ?)", records)

# %% [markdown]
# For nonnegative numbers, |a − b| = a + b − 2 min(a, b). So a distance is the sum of both totals minus twice what the two rows
# share. Only nodes that both rows have add to what they share. A document that shares none with the query is at the distance of both totals, and may still be
# among the nearest: hence the `LEFT JOIN`.

# %%
asked = tree.transform(documents[[399]]).tocoo()
records = zip(asked.col.tolist(), asked.data.tolist())
database.executemany("INSERT INTO query VALUES (?, ?)", records)
nearest = database.execute(
    """
    SELECT documents.id, total + :own - 2 * COALESCE(shared, 0) AS distance FROM documents LEFT JOIN
        (SELECT id, SUM(MIN(entries.value, query.value)) AS shared FROM query JOIN entries USING (node) GROUP BY id) USING (id)
    WHERE year >= 2010 ORDER BY distance LIMIT 5
    """,
    {"own": asked.data.sum()},
).fetchall()
by_tree = tree.pairwise(documents[[399]], stored)[0]
best = np.sort(by_tree[years >= 2010])[:5]
assert np.allclose([distance for _, distance in nearest], best)  # a check of this page
for number, distance in nearest:
    print(f"document {number}: {distance:.4f} by SQL, {by_tree[number]:.4f} by the tree")
print("the same subject:", sum(about[number] == about[399] for number, _ in nearest), "of 5")

# %%
shares = documents / documents.sum(axis=1, keepdims=True)  # exact distances want equal totals
exact = tp.emd_pairwise(shares[[399]], shares[:399], points=words)[0]
plt.figure(figsize=(4.6, 3.4))
plt.scatter(exact, by_tree, c=about[:399] == about[399], s=8, cmap="coolwarm")
plt.axline((exact.mean(), exact.mean()), slope=1, color="0.6", lw=1)
plt.gca().set(
    title="the last document and all others", xlabel="exact distance", ylabel="distance by SQL"
)
plt.tight_layout()

# %% [markdown]
# **How to read it.** Red documents have the subject of the query. SQL gives the tree's distance, which is close to the exact one
# but not equal to it: `tree.score(documents)` says how close, and `tp.emd_pairwise` ranks the best fifty again.
# Keep the tree (`tree.save("model.tree")`): rows of another tree cannot be compared with these. Leave out documents without words. In PostgreSQL and MySQL
# write `LEAST` for `MIN` with two arguments, and leave out `WITHOUT ROWID`.
#
# **What next.** PostgreSQL with pgvector has an index for such rows. With [the command line](../COMMANDS.md), and documents saved by `scipy.sparse.save_npz`, after
# `treeport export model.tree --measures docs.npz --queries new.npz --table docs -o rows.sql` and `psql -f rows.sql`
#
# ```sql
# SELECT id FROM docs ORDER BY embedding <+> (SELECT embedding FROM docs_queries WHERE id = 0) LIMIT 5;
# ```
#
# finds those nearest to the first query. [Indexes](../INDEXES.md): figures, and what else takes such rows. Exact answers: [search](../SEARCH.md).
