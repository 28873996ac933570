"""Predictions for pairs, and the best items of each user."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.threads import get_threads, instruction_set


def predict_pairs(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    default_user: NDArray[np.float32],
    default_item: NDArray[np.float32],
    both_unknown: float,
) -> NDArray[np.float32]:
    """p_u·q_i for each pair; index −1 takes the default row, a pair of two takes `both_unknown`."""
    return _native.predict_pairs(
        users,
        items,
        user_factors,
        item_factors,
        default_user,
        default_item,
        both_unknown,
        get_threads(),
        instruction_set(),
    )


def predict_one(
    user: int,
    item: int,
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    default_user: NDArray[np.float32],
    default_item: NDArray[np.float32],
    both_unknown: float,
) -> float:
    """`predict_pairs` for a single pair, without the arrays: one or two microseconds."""
    return _native.predict_one(
        user, item, user_factors, item_factors, default_user, default_item, both_unknown, instruction_set()
    )


def top_n(
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    rank: int,
    n: int,
    seen_indptr: NDArray[np.int64],
    seen_items: NDArray[np.int32],
    allowed: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The n best items for each row: score down, then index up; padded with item −1 and score NaN.

    Row r never gets an item of row r of `seen` (ascending within a row) nor one that is not `allowed`.
    """
    return _native.top_n(
        user_factors,
        item_factors,
        rank,
        n,
        seen_indptr,
        seen_items,
        allowed.view(np.uint8),
        get_threads(),
        instruction_set(),
    )
