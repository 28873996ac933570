"""Removes users from a model: their rows, and their ratings from all counts.

An attribute with one row per user has "user" in its name, and so has such a field of a record: that is how rows are
found. A class removes what is kept per rating, or by row number, in `_forget_entries`.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Vocabulary
from rankfill.kernels import Growing
from rankfill.kernels.factors import aligned_zeros
from rankfill.kernels.hashing import select
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.state import learned_types

if TYPE_CHECKING:
    from rankfill.models.base.model import Model


class Left(NamedTuple):
    """The users and entries that stay."""

    users: NDArray[np.intp]
    """Row numbers of the users who stay, as they were."""
    entries: NDArray[np.bool_]
    """Marks the seen pairs of user and item that stay, by user, items ascending."""
    n_before: int

    def renumber(self, rows: NDArray[np.integer]) -> NDArray[np.int32]:
        """The new numbers of rows, −1 for those forgotten."""
        numbers = np.full(self.n_before, -1, np.int32)
        numbers[self.users] = np.arange(len(self.users), dtype=np.int32)
        found: NDArray[np.int32] = numbers[rows]
        return found


def forget_rows(model: "Model", rows: NDArray[np.int32]) -> None:
    """Takes the rows of these users out of a model that holds what users have seen."""
    assert model._seen is not None
    n_before = len(model.users_)
    users = np.setdiff1d(np.arange(n_before), rows)
    indptr, items = model._seen.all_rows()
    indptr = np.append(indptr, np.full(n_before + 1 - len(indptr), indptr[-1]))
    entries = np.isin(np.repeat(np.arange(n_before), np.diff(indptr)), users)
    left = Left(users, entries, n_before)
    _forget_counts(model, rows, items, entries)
    model._forget_entries(left)
    model.users_ = Vocabulary.from_keys(select(model.users_.keys, users), check=False)
    counts = np.diff(indptr)[users]
    model._seen = SeenItems(np.concatenate([[0], np.cumsum(counts)]), items[entries])
    for name in ("_user_counts", "_user_sums", *learned_types(type(model))):
        setattr(model, name, _drop_rows(name, getattr(model, name), left))


def _forget_counts(model: "Model", rows: NDArray[np.int32], items: NDArray[np.int32], kept: NDArray[np.bool_]) -> None:
    """The number of ratings, their mean, and the number of each item."""
    n_gone, gone = int(model._user_counts.array[rows].sum()), float(model._user_sums.array[rows].sum())
    model.n_ratings_, model._sum = model.n_ratings_ - n_gone, model._sum - gone
    if model.n_ratings_:
        model.mean_ = model._sum / model.n_ratings_
    counts = model._item_counts.array - np.bincount(items[~kept], minlength=len(model.items_))
    # A pair that came twice in a stream was counted twice; such items have larger counts than pairs.
    more, repeated = counts - np.bincount(items[kept], minlength=len(model.items_)), n_gone - int((~kept).sum())
    for item in np.unique(items[~kept])[np.argsort(-more[np.unique(items[~kept])], kind="stable")]:
        taken = min(repeated, int(more[item]))
        counts[item] -= taken
        repeated -= taken
    model._item_counts = Growing(counts)


def _drop_rows(name: str, value: Any, left: Left) -> Any:
    """The value without the rows of those who were forgotten, where it has any."""
    if hasattr(value, "_fields"):
        return value._replace(**{field: _drop_rows(field, getattr(value, field), left) for field in value._fields})
    if "user" not in name:
        return value
    if isinstance(value, Growing) and len(value) == left.n_before:
        return Growing(_aligned(value.array[left.users]))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and len(value) == left.n_before:
        return value[left.users]
    return value


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """A copy on cache lines, where kernels want the rows of factors."""
    copy = aligned_zeros(array.shape, array.dtype)
    copy[:] = array
    return copy
