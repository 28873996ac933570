"""Factors read as topics, and predictions read as sums over topics.

A prediction is p_u·q_i = Σ_k p_uk q_ik: factor k carries the term p_uk q_ik of it. With p̄_k the mean of p_uk over
the training ratings (users weighted by how many they gave), and q̄_k likewise of q_ik,

    share of factor k      s_k = p̄_k q̄_k / Σ_l p̄_l q̄_l
    lift of item i in k    (p̄_k q_ik / Σ_l p̄_l q_il) / s_k

Neither depends on how the scale of a factor is spread over users and items. Where factors have signs, magnitudes
take the place of values in all of these, and items are listed by magnitude; the weights shown keep their sign, and
items of opposite signs are opposite ends of the factor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankfill.data.vocabulary import Id
from rankfill.models import Model
from rankfill.models.factors import FactorModel

By = Literal["weight", "lift"]


@dataclass(frozen=True)
class Topic:
    """The strongest items of one factor, strongest first."""

    factor: int
    items: tuple[Id, ...]
    titles: tuple[str, ...]
    weights: tuple[float, ...]
    share: float
    """The part of the mean prediction that the factor carries."""

    def __str__(self) -> str:
        return f"Topic {self.factor} ({self.share:.1%}): {' · '.join(self.titles) or 'no items'}"


@dataclass(frozen=True)
class Reason:
    """What one factor adds to the prediction for one item."""

    item: Id
    factor: int
    contribution: float
    share: float
    """Of the magnitude of all contributions; of the prediction itself, where there are no negative ones."""


def topics(
    model: Model,
    n: int = 5,
    titles: Mapping[Any, str] | None = None,
    *,
    by: By = "weight",
    min_ratings: float | None = None,
) -> list[Topic]:
    """The n strongest items of each factor, factors with the largest share of the mean prediction first.

    by="weight" sorts items by their coefficient q_ik, as Blondel, Kubo and Ueda (2014, table 3) do: widely liked
    items can lead several topics. by="lift" sorts by how much more the factor carries of this item's predictions
    than of all: 2 is twice as much. It picks what is peculiar to the topic, at the risk of noise. By the genres
    of MovieLens neither gave clearly more coherent topics, so the paper's is the default.

    Only items with at least `min_ratings` ratings are listed. The default is 1 for weights; for lifts it is the mean
    over items, as a few ratings leave a row close to its random start. An item without weight in a factor is not
    listed. `titles` maps ids to titles; an id that is not in it stands for itself.

    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 5, None, 1], [5, None, 1, 1], [1, None, 5, 5], [None, 1, 5, 5]])
    >>> model = rf.PassiveAggressive(rank=2, C=0.1, recipe="paper", passes=50, tol=None, seed=1).fit(ratings)
    >>> for topic in topics(model, n=2, titles={0: "Alien", 1: "Aliens", 2: "Emma", 3: "Persuasion"}):
    ...     print(topic)
    Topic 1 (52.0%): Aliens · Alien
    Topic 0 (48.0%): Emma · Persuasion
    """
    factors = _readable(model)
    if by not in get_args(By):
        raise ValueError(f"by must be one of {', '.join(get_args(By))}, found {by!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1, found {n}")
    listed = _listed(factors, by, min_ratings)
    typical_user, typical_item = _typical(factors)
    shares = _normalised(typical_user * typical_item)
    weights: NDArray[np.floating] = factors.item_factors_[listed]
    if by == "lift":
        parts = np.abs(weights) * typical_user
        weights = np.sign(weights) * _ratio(_ratio(parts, parts.sum(axis=1, keepdims=True)), shares)
    return [
        _topic(factors, int(k), listed, weights[:, k], float(shares[k]), n, titles or {})
        for k in np.argsort(-shares, kind="stable")
    ]


def explain(model: Model, user: Id, items: ArrayLike, n: int = 3) -> list[Reason]:
    """The n factors that carry most of the prediction for a user and one item or several, item by item.

    All contributions for an item sum to p_u·q_i, the prediction before it is clipped to the range of the ratings;
    factors that add nothing are left out. A user or an item the model has not learned is explained by the mean
    row that stands in for it in `predict`; for a pair of both there is no reason to give, which is an error.

    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 5, None, 1], [5, None, 1, 1], [1, None, 5, 5], [None, 1, 5, 5]])
    >>> model = rf.PassiveAggressive(rank=2, C=0.1, recipe="paper", passes=50, tol=None, seed=1).fit(ratings)
    >>> reason = explain(model, 3, 2, n=1)[0]
    >>> f"factor {reason.factor} gives {reason.contribution:.1f} of {model.predict(3, 2):.1f}"
    'factor 0 gives 4.8 of 5.0'
    """
    factors = _readable(model)
    if n < 1:
        raise ValueError(f"n must be at least 1, found {n}")
    asked = np.atleast_1d(np.asarray(items))
    user_row = int(factors._learned_users(factors.users_.index([user]))[0])
    item_rows = factors._learned_items(factors.items_.index(asked))
    if user_row < 0 and (item_rows < 0).any():
        raise ValueError(
            f"user {user!r} and item {asked[item_rows < 0].tolist()[0]!r} are both unknown to the model, which then "
            "predicts the mean rating; ask for a user or an item with ratings in training"
        )
    p = factors._default_user()[: factors.rank_] if user_row < 0 else factors.user_factors_[user_row]
    q = np.where((item_rows < 0)[:, None], factors._default_item()[: factors.rank_], factors.item_factors_[item_rows])
    contributions = q.astype(np.float64) * p
    return [
        Reason(item, int(k), float(each[k]), float(shares[k]))
        for item, each in zip(asked.tolist(), contributions, strict=True)
        for shares in [_normalised(np.abs(each))]
        for k in _largest(shares, n)
    ]


def _readable(model: Model) -> FactorModel:
    if not isinstance(model, Model):
        raise TypeError(f"topics are read from a rankfill model, found {type(model).__name__}")
    if not isinstance(model, FactorModel) or not model.readable_factors:
        raise TypeError(
            f"{type(model).__name__} has no factors that could be read as topics; "
            "use a factor model such as PassiveAggressive"
        )
    model._check_fitted()
    return model


def _listed(model: FactorModel, by: By, min_ratings: float | None) -> NDArray[np.intp]:
    """Row numbers of the items with enough ratings."""
    counts = model._item_counts.array
    learned = counts[counts > 0]
    if min_ratings is None:
        min_ratings = 1 if by == "weight" else learned.sum() / max(len(learned), 1)
    listed = np.flatnonzero(counts >= max(min_ratings, 1))
    if len(listed) == 0 and len(learned):
        raise ValueError(f"no item has {min_ratings} ratings, the most is {learned.max()}; lower min_ratings")
    return listed


def _typical(model: FactorModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean magnitudes of a user's and an item's factors, each row weighted by its ratings."""
    return tuple(  # type: ignore[return-value]
        _ratio(counts.astype(np.float32) @ np.abs(rows), np.float64(counts.sum()))
        for counts, rows in (
            (model._user_counts.array, model.user_factors_),
            (model._item_counts.array, model.item_factors_),
        )
    )


def _topic(
    model: FactorModel,
    factor: int,
    listed: NDArray[np.intp],
    weights: NDArray[np.floating],
    share: float,
    n: int,
    titles: Mapping[Any, str],
) -> Topic:
    best = _largest(np.abs(weights), n)
    ids = model.items_.ids(listed[best]).tolist()
    names = tuple(str(titles.get(identity, identity)) for identity in ids)
    return Topic(factor, tuple(ids), names, tuple(weights[best].tolist()), share)


def _largest(values: NDArray[np.floating], n: int) -> NDArray[np.intp]:
    """Positions of the n largest values above 0, largest first, equal ones in their order."""
    least = np.partition(values, -n)[-n] if n < len(values) else 0.0
    candidates = np.flatnonzero((values >= least) & (values > 0))
    return candidates[np.argsort(-values[candidates], kind="stable")][:n]


def _normalised(values: NDArray[np.floating]) -> NDArray[np.float64]:
    return _ratio(values, values.sum(dtype=np.float64))


def _ratio(part: NDArray[np.floating], whole: Any) -> NDArray[np.float64]:
    """Zero where there is nothing to divide by."""
    ratio = np.zeros(part.shape)
    np.divide(part, whole, out=ratio, where=np.asarray(whole) > 0)
    return ratio
