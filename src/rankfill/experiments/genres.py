"""Measures of the coherence of topics by the genres of their items."""

import itertools
from collections.abc import Sequence

import numpy as np

from rankfill.data import Dataset
from rankfill.data.vocabulary import Id
from rankfill.topics import Topic


def genres_of(data: Dataset, item: Id) -> set[str]:
    """The genres of an item; none where they are not known."""
    return set(data.genres.get(item, ())) if isinstance(item, int) else set()


def coherence(data: Dataset, topics: Sequence[Topic]) -> float:
    """The mean likeness of two items of a topic: genres in common over all genres of the two."""
    pairs = (pair for topic in topics for pair in itertools.combinations(topic.items, 2))
    genres = ((genres_of(data, a), genres_of(data, b)) for a, b in pairs)
    return float(np.mean([len(a & b) / max(len(a | b), 1) for a, b in genres]))


def purity(data: Dataset, topics: Sequence[Topic]) -> float:
    """The share of a topic's items with the genre that sets it apart, less that of all ratings; the mean over topics.

    Of some genre there are more than usual in any handful of items, so chance is above 0; 1 less the usual share is the
    most there can be.
    """
    names = sorted({genre for genres in data.genres.values() for genre in genres})
    has = np.array([[name in genres_of(data, item) for name in names] for item in data.ratings.items])
    counts = data.ratings.by_item.counts()
    usual, found = counts @ has / counts.sum(), []
    for topic in topics:
        share = has[data.ratings.items.index(topic.items)].mean(axis=0)
        worth = share * np.log(np.maximum(share, 1e-9) / np.maximum(usual, 1e-9))
        found.append(share[np.argmax(worth)] - usual[np.argmax(worth)])
    return float(np.mean(found))
