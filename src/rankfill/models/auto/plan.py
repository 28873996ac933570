"""The plan of trials: which candidates on how many ratings, decided from sizes alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankfill.data import Ratings
from rankfill.data.splits import split
from rankfill.data.submatrix import some_users
from rankfill.models.auto.candidates import BASELINES, Candidate, Sizes

MOST_TRIED = 1_000_000
"""Trials learn from and are judged on at most so many ratings, all those of users drawn at random."""
ENOUGH = 20_000
"""Where fewer ratings are kept aside, others are kept aside in further trials, until each was once."""
ENOUGH_IN_TIME = 1000
"""Where fewer are kept aside, chance says more than the order in time."""
_DAY = 86_400
"""Where half of the users rate for less long, their order is that in which a form was filled in."""

Parts = list[tuple[Ratings, Ratings]]
"""Pairs of what is learned from and what is kept aside."""


class Plan(NamedTuple):
    """The candidates to try, cheapest first, and those for which there is no time."""

    tried: list[Candidate]
    left_out: list[tuple[Candidate, float]]
    """Candidates with the estimated seconds of a fit."""


def keep_parts(ratings: Ratings, seed: int) -> Parts:
    """Keeps aside the latest fifth of each user's ratings where people rate as time goes by, elsewhere one in five."""
    if has_course(ratings):
        some = some_users(ratings, MOST_TRIED, seed)
        if len(some) >= 5 * ENOUGH_IN_TIME:
            return [split(some, test=0.2, by="last", seed=seed)]
    return _dealt(some_users(ratings, MOST_TRIED, seed), seed)


def _dealt(ratings: Ratings, seed: int) -> Parts:
    """Deals the ratings into five heaps, and keeps aside one after the other until enough were."""
    heap, parts, total = np.random.default_rng(seed).permutation(len(ratings)) % 5, Parts(), 0
    for each in range(5 if len(ratings) >= 5 else 0):
        parts.append((ratings.select(heap != each), ratings.select(heap == each)))
        total += len(parts[-1][1])
        if total >= ENOUGH:
            break
    return parts


def has_course(ratings: Ratings) -> bool:
    """Whether at least half of the users with several ratings gave them over more than a day."""
    if ratings.timestamps is None:
        return False
    counts, starts = ratings.by_user.counts(), ratings.by_user.indptr[:-1]
    several = counts > 1
    if not several.any():
        return False
    rated = counts > 0
    spans = np.zeros(len(counts))
    first, last = (each.reduceat(ratings.timestamps, starts[rated]) for each in (np.minimum, np.maximum))
    spans[rated] = last - first
    return bool(np.median(spans[several]) > _DAY)


def plan(candidates: Sequence[Candidate], ratings: Ratings, parts: Parts, seconds: float, refits: bool) -> Plan:
    """Takes the cheapest while all trials, and a fit of the dearest of each kind to everything, take no longer.

    What predicts ratings and what only ranks are the two kinds, for one of each may be fitted in the end.
    """
    whole, learned = Sizes.of(ratings), [Sizes.of(part) for part, _ in parts]
    tries = {each: sum(map(each.for_trial(refits).seconds, learned)) for each in candidates}
    found, spent, dearest = Plan([], []), 0.0, {True: 0.0, False: 0.0}
    for each in sorted(candidates, key=lambda each: tries[each]):
        final = each.seconds(whole) if refits else 0.0
        kind = each.model.predicts_ratings
        after = dearest | {kind: max(dearest[kind], final)}
        if each in BASELINES or spent + tries[each] + sum(after.values()) <= seconds:
            found.tried.append(each)
            spent, dearest = spent + tries[each], after
        else:
            found.left_out.append((each, tries[each] + final))
    return found
