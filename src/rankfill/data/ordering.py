"""Ratings by user, then item, and the order they came in."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Rows, sort_into_rows

_KEY_BITS = 63
_AT_ONCE = 1 << 18


def sort_pairs(
    user_indices: NDArray[np.int32],
    item_indices: NDArray[np.int32],
    values: NDArray[np.float32],
    n_users: int,
    n_items: int,
) -> tuple[Rows, NDArray[np.int64]]:
    """The ratings by user, items ascending, equal pairs as they came; and the input row of every entry.

    Takes over the values: they may be part of the result.
    """
    if _is_sorted(user_indices, item_indices):
        indptr = np.searchsorted(user_indices, np.arange(n_users + 1)).astype(np.int64, copy=False)
        return Rows.taking(indptr, item_indices.astype(np.int32), values), np.arange(len(values))
    item_bits, row_bits = max(n_items - 1, 0).bit_length(), max(len(values) - 1, 0).bit_length()
    if max(n_users - 1, 0).bit_length() + item_bits + row_bits > _KEY_BITS:
        return _sort_twice(user_indices, item_indices, values, n_users, n_items)
    # User, item and row fit one number: sorting those is twice as fast as two stable sorts.
    packed = user_indices.astype(np.int64)
    packed <<= item_bits
    packed |= item_indices
    packed <<= row_bits
    for begin in range(0, len(packed), _AT_ONCE):
        packed[begin : begin + _AT_ONCE] |= np.arange(begin, min(begin + _AT_ONCE, len(packed)))
    packed.sort()
    order = packed & ((1 << row_bits) - 1)
    packed >>= row_bits
    items = (packed & ((1 << item_bits) - 1)).astype(np.int32)
    packed >>= item_bits
    indptr = np.searchsorted(packed, np.arange(n_users + 1)).astype(np.int64, copy=False)
    return Rows.taking(indptr, items, values[order]), order


def _is_sorted(users: NDArray[np.int32], items: NDArray[np.int32]) -> bool:
    """Whether entries come by user, then item, none of them twice; most files that do not tell so at once."""
    for begin in range(0, max(len(users) - 1, 0), _AT_ONCE):
        some_users, some_items = users[begin : begin + _AT_ONCE + 1], items[begin : begin + _AT_ONCE + 1]
        same = some_users[1:] == some_users[:-1]
        if not ((some_users[1:] > some_users[:-1]) | (same & (some_items[1:] > some_items[:-1]))).all():
            return False
    return True


def _sort_twice(
    user_indices: NDArray[np.int32],
    item_indices: NDArray[np.int32],
    values: NDArray[np.float32],
    n_users: int,
    n_items: int,
) -> tuple[Rows, NDArray[np.int64]]:
    by_item, order = sort_into_rows(item_indices, user_indices, values, n_items, with_order=True)
    by_user, order_within = sort_into_rows(
        by_item.indices, by_item.row_of_entry(), by_item.values, n_users, with_order=True
    )
    return by_user, order[order_within]


def arrival_of(order: NDArray[np.int64]) -> NDArray[np.integer] | None:
    """The positions in the order they came in, in linear time; None where that is 0, 1, 2, …"""
    if len(order) == 0 or bool((order[1:] > order[:-1]).all()):
        return None
    position = np.full(int(order.max()) + 1, -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    return compact(position[position >= 0])


def compact(positions: NDArray[np.integer]) -> NDArray[np.integer]:
    return positions.astype(np.uint32) if len(positions) < 2**32 else positions
