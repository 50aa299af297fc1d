# %% [markdown]
# # Recipe: texts
#
# *Which of my texts are about the same thing, and does transport find out better than counting words?* A text is a measure on its words, and a word is a point, its vector. The texts here are
# made up of words of four subjects, and so are the vectors, which are written as GloVe writes them. With your own: `"glove.6B.100d.txt"`, a file of word2vec (text or binary), or
# fastText's `.vec`; all may be gzip.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
subjects = {
    "sea": "ship wave sail harbor storm tide captain anchor mast reef deck island".split(),
    "kitchen": "bread oven flour salt butter soup onion recipe knife pan sugar stove".split(),
    "court": "judge law trial witness jury appeal verdict lawyer crime prison oath clerk".split(),
    "garden": "rose soil seed leaf hedge spade bloom root rain tulip lawn compost".split(),
}
path = Path(tempfile.mkdtemp(), "vectors.txt")
with path.open("w") as file:
    for subject, center in zip(subjects.values(), rng.normal(size=(4, 20))):
        for word in subject:
            numbers = center + 0.9 * rng.normal(size=20)
            file.write(f"{word} {' '.join(f'{number:.4f}' for number in numbers)}\n")

names = list(subjects)
everything = [word for words in subjects.values() for word in words]
about = rng.choice(names, size=80)
documents = [
    "The " + " and ".join([*rng.choice(subjects[subject], 3), *rng.choice(everything, 2)]) + "."
    for subject in about
]
print(documents[0])

# %%
news = tp.texts(documents, path)  # or weights="tfidf", or vectorizer= one of scikit-learn's
print(news)
nearest = tp.WassersteinNeighbors(points=news, n_neighbors=1).fit(news)
distances, numbers = nearest.kneighbors()
print(documents[numbers[0, 0]], f"at distance {distances[0, 0]:.2f}")

# %%
found = tp.compare_neighbors(news, about)
print(found)
assert found.accuracy["exact transport"] > found.accuracy["TF-IDF cosine"]  # a check of this page

# %%
figure, axis = plt.subplots(figsize=(6, 2.2))
axis.barh(list(found.accuracy), list(found.accuracy.values()), color="tab:blue")
axis.set(xlabel="right, leaving one out", title="does transport pay?", xlim=(0, 1))
plt.tight_layout()

# %% [markdown]
# **How to read it.** Short texts about one thing often share no word, which the cosine of TF-IDF vectors cannot see. p is McNemar's test of the texts that only one of two methods has right. On
# long texts, where many words are shared, transport gains little: [figures on real texts](../TEXTS.md). So compare before you decide.
#
# **What next.** Words that are unknown are in `news.unknown`. Where words go: [the tutorial](../tutorials/documents.py). Vectors from language models:
# [words in context](contextual_words.py).
