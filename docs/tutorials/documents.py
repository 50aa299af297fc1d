# needs: gensim
# %% [markdown]
# # Documents and search
#
# Which news texts are about the same thing? We take 350 short news texts of 2001 that come with the package gensim: 300 to learn from, and 50 that
# people have compared. Lee, Pincombe and Welsh asked readers how similar each pair of those 50 is. So we can check whether a distance agrees with readers.
#
# ```sh
# pip install ./python matplotlib gensim     # in this repository
# ```
#
# **A point** is a word; its coordinates say what it means. **A measure** is a document: how much of it is on which word.
# The distance between two documents is what it costs to move the words of one to the words of the other. So two
# documents without a word in common can still be near.

# %%
from pathlib import Path

import gensim
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import treeport as tp
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

folder = Path(gensim.__file__).parent / "test" / "test_data"
news = (folder / "lee_background.cor").read_text("utf-8").strip().split("\n")
judged = (folder / "lee.cor").read_text("latin-1").strip().split("\n")
similar = np.loadtxt(folder / "similarities0-1.txt")  # by readers, from 0 to 1
print(len(news), "texts to learn from,", len(judged), "judged by readers")
print(judged[0][:95], "…")

# %% [markdown]
# ## Words with places, documents with masses
#
# Any word vectors will do that put words of similar use close to each other. Here they come from the texts
# themselves (latent semantic analysis: the singular vectors of the table of words), so nothing has to be
# downloaded. They use all 350 texts, but not the readers' judgments. Vectors trained on more text are
# better: see the end.
#
# The mass of a word in a document is its TF-IDF weight, so rare words count more than common ones. treeport
# divides every row by its total.

# %%
words = TfidfVectorizer(stop_words="english", min_df=2, sublinear_tf=True, norm=None)
table = sparse.csr_array(words.fit_transform(news + judged))
masses, queries = table[: len(news)], table[len(news) :]

svd = TruncatedSVD(100, random_state=0).fit(normalize(table))
places = normalize((svd.components_ * svd.singular_values_[:, None]).T)
print(f"{places.shape[0]} words in {places.shape[1]} dimensions")

vocabulary = words.get_feature_names_out()
word = words.vocabulary_["government"]
closest = np.argsort(-places @ places[word])[:6]
print("closest to 'government':", ", ".join(vocabulary[closest[1:]]))

# %% [markdown]
# ## Fit
#
# `fit` solves 300 pairs of documents exactly and learns a tree over the words from them. The score on new texts is the mean relative error with a
# minus sign, because scikit-learn expects that a higher score is better.

# %%
tw = tp.TreeWasserstein(points=places).fit(masses)
print(tw.model_)
print(f"mean relative error on new texts: {-tw.score(queries):.3f}")

# %% [markdown]
# ## Is that error small?
#
# An error alone means nothing. In high dimensions all distances are similar, so even *the same number for every pair*
# is not far off. We solve all 1,225 pairs of the judged texts exactly and compare.

# %%
first, second = np.triu_indices(len(judged), 1)
pairs = np.column_stack([first, second])
shares = normalize(queries, norm="l1")
exact = tp.emd_pairs(shares, pairs, points=places)
tree = tw.pairwise(queries)[first, second]


def error(distances):
    return np.mean(np.abs(distances - exact) / exact)


numbers = np.linspace(exact.min(), exact.max(), 1000)
print(f"tree                               {error(tree):.3f}")
print(f"the best number for all pairs      {min(error(number) for number in numbers):.3f}")

# %%
plt.figure(figsize=(4.6, 4.2))
plt.scatter(exact, tree, s=6, alpha=0.5)
plt.axline((exact.min(), exact.min()), slope=1, color="gray", lw=1)
plt.xlabel("exact distance")
plt.ylabel("distance by the tree")
plt.title("1,225 pairs of news texts")
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Do readers agree?
#
# We compute the correlation with the judgments of the readers; higher is better. The plain baselines are the cosine of TF-IDF
# vectors, which sees only words in common, and the cosine of the documents' own latent vectors.

# %%
readers = similar[first, second]
rows = normalize(queries)
latent = normalize(svd.transform(rows))


def agreement(similarity):
    return np.corrcoef(similarity, readers)[0, 1]


print(f"TF-IDF cosine             {agreement((rows @ rows.T).toarray()[first, second]):.3f}")
print(f"latent cosine             {agreement((latent @ latent.T)[first, second]):.3f}")
print(f"exact transport           {agreement(-exact):.3f}")
print(f"tree                      {agreement(-tree):.3f}")

# %% [markdown]
# Transport agrees with readers somewhat more than cosines do, and the tree is about as good as exact transport. With only 50
# texts, do not read much into the third digit.
#
# Good word vectors are what matters. If the vectors come from the 300 other texts alone, all words that occur only in the judged texts get
# the same coordinates, and transport is worse than the plain cosine:

# %%
fewer = TruncatedSVD(100, random_state=0).fit(normalize(masses))
poor = normalize((fewer.components_ * fewer.singular_values_[:, None]).T)
print(
    f"exact transport, places from fewer texts {agreement(-tp.emd_pairs(shares, pairs, points=poor)):.3f}"
)

# %% [markdown]
# ## Search
#
# `WassersteinNeighbors` finds the texts nearest by *exact* transport, with a proof, without solving all pairs. The tree finds its
# own neighbors at nearly no cost.

# %%
nearest = tp.WassersteinNeighbors(points=places, n_neighbors=3).fit(masses)
distances, numbers = nearest.kneighbors(queries)
_, by_tree = tw.kneighbors(queries, masses, n_neighbors=3)
same = np.mean([len(set(a) & set(b)) / 3 for a, b in zip(numbers, by_tree)])
print(f"of the 3 nearest of each text the tree finds {same:.0%}")

query = 18
print("\nquery:", judged[query][:90], "…")
for distance, number in zip(distances[query], numbers[query]):
    print(f"{distance:.3f}", news[number][:90], "…")

# %% [markdown]
# ## Why are they near?
#
# The transport plan says which mass goes where. These are the largest moves from the query to its nearest text, and below them the same plan between groups of
# words, each named by its most frequent word.

# %%
a, b = shares[[query]], normalize(masses[[numbers[query, 0]]], norm="l1")
plan = tp.solve(a, b, points=pd.DataFrame(places, index=vocabulary))
print(plan.plan_table.head(8).to_string(index=False))

# %%
group = KMeans(30, random_state=0).fit_predict(places)
frequency = np.asarray(masses.sum(axis=0)).ravel()
heads = [vocabulary[np.argmax(np.where(group == one, frequency, -1))] for one in range(30)]
by = plan.plan_by([heads[one] for one in group])
print(by.table.head(6).round(3).to_string(index=False))

# %% [markdown]
# ## What to try next
#
# - Word vectors trained on a lot of text (word2vec, GloVe, fastText) in place of `places`, and your own documents.
# - `method="learned-forest"`: 16 trees, slower but closer.
# - `tw.estimate(A, B, accuracy=0.02)`, if you can accept an error of 2 %, and `tw.bounds(A, B)` for proofs:
#   [the dial](../GLOSSARY.md#the-dial).
# - Collections of 100,000 texts: [search](../SEARCH.md).
