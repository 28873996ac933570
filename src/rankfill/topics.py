"""Factors read as topics: those of a model, or those found in ratings for the purpose (`topic_factors.py`).

A prediction is p_u·q_i = Σ_k p_uk q_ik: factor k carries the term p_uk q_ik of it. With p̄_k the mean of p_uk over
the training ratings (users weighted by how many they gave), and q̄_k likewise of q_ik,

    share of factor k      s_k = p̄_k q̄_k / Σ_l p̄_l q̄_l
    lift of item i in k    (p̄_k q_ik / Σ_l p̄_l q_il) / s_k

Neither depends on how the scale of a factor is spread over users and items. Where factors have signs, magnitudes
take the place of values in all of these, and items are listed by magnitude; the weights shown keep their sign, and
items of opposite signs are opposite ends of the factor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.accepting import RatingsLike, as_ratings
from rankfill.data.dataset import Dataset
from rankfill.data.vocabulary import Id
from rankfill.models import Model
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.settings import check_seed, check_whole
from rankfill.topic_factors import find_factors
from rankfill.topic_labels import STRONGEST, Labels

By = Literal["weight", "lift"]


@dataclass(frozen=True)
class Topic:
    """The strongest items of one factor, strongest first. Prints as one line.

    Attributes
    ----------
    factor : int
        Number of the factor: a column of `item_factors_`, or the place of a topic found in ratings.
    items : tuple
        Ids of the items.
    titles : tuple of str
        Their titles; an id without a title stands for itself.
    weights : tuple of float
        The weight of each item in the factor, or its lift with ``by="lift"``.
    share : float
        The part of the mean prediction that the factor carries; of a topic found in ratings, of what they are made of.
    label : str
        The genres and the decades that set its items apart, where genres or years are known and do.

    Examples
    --------
    >>> print(Topic(factor=0, items=(7, 9), titles=("Alien", "Aliens"), weights=(2.1, 1.8), share=0.52))
    Topic 0 (52.0%): Alien · Aliens
    """

    factor: int
    items: tuple[Id, ...]
    titles: tuple[str, ...]
    weights: tuple[float, ...]
    share: float
    label: str = ""

    def __str__(self) -> str:
        label = f", {self.label}" if self.label else ""
        return f"Topic {self.factor}{label} ({self.share:.1%}): {' · '.join(self.titles) or 'no items'}"


def topics(
    source: Model | Dataset | RatingsLike,
    n: int = 5,
    titles: Mapping[Any, str] | None = None,
    *,
    genres: Mapping[Any, Sequence[str]] | None = None,
    by: By = "weight",
    min_ratings: float | None = None,
    n_topics: int | None = None,
    seed: int = 0,
) -> list[Topic]:
    """Shows what goes together: the strongest items of each topic of ratings, or of each factor of a model.

    Topics come in the order of their share. An item without weight in a topic is not listed.

    Parameters
    ----------
    source : Ratings, or whatever `as_ratings` makes some of, Dataset or Model
        In ratings, topics are found by non-negative factors made to be read. Of a fitted model its factors are read;
        those of non-negative models say most, and a model without factors is refused.
    n : int, default=5
        Number of items per topic; at least 1.
    titles : mapping, optional
        Titles by id; an id that is not in it stands for itself. By default those of the data set, or ids. Years in
        brackets at their end go into the labels.
    genres : mapping, optional
        The genres of each item by id, for labels. By default those of the data set, or none.
    by : {"weight", "lift"}, default="weight"
        What to sort items by. "weight" is their coefficient in the factor, as in Blondel, Kubo and Ueda (2014, table
        3): widely liked items can lead several factors of a model. "lift" is how much more the factor carries of this
        item's predictions than of all predictions: 2 is twice as much. It picks what is peculiar to the topic, at the
        risk of noise. By the genres of MovieLens neither gave clearly more coherent topics.
    min_ratings : float, optional
        Fewest ratings of an item that is listed. By default the mean over items for topics of ratings and for lifts,
        because a few ratings leave a row close to its random start; 1 for the weights of a model.
    n_topics : int, optional
        How many topics to find in ratings. By default as many as hold up between two halves of the users.
    seed : int, default=0
        Deals the users into halves.

    Returns
    -------
    list of Topic
        One per topic or factor.

    Examples
    --------
    >>> import rankfill as rf
    >>> for topic in rf.topics(rf.synthetic.film_club(), n=1)[:3]:
    ...     print(topic)
    Topic 0, comedy (17.7%): Who Borrowed the Submarine (comedy)
    Topic 1, crime (17.4%): The Silence of the Chess Club (crime)
    Topic 2, horror (17.4%): Whispers in Crow Hill (horror)
    """
    if by not in get_args(By):
        raise ValueError(f"by must be one of {', '.join(get_args(By))}, found {by!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1, found {n}")
    if isinstance(source, Dataset):
        titles, genres = titles or source.titles, genres or source.genres
        source = source.ratings
    factors = _of_model(source, n_topics) if isinstance(source, Model) else _of_ratings(source, n_topics, seed)
    listed = _often_rated(factors.counts, by, min_ratings)
    shares = _shares(factors.typical_user * factors.typical_item)
    weights: NDArray[np.floating] = factors.items[listed]
    if by == "lift":
        parts = np.abs(weights) * factors.typical_user
        weights = np.sign(weights) * _ratio(_ratio(parts, parts.sum(axis=1, keepdims=True)), shares)
    labels = Labels(factors.ids.ids().tolist(), factors.counts, titles or {}, genres or {})
    order = np.argsort(-shares, kind="stable")
    return [
        _topic(factors, number if factors.found else int(k), listed, weights[:, k], float(shares[k]), n, titles, labels)
        for number, k in enumerate(order)
    ]


class _Factors(NamedTuple):
    """The source of topics; `found` where it was found for the purpose and the order of factors means nothing."""

    ids: Vocabulary
    counts: NDArray[np.int64]
    typical_user: NDArray[np.float64]
    typical_item: NDArray[np.float64]
    items: NDArray[np.floating]
    found: bool


def has_readable_factors(model: Model) -> bool:
    """Whether the factors of a fitted model can be read as topics: there are some, and none is negative."""
    factors = isinstance(model, FactorModel) and model.readable_factors
    return factors and bool(model.item_factors_.min(initial=0) >= 0)


def _of_model(model: Model, n_topics: int | None) -> _Factors:
    if not isinstance(model, FactorModel) or not model.readable_factors:
        raise TypeError(
            f"{type(model).__name__} has no factors that could be read as topics; give the ratings instead, in which "
            "topics are found: rankfill.topics(ratings)"
        )
    if n_topics is not None:
        raise ValueError(f"a model has as many topics as factors, found n_topics={n_topics}; leave it out")
    model._check_fitted()
    counts = model._item_counts.array
    typical_user = _typical_row(model._user_counts.array, model.user_factors_)
    typical_item = _typical_row(counts, model.item_factors_)
    return _Factors(model.items_, counts, typical_user, typical_item, model.item_factors_, False)


def _of_ratings(source: RatingsLike, n_topics: int | None, seed: int) -> _Factors:
    ratings = as_ratings(source)
    if n_topics is not None:
        check_whole("n_topics", n_topics, 1)
    check_seed(seed)
    if len(ratings) == 0:
        raise ValueError("there are no ratings to find topics in; give at least one")
    typical_user, items = find_factors(ratings, n_topics, seed)
    counts = ratings.by_item.counts()
    return _Factors(ratings.items, counts, typical_user, _typical_row(counts, items), items, True)


def ratings_behind(model: Model) -> Ratings | None:
    """The pairs that the users of a fitted model have rated, each as 1; None where it was saved without them."""
    view = model._view()
    if view._seen is None:
        return None
    indptr, items = view._seen.all_rows()
    users = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return Ratings.from_indices(view.users_, view.items_, users, items, np.ones(len(items), np.float32))


def _often_rated(counts: NDArray[np.int64], by: By, min_ratings: float | None) -> NDArray[np.intp]:
    """Row numbers of the items with enough ratings to be listed."""
    rated = counts[counts > 0]
    if min_ratings is None:
        min_ratings = 1 if by == "weight" else rated.sum() / max(len(rated), 1)
    listed = np.flatnonzero(counts >= max(min_ratings, 1))
    if len(listed) == 0 and len(rated):
        raise ValueError(f"no item has {min_ratings} ratings, the most is {rated.max()}; lower min_ratings")
    return listed


def _typical_row(counts: NDArray[np.int64], rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean magnitudes of factors, each row weighted by its ratings."""
    return _ratio(counts.astype(np.float32) @ np.abs(rows), np.float64(counts.sum()))


def _topic(
    factors: _Factors,
    number: int,
    listed: NDArray[np.intp],
    weights: NDArray[np.floating],
    share: float,
    n: int,
    titles: Mapping[Any, str] | None,
    labels: Labels,
) -> Topic:
    strongest = _largest(np.abs(weights), max(n, STRONGEST))
    best = strongest[:n]
    ids = factors.ids.ids(listed[best]).tolist()
    names = tuple(str((titles or {}).get(identity, identity)) for identity in ids)
    label = labels.label(listed[strongest])
    return Topic(number, tuple(ids), names, tuple(weights[best].tolist()), share, label)


def _largest(values: NDArray[np.floating], n: int) -> NDArray[np.intp]:
    """Positions of the n largest values above 0, largest first, equal ones in their order."""
    least = np.partition(values, -n)[-n] if n < len(values) else 0.0
    candidates = np.flatnonzero((values >= least) & (values > 0))
    return candidates[np.argsort(-values[candidates], kind="stable")][:n]


def _shares(values: NDArray[np.floating]) -> NDArray[np.float64]:
    return _ratio(values, values.sum(dtype=np.float64))


def _ratio(part: NDArray[np.floating], whole: Any) -> NDArray[np.float64]:
    """Zero where there is nothing to divide by."""
    ratio = np.zeros(part.shape)
    np.divide(part, whole, out=ratio, where=np.asarray(whole) > 0)
    return ratio
