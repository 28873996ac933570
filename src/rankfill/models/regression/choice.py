"""Penalty and weighting of item regressions, chosen on ratings kept aside.

One rating in five is kept aside. The most rated items are regressed on each other with the rest, and of all settings
the best is taken: implicit feedback by NDCG@10 of lists of unseen items, a rating of at least the mean being a hit;
explicit feedback by the root mean squared error. All penalties share one XᵀX. The penalty found is enlarged by the root
of how many times more ratings there are to learn from in the end: from MovieLens 100K to 1M the best one grows so.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings, Vocabulary
from rankfill.data.liked import liked_entries
from rankfill.kernels import Rows, sparse_times
from rankfill.models.base.best_of_scores import best_of
from rankfill.models.base.held_out import keep_aside
from rankfill.models.base.training import ended_by_interruption
from rankfill.models.bias import Bias
from rankfill.models.regression.entries import EntryWeighting, Scale, damp, residuals_of
from rankfill.models.regression.inputs import Inputs
from rankfill.models.regression.raters import Link, inputs_over_raters, regress_over_raters, targets_of
from rankfill.models.regression.weights import regress
from rankfill.objectives.measures import rmse
from rankfill.objectives.ranking import find_hits, ndcg

_FEWEST_RATINGS, _MOST_RATINGS = 500, 2_000_000
_MOST_RATINGS_OVER_RATERS, _MOST_RATINGS_OVER_ALL = 150_000, 50_000
_MOST_ITEMS, _MOST_USERS = 1500, 2000
_STEP, _MOST_STEPS = 4.0, 8
_FIRST_LOGISTIC = 4.0


def first_penalty(entries: NDArray[np.float32], n_rated: int) -> float:
    """Twice the mean diagonal of XᵀX over the items rated; 1 where that is zero."""
    return 2 * float(np.square(entries, dtype=np.float64).sum()) / n_rated or 1.0


class Choice(NamedTuple):
    """A setting and how bad it is on the ratings kept aside."""

    weighting: EntryWeighting
    damping: float
    penalty: float
    error: float


class Trial(NamedTuple):
    """Ratings to learn from and ratings kept aside, of the most rated items; `whole` holds all ratings."""

    learned: Ratings
    rest: Ratings
    whole: Ratings
    link: Link | None
    seed: int

    def some_users(self, wanted: Rows) -> NDArray[np.int64]:
        """Some of those users of whom there is something on both sides."""
        users = np.flatnonzero((wanted.counts() > 0) & (self.learned.by_user.counts() > 0))
        return np.sort(np.random.default_rng(self.seed).permutation(users)[:_MOST_USERS])


Error = Callable[[float], float]
Scores = Callable[[float], NDArray[np.float32]]
"""By penalty: its error, and the scores of the judged users for every item."""


def choose(
    ratings: Ratings,
    weightings: Sequence[EntryWeighting],
    dampings: Sequence[float],
    penalty: float | None,
    link: Link | None,
    *,
    implicit: bool,
    seed: int,
) -> Choice | None:
    """The best weighting and damping, and the best penalty unless it is given; None where there is too little to tell.

    Weightings are tried with the first damping, the other dampings with the best of them.
    """
    sample = _MOST_RATINGS if link is None else _MOST_RATINGS_OVER_ALL if implicit else _MOST_RATINGS_OVER_RATERS
    parts = [] if len(ratings) < _FEWEST_RATINGS else keep_aside(ratings, sample=sample, aside=5, seed=seed)
    if not parts:
        return None
    learned, rest = (_most_rated(part, parts[0][0]) for part in parts[0])
    if min(len(learned), len(rest)) == 0:
        return None
    growth = (len(ratings) / len(parts[0][0])) ** 0.5
    trial = Trial(learned, rest, ratings, link, seed)
    of_first = 1.0

    def attempt(weighting: EntryWeighting, damping: float) -> Choice:
        nonlocal of_first
        first, error = _of_lists(trial, weighting, damping) if implicit else _of_ratings(trial)
        if penalty is not None:
            return Choice(weighting, damping, penalty, error(penalty / growth))
        best, least = _search(of_first * first, error)  # begins where the setting before ended
        of_first = best / first
        return Choice(weighting, damping, growth * best, least)

    with ended_by_interruption():
        found = min((attempt(weighting, dampings[0]) for weighting in weightings), key=_error_of)
        return min((found, *(attempt(found.weighting, damping) for damping in dampings[1:])), key=_error_of)


def _error_of(choice: Choice) -> float:
    return choice.error


def _of_lists(trial: Trial, weighting: EntryWeighting, damping: float) -> tuple[float, Error]:
    """A penalty to begin with, and the error of any."""
    learned, rest = trial.learned, trial.rest
    entries = learned.by_user._replace(values=Scale.of(trial.whole).entries(learned.values, weighting))
    relevant = rest.select(liked_entries(rest, mean=trial.whole.mean())).by_user
    users = trial.some_users(relevant)
    asked, wanted, everything = entries.of_rows(users), relevant.of_rows(users), np.ones(learned.n_items, bool)
    if trial.link is None:
        scores = _closed_scores(damp(entries, damping), asked, learned.n_items)
    else:
        scores = _rater_scores(entries, asked, users, None, trial.link, learned.n_items)

    def error(penalty: float) -> float:
        top, _ = best_of(scores(penalty), min(10, learned.n_items), everything, asked.indptr, asked.indices)
        return 1 - float(ndcg(find_hits(top, wanted), wanted.counts()).mean()) if len(users) else 1.0

    return _FIRST_LOGISTIC if trial.link is not None else first_penalty(entries.values, learned.n_items), error


def _of_ratings(trial: Trial) -> tuple[float, Error]:
    """As `_of_lists`, for explicit feedback."""
    learned, rest, link = trial.learned, trial.rest, trial.link
    logistic = link is not None and link.logistic
    bias = Bias(effects="items" if logistic else "both", clip=False).fit(learned)
    entries = learned.by_user._replace(values=residuals_of(learned, bias))
    users = trial.some_users(rest.by_user)
    number = np.full(rest.n_users, -1)
    number[users] = np.arange(len(users))
    judged = rest.select(number[rest.user_indices] >= 0)
    rows, baseline = number[judged.user_indices], bias._predict_ratings(judged)
    if link is None:
        scores = _closed_scores(entries, entries.of_rows(users), learned.n_items)
    else:
        entries = entries._replace(values=inputs_over_raters(entries, link))
        targets, asked = targets_of(learned, link, bias), entries.of_rows(users)
        scores = _rater_scores(entries, asked, users, targets, link, learned.n_items)

    def error(penalty: float) -> float:
        if not len(users):
            return 1.0
        found = scores(penalty)[rows, judged.item_indices]
        answers = found if link is None else link.answers(found)
        return rmse(judged.values, answers if logistic else baseline + answers)

    return _FIRST_LOGISTIC if logistic else first_penalty(entries.values, learned.n_items), error


def _closed_scores(entries: Rows, asked: Rows, n_items: int) -> Scores:
    inputs = Inputs.of(entries, n_items)
    gram = inputs.gram(np.float32)
    return lambda penalty: sparse_times(asked, asked.values, regress(inputs, penalty, gram).weights)


def _rater_scores(
    entries: Rows,
    asked: Rows,
    users: NDArray[np.int64],
    targets: NDArray[np.float32] | None,
    link: Link,
    n_items: int,
) -> Scores:
    features = link.features(entries.n_rows)

    def scores(penalty: float) -> NDArray[np.float32]:
        found = regress_over_raters(entries, n_items, targets, features, penalty, logistic=link.logistic)
        total: NDArray[np.float32] = (
            sparse_times(asked, asked.values, found.weights) + features[users] @ found.effects.T
        )
        return total

    return scores


def _search(first: float, error: Error) -> tuple[float, float]:
    """Climbs from the first penalty in large steps, and looks between the steps at the end."""
    errors = {first: error(first)}
    for step in (_STEP, 1 / _STEP):
        best = min(errors, key=errors.__getitem__)
        for _ in range(_MOST_STEPS):
            errors[best * step] = error(best * step)
            if errors[best * step] >= errors[best]:
                break
            best *= step
        if best != first:
            break
    best = min(errors, key=errors.__getitem__)
    for between in (best * _STEP**0.5, best / _STEP**0.5):
        errors[between] = error(between)
    best = min(errors, key=errors.__getitem__)
    return best, errors[best]


def _most_rated(part: Ratings, learned: Ratings) -> Ratings:
    """What is rated of the items with the most ratings in what is learned from, numbered anew."""
    counts = np.bincount(learned.item_indices, minlength=learned.n_items)
    chosen = np.sort(np.argsort(-counts, kind="stable")[: min(_MOST_ITEMS, int((counts > 0).sum()))])
    numbers = np.full(part.n_items, -1, np.int32)
    numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
    kept = numbers[part.item_indices] >= 0
    indptr = np.zeros(part.n_users + 1, np.int64)
    np.cumsum(np.bincount(part.user_indices[kept], minlength=part.n_users), out=indptr[1:])
    items = Vocabulary.of_range(len(chosen))
    return Ratings(part.users, items, Rows.taking(indptr, numbers[part.item_indices[kept]], part.values[kept]))
