# %% [markdown]
# # Recipe: words in context
#
# *Do two sentences say the same thing, though they share few words?* A language model gives every word of a sentence a vector that
# depends on the words around it: the *bank* of a river gets another vector than the *bank* that lends. So a sentence is a cloud of
# vectors, and transport pairs the words of one with those of the other. Here the vectors are made up, so this page needs no
# model: each word has a topic, and its vector leans toward those of its neighbors.

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

topics = {
    "river": "river water shore stream boat",
    "money": "loan money lender credit interest",
    "people": "she he they children clients",
    "deeds": "fished swam sailed paid owed borrowed",
}
rng = np.random.default_rng(0)
center = {topic: rng.normal(size=16) for topic in topics}
own = {
    word: center[topic] + 0.3 * rng.normal(size=16)
    for topic in topics
    for word in topics[topic].split()
}
own["bank"] = (center["river"] + center["money"]) / 2  # its context decides


def encode(sentence):
    """One vector a word, half its own and half of the words beside it; words without a vector are left out.

    Put your language model here: an array with one row for each token, without special tokens and padding.
    """
    words = [word for word in sentence.split() if word in own]
    alone = np.array([own[word] for word in words])
    around = [alone[max(0, at - 2) : at + 3].mean(axis=0) for at in range(len(words))]
    return words, (alone + around) / 2


sentences = [
    "she fished from the bank of the river",
    "he swam to the shore of the stream",
    "the bank paid interest on the loan",
    "they owed the lender money",
    "children sailed a boat on the water",
    "clients borrowed credit from the bank",
]
encoded = [encode(sentence) for sentence in sentences]
clouds = tp.Clouds([vectors for _, vectors in encoded])
distances, numbers = tp.WassersteinNeighbors(n_neighbors=1).fit(clouds).kneighbors()
assert numbers[0, 0] == 1  # a check of this page
for sentence, distance, number in zip(sentences, distances[:, 0], numbers[:, 0]):
    print(f"{distance:.2f}  {sentence}  →  {sentences[number]}")

# %%
pairs = (0, 1), (0, 2)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4))
for axis, (one, other) in zip(axes, pairs):
    (words, x), (others, y) = encoded[one], encoded[other]
    distance, plan = tp.emd(None, None, x, y, return_plan=True)
    axis.imshow(plan.toarray(), cmap="Blues")
    axis.set(title=f"distance {distance:.2f}", yticks=range(len(words)), yticklabels=words)
    axis.set_xticks(range(len(others)), others, rotation=40)
plt.tight_layout()

# %% [markdown]
# **How to read it.** A dark square is mass that goes from the word of its row to the word of its column. The two sentences of the left
# panel share no word but *the* and *of*, which have no vector here, and are near. Those of the right panel share *bank*, and are far apart.
#
# **Mind.** `kneighbors()` leaves each sentence itself out. For a new one: `kneighbors([encode(new)[1]])`. For vectors of a language model `metric="cosine"` is usual.
#
# **What next.** Documents over one vocabulary, with masses from TF-IDF: [documents](../tutorials/documents.py). Many sentences:
# the index is the same, and [search](../SEARCH.md#clouds) has its figures. In a database: [a database](database.py).
