"""Documents as bags of words: which of them are about the same thing?

Words have coordinates (an embedding), so that documents without a word in common can still be close. The
vocabulary here is made up: four topics, and words scattered around each of them.
"""

import numpy as np
import treeport as tp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

rng = np.random.default_rng(0)
topics = rng.normal(size=(4, 10))
words = np.repeat(topics, 50, axis=0) + 0.7 * rng.normal(size=(200, 10))

# Five words a document, about half of them of its own topic.
label = rng.integers(4, size=400)
topic = np.where(rng.random((400, 5)) < 0.5, label[:, None], rng.integers(4, size=(400, 5)))
documents = np.zeros((400, 200))
np.add.at(documents, (np.arange(400)[:, None], 50 * topic + rng.integers(50, size=(400, 5))), 1)

tw = tp.TreeWasserstein(points=words).fit(documents[:300])
print(f"mean relative error on new documents: {-tw.score(documents[300:]):.3f}")

neighbors = make_pipeline(tw, KNeighborsClassifier(5, metric="manhattan"))
neighbors.fit(documents[:300], label[:300])
print(f"topics found by 5 nearest documents: {neighbors.score(documents[300:], label[300:]):.2f}")

plain = KNeighborsClassifier(5, metric="manhattan").fit(documents[:300], label[:300])
print(f"the same without the embedding: {plain.score(documents[300:], label[300:]):.2f}")
