"""The ratings that neighbours are found in and asked for: as they are, and less their baseline, by either side."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.models.base.settings import SideOption
from rankfill.models.bias import Bias, bias_of

Baseline = Literal["effects", "means", "none"]
Centre = Literal["baseline", "vector", "common"]

EMPTY = Rows.taking(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))


class Sides(NamedTuple):
    """One matrix twice: by the side that is compared, and by the other."""

    by_own: Rows
    by_other: Rows


def sides_of(by_user: Rows, n_items: int, side: SideOption) -> Sides:
    """`by_user` holds the entries of every user."""
    by_item = by_user.transposed(n_items)
    return Sides(by_item, by_user) if side == "items" else Sides(by_user, by_item)


def baseline_of(ratings: Ratings, baseline: Baseline, side: SideOption) -> Bias:
    """The effects of users and items; the plain means of one side; or the mean rating, for want of neighbours."""
    if baseline == "effects":
        return Bias(clip=False).fit(ratings)
    return Bias(effects=side if baseline == "means" else "none", shrinkage=0.0, clip=False).fit(ratings)


def less_baseline(ratings: Ratings, bias: Bias, baseline: Baseline) -> Rows:
    """The deviations that neighbours are combined from, by user."""
    if baseline == "none":
        return ratings.by_user
    predicted = bias.predict_rows(ratings.user_indices, ratings.item_indices)
    return ratings.by_user._replace(values=(ratings.values - predicted).astype(np.float32))


def deviations(ratings: Ratings, centre: Centre, side: SideOption) -> Rows:
    """The deviations that Pearson's correlation is computed from, by user."""
    if centre == "common":
        return ratings.by_user
    baseline: Baseline = "effects" if centre == "baseline" else "means"
    return less_baseline(ratings, baseline_of(ratings, baseline, side), baseline)


def deviations_of_newcomers(known: Ratings, train: Ratings, centre: Centre) -> Rows:
    """As `deviations`, for people who were not in training, where users are compared."""
    if centre == "common" or len(known) == 0:
        return known.by_user
    if centre == "vector":
        return deviations(known, centre, "users")
    bias = baseline_of(train, "effects", "users")
    return less_baseline(known, bias_of(bias._fold_in(known), bias.item_factors_, bias.mean_), "effects")


def merge(
    rows: Rows, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32], n_users: int
) -> Rows:
    """The entries by user, items ascending, with more of them; of a pair that comes again the last value stays."""
    all_users = np.concatenate([rows.row_of_entry().astype(np.int64), users])
    packed = all_users << 32 | np.concatenate([rows.indices, items])
    order = np.argsort(packed, kind="stable")
    packed = packed[order]
    last = np.append(packed[1:] != packed[:-1], True)[: len(packed)]
    indptr = np.searchsorted(packed[last], np.arange(n_users + 1, dtype=np.int64) << 32).astype(np.int64)
    found = np.concatenate([rows.values, values])[order][last]
    return Rows.taking(indptr, (packed[last] & 0xFFFFFFFF).astype(np.int32), found)


def stack_rows(above: Rows, below: Rows) -> Rows:
    """The rows of both, one after the other."""
    return Rows.taking(
        np.concatenate([above.indptr, above.indptr[-1] + below.indptr[1:]]),
        np.concatenate([above.indices, below.indices]),
        np.concatenate([above.values, below.values]),
    )
