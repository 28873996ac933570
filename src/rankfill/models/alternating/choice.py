"""The choice of penalty, confidence and rank of `ALS` for implicit feedback where they are not given.

The penalty is measured in units of

    λ₁ = ¾ (√n̄_u + √n̄_i) · (1 + c)^¾ / √(s̄_u s̄_i),

n̄ the mean number of ratings of a user and of an item, c = confidence · mean rating the weight of an ordinary rating, s̄
the mean over the ratings of what the weighting multiplies the penalty by. The first factor is the size of noise on as
many entries; the power of 1 + c was found on data: along it the best penalty moves with the confidence.

The search keeps one rating in five aside and climbs from c = 5 and a penalty of 1½ λ₁, by NDCG@10 of lists for those
who have ratings there: first c with the penalty in step, then the penalty alone, then both in smaller steps. Every
trial goes on from the factors of the best one so far, so that a few passes are enough. A rank that was not given is
doubled as long as that gains. Starts, steps and the exponent of ½ were chosen on MovieLens 100K and latest-small and on
made-up visits to places. MovieLens 1M was seen before the start was set (`python -m benchmarks implicit_als`).
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.liked import liked_entries
from rankfill.kernels import Ridge
from rankfill.models.base.held_out import keep_aside
from rankfill.models.base.settings import LARGEST
from rankfill.models.base.training import ended_by_interruption
from rankfill.objectives.penalties import norm_of_noise
from rankfill.objectives.ranking import find_hits, ndcg

if TYPE_CHECKING:
    from rankfill.models.alternating.als import ALS

_FEWEST_RATINGS, _FEWEST_SCORED, _MOST_RATINGS, _MOST_USERS = 500, 20_000, 1_000_000, 3000
_FIRST_WEIGHT, _FIRST_STRENGTH, _FIRST_RANK, _LAST_RANK = 5.0, 1.5, 64, 256
_FIRST_PASSES, _MORE_PASSES = 6, 4
_GAIN_OF_RANK = 1.01


class Setting(NamedTuple):
    """The weight c of an ordinary rating, the penalty in units of λ₁, and the rank."""

    weight: float = _FIRST_WEIGHT
    strength: float = _FIRST_STRENGTH
    rank: int = _FIRST_RANK


class Settled(NamedTuple):
    """The values to learn with."""

    penalty: float
    confidence: float
    rank: int


def settle(model: "ALS", ratings: Ratings) -> Settled:
    """Takes the values that were given, and chooses the others to suit the ratings."""
    if None not in (model.penalty, model.confidence, model.rank):
        return _settle(model)
    first = Setting(rank=int(model.rank or min(_FIRST_RANK, *ratings.shape)))
    if len(ratings) < _FEWEST_RATINGS:
        return _settle(_with(model, first, ratings))
    parts = keep_aside(ratings, sample=_MOST_RATINGS, scored=_FEWEST_SCORED, seed=model.seed)
    found = _Search(model, parts, ratings).best(first)
    return _settle(_with(model, found, ratings))


def _settle(model: "ALS") -> Settled:
    return Settled(float(model.penalty or 0.0), float(model.confidence or 1.0), int(model.rank or _FIRST_RANK))


def unit_of_penalty(model: "ALS", ratings: Ratings, weight: float) -> float:
    """λ₁, for an ordinary rating of that weight."""
    counts = [rows.counts()[rows.counts() > 0] for rows in (ratings.by_user, ratings.by_item)]
    noise = norm_of_noise(len(ratings), len(counts[0]), len(counts[1]))
    confidence = weight / (ratings.mean() or 1.0)
    ridges = [Ridge(rank=1, penalty=1.0, **model._scaling(confidence, len(others))) for others in counts[::-1]]
    scales = [np.average(ridge.scales(n), weights=n) for ridge, n in zip(ridges, counts, strict=True)]
    return float(noise * (1 + weight) ** 0.75 / math.sqrt(scales[0] * scales[1]))


def _with(model: "ALS", setting: Setting, ratings: Ratings) -> "ALS":
    """A copy with what was found in place of what was not given."""
    mean = ratings.mean() or 1.0
    weight = setting.weight if model.confidence is None else float(model.confidence) * ratings.mean()
    chosen: ALS = clone(model)
    chosen.rank, (chosen.weighting, chosen.exponent) = setting.rank, model._row_weighting
    chosen.confidence = min(weight / mean, LARGEST) if model.confidence is None else model.confidence
    if model.penalty is None:
        chosen.penalty = setting.strength * unit_of_penalty(model, ratings, weight)
    return chosen


class _Part:
    """Ratings to learn from, what was kept aside of them, and the best model so far."""

    def __init__(self, model: "ALS", learned: Ratings, rest: Ratings, whole: Ratings) -> None:
        self.learned = learned
        self.fitted: ALS | None = None
        wanted = rest.select(liked_entries(rest, mean=whole.mean())) if model.liked == "all" else rest
        users = np.flatnonzero((wanted.by_user.counts() > 0) & (learned.by_user.counts() > 0))
        some = np.random.default_rng(model.seed).permutation(users)[:_MOST_USERS]
        self.users: NDArray[np.int32] = np.sort(some).astype(np.int32)
        self.wanted = wanted.by_user.of_rows(self.users)

    def trial(self, model: "ALS", setting: Setting) -> "ALS":
        """The model of a setting, a few passes from the best so far."""
        trial = _with(model, setting, self.learned)
        going_on = self.fitted is not None and self.fitted.rank_ == setting.rank
        trial.set_params(passes=_MORE_PASSES if going_on else _FIRST_PASSES, tol=None, liked="all")
        return trial.fit(self.learned, init=self.fitted if going_on else None)

    def values(self, trial: "ALS") -> NDArray[np.float64]:
        """NDCG@10 of each list."""
        n, allowed = min(10, self.learned.n_items), trial._item_counts.array > 0
        found, _ = trial._best_items(self.users, n, allowed, *trial._seen_by(self.users, True))
        return ndcg(find_hits(found, self.wanted), self.wanted.counts())


class _Search:
    """Trials of settings on the ratings kept aside."""

    def __init__(self, model: "ALS", parts: list[tuple[Ratings, Ratings]], whole: Ratings) -> None:
        self.model = model
        self.parts = [part for each in parts if len((part := _Part(model, *each, whole)).users)]
        self.values: dict[Setting, float] = {}

    def best(self, setting: Setting) -> Setting:
        if not self.parts:
            return setting
        with ended_by_interruption():
            self._value(setting)
            if self.model.confidence is None:
                self._climb("weight", 3.0)
            if self.model.penalty is None:
                self._climb("strength", 2.0)
            if self.model.confidence is None and self.model.penalty is None:
                self._climb("weight", math.sqrt(3.0), most=1)
                self._climb("strength", math.sqrt(2.0), most=1)
            if self.model.rank is None:
                self._climb_ranks()
        return self._found()

    def _found(self) -> Setting:
        return max(self.values, key=self.values.__getitem__)

    def _climb(self, name: str, step: float, most: int = 5) -> None:
        """Multiplies or divides by the step as long as that gains."""
        for factor in (step, 1 / step):
            climbed = False
            for _ in range(most):
                before = self._found()
                after = before._replace(**{name: getattr(before, name) * factor})
                if self._value(after) <= self.values[before]:
                    break
                climbed = True
            if climbed:
                break

    def _climb_ranks(self) -> None:
        largest = min(_LAST_RANK, *self.parts[0].learned.shape)
        while (before := self._found()).rank * 2 <= largest:
            after = before._replace(rank=before.rank * 2)
            if self._value(after) < _GAIN_OF_RANK * self.values[before]:
                self.values.pop(after)
                break

    def _value(self, setting: Setting) -> float:
        """The mean NDCG@10 over those who have ratings kept aside."""
        trials = [part.trial(self.model, setting) for part in self.parts]
        lists = [part.values(trial) for part, trial in zip(self.parts, trials, strict=True)]
        value = float(np.concatenate(lists).mean())
        if not self.values or value > max(self.values.values()):
            for part, trial in zip(self.parts, trials, strict=True):
                part.fitted = trial
        self.values[setting] = value
        return value
