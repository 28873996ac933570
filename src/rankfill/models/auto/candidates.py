"""The models that `Auto` tries. To add one, add a line: a model, what a fit of it costs, which ratings it learns from.

Costs are seconds on two ordinary cores, estimated from the number of ratings n, of users u and of items i. They decide
what is tried within a time, so that the same ratings give the same choice on a slow machine and on a fast one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.liked import LikedWord, liked_entries
from rankfill.models.alternating.als import ALS
from rankfill.models.base.model import Model
from rankfill.models.bayesian.model import BayesianMF
from rankfill.models.bias import Bias
from rankfill.models.gradient.sgd import SGD
from rankfill.models.popularity import Popularity
from rankfill.models.regression.item_regression import ItemRegression


class Sizes(NamedTuple):
    """How much there is to learn from."""

    n_ratings: int
    n_users: int
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings) -> "Sizes":
        """Those of the users and items that have ratings."""
        n_items = int(np.count_nonzero(np.bincount(ratings.item_indices, minlength=ratings.n_items)))
        return cls(len(ratings), int(np.count_nonzero(ratings.by_user.counts())), n_items)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model with its settings, and what is known of it before it is tried."""

    model: Model
    seconds: Callable[[Sizes], float]
    """What a fit takes."""
    learns: LikedWord = "all"
    """From which ratings it learns; where not from all, each of them counts 1."""
    rehearsal: "Candidate | None" = None
    """What is tried in its place where the winner is fitted anew: the same model with less work, in shorter trials."""

    @property
    def name(self) -> str:
        """The model as one would write it."""
        return repr(self.model)

    def for_trial(self, refitted: bool) -> "Candidate":
        """What a trial fits, where the winner is `refitted` to everything, or is to be kept as it is."""
        return self.rehearsal if refitted and self.rehearsal is not None else self

    def less_work(self) -> str:
        """How the rehearsal differs, in words."""
        if self.rehearsal is None:
            return ""
        own, other = self.model.get_params(), self.rehearsal.model.get_params()
        return "tried with " + ", ".join(f"{name}={value!r}" for name, value in other.items() if value != own[name])

    def make(self, seed: int) -> Model:
        """The model, nothing learned."""
        fresh: Model = clone(self.model)
        return fresh.set_params(seed=seed) if "seed" in fresh.get_params() else fresh

    def suits(self, ratings: Ratings) -> bool:
        """Whether it can learn from such ratings."""
        values = ratings.values
        if self.learns == "all":
            return not (self.model.needs_nonnegative and values.min() < 0)
        return bool(values.min() < values.max())  # else it would learn from all


def select_learned(ratings: Ratings, learns: LikedWord, mean: float) -> Ratings:
    """What is learned from of the ratings, `mean` being that of all in training; of what is liked each counts 1."""
    if learns == "all":
        return ratings
    return ratings.select(liked_entries(ratings, learns, mean)).with_values(np.ones_like)


def _per_rating(microseconds: float, per_row: float = 0.0) -> Callable[[Sizes], float]:
    """So much for each rating, and for each user and item."""
    return lambda n: 1e-6 * (microseconds * n.n_ratings + per_row * (n.n_users + n.n_items))


def _regression(n: Sizes) -> float:
    """Some twenty regressions of few items to choose a penalty, products of pairs in every row, one of all items."""
    few, dense = min(n.n_items, 1500), min(n.n_items, 12_000)
    by_users = 2.0 * n.n_users**3 + 8.0 * n.n_ratings * (n.n_users + dense)  # where there are fewer users than items
    pairs = n.n_ratings * n.n_ratings / max(n.n_users, 1)
    solve = 1e-11 * min(float(dense) ** 3, by_users) + 5e-9 * dense**2
    return 2e-10 * few**3 + solve + 1.2e-8 * pairs + 1e-6 * n.n_ratings


def _bayesian(sweeps: int, rehearsal: Candidate | None = None) -> Candidate:
    """Bayesian factorisation with so many sweeps, which cost alike."""
    return Candidate(BayesianMF(sweeps=sweeps), _per_rating(0.25 * sweeps, 5.0 * sweeps), rehearsal=rehearsal)


BASELINES = (
    Candidate(Popularity(), _per_rating(0.1)),
    Candidate(Bias(), _per_rating(0.1)),
)
"""These are tried whatever the time. The first of equals is taken."""

CANDIDATES = (
    *BASELINES,
    Candidate(SGD(), _per_rating(0.4, 70)),
    Candidate(SGD(rank=96), _per_rating(0.8, 110)),
    Candidate(ALS(), _per_rating(0.8, 25)),
    _bayesian(50, rehearsal=_bayesian(20)),
    Candidate(ALS(feedback="implicit"), _per_rating(2.5, 200)),
    Candidate(ALS(feedback="implicit"), _per_rating(2.5, 200), learns="above-mean"),
    Candidate(ItemRegression(), _regression),
    Candidate(ItemRegression(), _regression, learns="above-mean"),
)
"""What is tried where the time allows, the cheapest first."""

CLASSES = {type(candidate.model).__name__: type(candidate.model) for candidate in CANDIDATES}
