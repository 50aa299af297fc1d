# needs: gensim
# %% [markdown]
# # Documents and search
#
# Which news are about the same thing? 350 short news texts of 2001, as they come inside the package gensim: 300 to learn from, and 50 that people have
# compared. Lee, Pincombe and Welsh asked readers how similar each pair of those 50 is, so that we can ask whether
# a distance agrees with readers.
#
# ```sh
# pip install ./python matplotlib gensim     # in this repository
# ```
#
# **A point** is a word: its place says what it means. **A measure** is a document: how much of it is on which word.
# The distance of two documents is what it costs to move the words of one to the words of the other, so that two
# documents without a word in common can still be near.

# %%
from pathlib import Path

import gensim
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp
from scipy import sparse
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
# Word vectors are anything that puts words of similar use close to each other. Here they come from the texts
# themselves (latent semantic analysis: the singular vectors of the table of words), so that nothing has to be
# downloaded. All 350 texts are used for that, the readers' judgments are not. Vectors trained on more text are
# better: see the end.
#
# The mass of a word in a document is its TF-IDF weight, so that rare words count more than common ones. treeport
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
# `fit` solves 300 pairs of documents exactly and learns a tree over the words from them. The score on texts that it
# has not seen is the mean relative error, with a minus sign, as scikit-learn wants it.

# %%
tw = tp.TreeWasserstein(points=places).fit(masses)
print(tw.tree_)
print(f"mean relative error on new texts: {-tw.score(queries):.3f}")

# %% [markdown]
# ## Is that error small?
#
# An error means nothing alone. In high dimensions all distances are alike, so that *the same number for every pair*
# is not far off either. We solve all 1,225 pairs of the judged texts exactly and compare.

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
# The correlation with the judgments of readers, higher is better. The plain baselines are the cosine of TF-IDF
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
# Transport agrees with readers somewhat more than cosines do, and the tree is about as good as what it imitates. With 50
# texts such differences are small: do not read more into the third digit.
#
# What decides is where the words are. Had the places come from the 300 other texts alone, the words that only the judged texts have would
# all be in one place, and transport would be worse than the plain cosine:

# %%
fewer = TruncatedSVD(100, random_state=0).fit(normalize(masses))
poor = normalize((fewer.components_ * fewer.singular_values_[:, None]).T)
print(f"exact transport, places from fewer texts {agreement(-tp.emd_pairs(shares, pairs, points=poor)):.3f}")

# %% [markdown]
# ## Search
#
# `WassersteinNeighbors` finds the texts nearest by *exact* transport, proved, without solving all pairs. The tree has its
# own neighbors, which cost nearly nothing.

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
# The plan says which mass goes where. Here are the heaviest moves from the query to its nearest text.

# %%
a, b = shares[[query]], normalize(masses[[numbers[query, 0]]], norm="l1")
_, plan = tp.emd(a, b, points=places, return_plan=True)
plan = plan.tocoo()
for k in np.argsort(-plan.data)[:8]:
    print(f"{plan.data[k]:.3f}  {vocabulary[plan.row[k]]} → {vocabulary[plan.col[k]]}")

# %% [markdown]
# ## What to try next
#
# - Word vectors trained on much text (word2vec, GloVe, fastText) in place of `places`, and your own documents.
# - `method="learned-forest"`: 16 trees, slower, closer.
# - `tw.estimate(A, B, accuracy=0.02)` where 2 % is the error you can bear, and `tw.bounds(A, B)` for proofs:
#   [the dial](../GLOSSARY.md#the-dial).
# - Collections of 100,000 texts: [search](../SEARCH.md).
