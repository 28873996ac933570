"""NumPy twins of the compiled kernels: the same signatures, the same results to the bit, slow and readable."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.factors import LANES
from rankfill.kernels.reference_descent import move_factor, multiplicative_rows, residuals, shift_residuals
from rankfill.kernels.reference_least_squares import gram_matrix, solve_rows, squared_errors
from rankfill.kernels.reference_sparse import sparse_entries, sparse_gram, sparse_times
from rankfill.kernels.rounds import Losses, Rule
from rankfill.kernels.rows import Rows

__all__ = [
    "gram_matrix",
    "move_factor",
    "multiplicative_rows",
    "passive_aggressive_online",
    "passive_aggressive_pass",
    "predict_pairs",
    "residuals",
    "shift_residuals",
    "solve_rows",
    "sort_into_rows",
    "sparse_entries",
    "sparse_gram",
    "sparse_times",
    "squared_errors",
    "top_n",
]

BISECTION_TOLERANCE = 1e-5

_PRIMES = (
    *(2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497),
    *(2147483489, 2147483477, 2147483423, 2147483399, 2147483353, 2147483323, 2147483269, 2147483249),
)
_LONG_ROW = 512
_PLACES = (11, 13, 17, 19, 23, 29, 31, 37)
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 0xFFFFFFFFFFFFFFFF


def lane_sum(terms: NDArray[Any]) -> Any:
    """Block by block into sixteen partial sums, then folded 16 → 8 → 4 → 2 → 1."""
    blocks = terms.reshape(-1, LANES)
    sums = blocks[0]
    for block in blocks[1:]:
        sums = sums + block
    while len(sums) > 1:
        half = len(sums) // 2
        sums = sums[:half] + sums[half:]
    return sums[0]


def dot(a: NDArray[Any], b: NDArray[Any]) -> Any:
    return lane_sum(a * b)


def root_function(theta: Any, w: NDArray[Any], a: NDArray[Any], b: Any, softness: Any) -> Any:
    """f(θ) = max(w − θa, 0)·a − b − θ·softness."""
    real = w.dtype.type
    return lane_sum(np.maximum(w - real(theta) * a, real(0)) * a) - real(b) - real(theta) * real(softness)


def newton(theta: Any, w: NDArray[Any], a: NDArray[Any], b: Any, softness: Any) -> Any:
    """Where the tangent of f at θ, from the right, meets zero; infinity where it is flat above zero."""
    real = w.dtype.type
    active = (a < 0) | (w > theta * a)
    slope = real(softness) + lane_sum(np.where(active, a * a, real(0)))
    level = lane_sum(np.where(active, a * w, real(0))) - real(b)
    if slope == 0:
        return real(np.inf) if level > 0 and b < 0 else theta
    return level / slope


def exact_root(w: NDArray[Any], a: NDArray[Any], b: Any, softness: Any) -> Any:
    """Newton's method from θ = 0; infinity where f has no root."""
    theta = w.dtype.type(0)
    for _ in range(len(w) + 2):
        following = newton(theta, w, a, b, softness)
        if not following > theta:
            break
        theta = following
        if np.isinf(theta):
            break
    return theta


def bisection_root(w: NDArray[Any], a: NDArray[Any], b: Any, softness: Any, scale: Any) -> Any:
    """Doubles the first Newton step past the root, then halves until |f| ≤ tolerance · max(scale, 1)."""
    real = w.dtype.type
    tolerance = real(BISECTION_TOLERANCE) * max(real(scale), real(1))
    low, high = real(0), newton(real(0), w, a, b, softness)
    value, doublings = root_function(high, w, a, b, softness), 0
    while value > tolerance:
        if doublings == 64:
            return real(np.inf)
        low, high, doublings = high, high * 2, doublings + 1
        value = root_function(high, w, a, b, softness)
    theta, halvings = high, 0
    while abs(value) > tolerance and halvings < 100:
        theta, halvings = low + (high - low) / 2, halvings + 1
        value = root_function(theta, w, a, b, softness)
        if value < 0:
            high = theta
        else:
            low = theta
    return theta


def step_size(w: NDArray[Any], x: NDArray[Any], y: Any, error: Any, rule: Rule) -> Any:
    """The s of w ← w + s·x: eq. 10, 13 or 14 of the paper, or the root of the general f."""
    real = w.dtype.type
    squared_norm, loss = dot(x, x), abs(error) - real(rule.epsilon)
    if not (loss > 0 and squared_norm > 0):
        return real(0)
    softness = real(0.5 / rule.C) if rule.slack == "quadratic" else real(0)
    step = loss / (squared_norm + softness)
    if rule.slack == "linear":
        step = min(real(rule.C), step)
    sign = real(1) if error < 0 else real(-1)
    if step != 0 and rule.nonnegative and rule.root != "approximate":
        step = _root_step(w, sign * x, sign * real(y) + real(rule.epsilon), softness, abs(real(y)), rule)
    return -sign * step


def _root_step(
    w: NDArray[Any],
    a: NDArray[Any],
    b: Any,
    softness: Any,
    magnitude: Any,
    rule: Rule,
) -> Any:
    real = w.dtype.type
    cap = real(rule.C)
    if rule.slack == "linear" and root_function(cap, w, a, b, softness) >= 0:
        return cap
    if rule.root == "exact":
        theta = exact_root(w, a, b, softness)
    else:
        theta = bisection_root(w, a, b, softness, magnitude + real(rule.epsilon))
    if rule.slack == "linear":
        return min(theta, cap)
    return theta if np.isfinite(theta) else real(0)


def update(w: NDArray[Any], x: NDArray[Any], y: Any, rule: Rule) -> Any:
    """One round on padded rows, in place; returns the error y − w·x before it."""
    real = w.dtype.type
    error = real(y) - dot(w, x)
    step = step_size(w, x, y, error, rule)
    w += step * x
    if rule.nonnegative:
        np.maximum(w, real(0), out=w)
    return error


def row_order(seed: int, row: int, n: int) -> NDArray[np.int64]:
    """The order in which a row's n entries are met: k ↦ (start + k · stride) mod n."""
    mixed = _mix((seed + _GOLDEN * (row + 1)) & _WORD)
    start, choice = (mixed >> 4) % n, mixed & 15
    if n < _LONG_ROW:
        while n > 1 and _PRIMES[choice] % n == 0:
            choice = (choice + 1) & 15
        stride = _PRIMES[choice] % n
    else:
        choice &= 7
        while n % _PLACES[choice] == 0:
            choice = (choice + 1) & 7
        stride = pow(_PLACES[choice], -1, n)
    return (start + np.arange(n) * stride) % n


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def passive_aggressive_pass(
    rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], rule: Rule, seed: int
) -> Losses:
    total = np.zeros(2)
    for row, (begin, end) in enumerate(itertools.pairwise(rows.indptr)):
        entries = begin + row_order(seed, row, int(end - begin)) if end > begin else []
        errors, mean, met = [], moving[row].copy(), np.float32(rule.averaged)
        for k in entries:
            errors.append(update(moving[row], fixed[rows.indices[k]], rows.values[k], rule))
            met += np.float32(1)
            mean += np.float32(1) / met * (moving[row] - mean)
        if rule.averaged:
            moving[row] = mean
        total += _losses(errors, rule)
    return Losses(*total)


def passive_aggressive_online(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    values: NDArray[np.float32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_rule: Rule,
    item_rule: Rule,
) -> Losses:
    errors = []
    for user, item, value in zip(users, items, values, strict=True):
        before = user_factors[user].copy()
        errors.append(update(user_factors[user], item_factors[item], value, user_rule))
        update(item_factors[item], before, value, item_rule)
    return Losses(*_losses(errors, user_rule))


def _losses(errors: list[Any], rule: Rule) -> NDArray[np.float64]:
    magnitudes = np.abs(np.array(errors, dtype=np.float64))
    losses = np.maximum(magnitudes - rule.epsilon, 0)
    terms = (losses**2 if rule.slack == "quadratic" else losses, magnitudes)
    return np.array([sum(each.tolist(), 0.0) for each in terms])


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


def sort_into_rows(
    keys: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    n_keys: int,
    *,
    with_order: bool = False,
) -> tuple[Rows, NDArray[np.int64]]:
    order = np.argsort(keys, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=n_keys))])
    return Rows(indptr, indices[order], values[order]), order if with_order else order[:0]
