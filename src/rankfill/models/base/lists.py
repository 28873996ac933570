"""Measures of the lists that a model recommends, and which test ratings it has learned from, in one pass over users.

The candidates for a user's list are the items with ratings in training that this user has not rated there. Only the
longest list is made; shorter ones are its beginnings.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import Liked, liked_entries
from rankfill.kernels import Rows
from rankfill.objectives import ranking
from rankfill.objectives.scores import Score

if TYPE_CHECKING:
    from rankfill.models.base.model import Model

USERS_AT_A_TIME = 4096

Floats = NDArray[np.float64]


class Lists(NamedTuple):
    """Lists recommended to some users, beside the items they liked."""

    k: int
    """The length of a list; columns that are empty for everybody may be left out."""
    items: NDArray[np.int32]
    """Row numbers in the model, one row per user, −1 for an empty place."""
    hits: NDArray[np.bool_]
    n_relevant: NDArray[np.integer]
    n_reachable: NDArray[np.integer]
    """How many of the relevant items are candidates."""
    n_candidates: NDArray[np.integer]
    n_ratings: NDArray[np.int64]
    """Number of ratings in training of every item of the model."""
    n_users: int
    """How many users have ratings in training."""

    def first(self, k: int) -> "Lists":
        return self._replace(k=k, items=self.items[:, :k], hits=self.hits[:, :k])


BY_USER: dict[str, Callable[[Lists], Floats]] = {
    "ndcg": lambda lists: ranking.ndcg(lists.hits, lists.n_relevant),
    "precision": lambda lists: ranking.precision(lists.hits, lists.k),
    "capped_precision": lambda lists: ranking.capped_precision(lists.hits, lists.n_relevant),
    "recall": lambda lists: ranking.recall(lists.hits, lists.n_relevant),
    "map": lambda lists: ranking.average_precision(lists.hits, lists.n_relevant),
    "mrr": lambda lists: ranking.reciprocal_rank(lists.hits, lists.n_relevant),
    "hit_rate": lambda lists: ranking.hit_rate(lists.hits, lists.n_relevant),
    "auc": lambda lists: ranking.auc(lists.hits, lists.n_relevant, lists.n_reachable, lists.n_candidates),
    "novelty": lambda lists: ranking.novelty(lists.items, lists.n_ratings, lists.n_users),
    "rare_share": lambda lists: ranking.rare_share(lists.items, lists.n_ratings),
}


def list_scores(
    model: "Model", test: Ratings, wanted: Sequence[Score], liked: Liked, learned: NDArray[np.bool_]
) -> dict[Score, float]:
    """The value of each measure; `learned` tells which test ratings the model has learned from."""
    judged = judge_lists(model, test, wanted, liked, learned)
    values = {score: mean_of(each) for score, each in judged.by_user.items()}
    n_ratings = model._view()._item_counts.array
    for score, is_listed in judged.is_listed.items():
        values[score] = ranking.coverage(is_listed, n_ratings) if judged.asked_any else math.nan
    return values


class JudgedLists(NamedTuple):
    """What the lists of some users add to measures."""

    by_user: dict[Score, list[Floats]]
    is_listed: dict[Score, NDArray[np.bool_]]
    """For measures of coverage, which items are on a list."""
    asked_any: bool
    """Whether anybody liked something, so that there is a list."""


def judge_lists(
    model: "Model", test: Ratings, wanted: Sequence[Score], liked: Liked, learned: NDArray[np.bool_]
) -> JudgedLists:
    """The values of the users of `test`, as far as they like something there."""
    by_user: dict[Score, list[Floats]] = {score: [] for score in wanted if score.name != "coverage"}
    is_listed = {score: np.zeros(len(model.items_), dtype=bool) for score in wanted if score.name == "coverage"}
    longest = max(score.k or 1 for score in wanted)
    asked_any = False
    for lists in _all_lists(model, test, longest, liked_by_test(model, test, liked), learned):
        asked_any = True
        for score in wanted:
            some = lists.first(score.k or 1)
            if score in is_listed:
                is_listed[score][some.items[some.items >= 0]] = True
            else:
                by_user[score].append(BY_USER[score.name](some))
    return JudgedLists(by_user, is_listed, asked_any)


def liked_by_test(model: "Model", test: Ratings, liked: Liked) -> NDArray[np.bool_]:
    """Marks the test ratings of liked items, going by the training ratings that the model knows."""
    view = model._view()
    return liked_entries(test, liked, view.mean_, view._user_means(test.users))


def learned_entries(model: "Model", test: Ratings) -> NDArray[np.bool_]:
    """Marks the test ratings whose pair of user and item the model has learned from."""
    view, learned = model._view(), np.zeros(len(test), dtype=bool)
    if view._seen is None:
        return learned
    own_users, own_items = view._own_rows(view.users_, test.users), view._own_rows(view.items_, test.items)
    for users, entries in chunks(test):
        indptr, seen = view._seen.rows(own_users[users])
        if len(seen):
            keys = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * len(view.items_) + seen
            rows = test.by_user.block(users)
            items = own_items[rows.indices]
            asked = rows.row_of_entry().astype(np.int64) * len(view.items_) + items
            places = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            learned[entries] = (keys[places] == asked) & (items >= 0)
    return learned


def chunks(test: Ratings) -> Iterator[tuple[slice, slice]]:
    """Users in order, some thousand at a time, and their entries; chunks without a rating are left out."""
    for first in range(0, test.n_users, USERS_AT_A_TIME):
        last = min(first + USERS_AT_A_TIME, test.n_users)
        begin, end = (int(test.by_user.indptr[user]) for user in (first, last))
        if end > begin:
            yield slice(first, last), slice(begin, end)


def mean_of(values: list[Floats]) -> float:
    """The mean over all users that have a value."""
    all_values = np.concatenate([*values, np.empty(0)])
    defined = all_values[~np.isnan(all_values)]
    return float(defined.mean()) if len(defined) else math.nan


def _all_lists(
    model: "Model", test: Ratings, n: int, relevant: NDArray[np.bool_], learned: NDArray[np.bool_]
) -> Iterator[Lists]:
    """The lists of the users who like something in the test, some thousand at a time."""
    view = model._view()
    n_ratings = view._item_counts.array
    own_users, own_items = view._own_rows(view.users_, test.users), view._own_rows(view.items_, test.items)
    reachable = (view._learned_items(own_items) >= 0)[test.item_indices] & relevant & ~learned
    n_reachable = np.diff(np.concatenate([[0], np.cumsum(reachable)])[test.by_user.indptr])
    test_rows = test.items.index(view.items_.ids())
    n_rated, n_users = np.count_nonzero(n_ratings), int(np.count_nonzero(view._user_counts.array))
    width = min(n, max(len(view.items_), test.n_items))  # no list and no set of relevant items is longer
    for users, entries in chunks(test):
        right, asked = _keep_entries(test.by_user.block(users), relevant[entries])
        if len(asked) == 0:
            continue
        rows = users.start + asked
        found, scores = model.recommend(test.users.ids(rows), n)
        items = np.full((len(rows), width), -1, dtype=np.int32)
        items[:, : found.shape[1]][~np.isnan(scores)] = view.items_.index(found[~np.isnan(scores)])
        hits = ranking.find_hits(np.where(items >= 0, test_rows[np.maximum(items, 0)], -1), right)
        seen = np.diff(view._seen_by(own_users[rows], True)[0])
        yield Lists(n, items, hits, right.counts(), n_reachable[rows], n_rated - seen, n_ratings, n_users)


def _keep_entries(rows: Rows, keep: NDArray[np.bool_]) -> tuple[Rows, NDArray[np.intp]]:
    """Keeps some entries; returns them in rows without gaps, and the former numbers of these rows."""
    ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
    asked = np.flatnonzero(np.diff(ends))
    return Rows.taking(np.append(ends[asked], ends[-1]), rows.indices[keep], rows.values[keep]), asked
