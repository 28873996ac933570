"""NumPy twins of the predictions and the best items."""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.reference.lanes import dot


def predict_pairs(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    default_user: NDArray[np.float32],
    default_item: NDArray[np.float32],
    both_unknown: float,
) -> NDArray[np.float32]:
    predictions = np.empty(len(users), dtype=np.float32)
    for t, (user, item) in enumerate(zip(users, items, strict=True)):
        p = default_user if user < 0 else user_factors[user]
        q = default_item if item < 0 else item_factors[item]
        predictions[t] = both_unknown if user < 0 and item < 0 else dot(p, q)
    return predictions


def top_n(
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    rank: int,
    n: int,
    seen_indptr: NDArray[np.int64],
    seen_items: NDArray[np.int32],
    allowed: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    items = np.full((len(user_factors), n), -1, dtype=np.int32)
    scores = np.full((len(user_factors), n), np.nan, dtype=np.float32)
    for row, p in enumerate(user_factors):
        score = np.zeros(len(item_factors), dtype=np.float32)
        for k in range(rank):
            score = score + p[k] * item_factors[:, k]
        candidates = allowed & (score > -np.inf)
        candidates[seen_items[seen_indptr[row] : seen_indptr[row + 1]]] = False
        best = np.flatnonzero(candidates)
        best = best[np.lexsort((best, -score[best]))][:n]
        items[row, : len(best)], scores[row, : len(best)] = best, score[best]
    return items, scores
