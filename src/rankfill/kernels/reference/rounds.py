"""NumPy twins of the passive-aggressive rounds."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.reference.lanes import dot, lane_sum
from rankfill.kernels.reference.row_order import row_order
from rankfill.kernels.rounds import Losses, Rule
from rankfill.kernels.rows import Rows

BISECTION_TOLERANCE = 1e-5


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
    """Doubles the first Newton step past the root, then halves until |f| ≤ τ · scale, or as far as rounding lets it."""
    real = w.dtype.type
    rounding = np.finfo(real).eps * root_function(real(0), w, a, b, softness)
    tolerance = max(real(BISECTION_TOLERANCE) * real(scale), rounding)
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
        if theta in (low, high):
            break
        value = root_function(theta, w, a, b, softness)
        if value < 0:
            high = theta
        else:
            low = theta
    return theta


def published_root(w: NDArray[Any], x: NDArray[Any], b: Any, softness: Any) -> Any:
    """Algorithm 2 of the paper: [0, max w/x] is halved until |f| ≤ τ · b, or as far as rounding lets it."""
    real = w.dtype.type
    low, high = real(0), np.max(w[x > 0] / x[x > 0], initial=real(0))
    if b == 0 and softness == 0:
        return high
    theta, value = high, root_function(high, w, x, b, softness)
    while abs(value) > real(BISECTION_TOLERANCE) * b:
        theta = low + (high - low) / 2
        if theta in (low, high):
            break
        value = root_function(theta, w, x, b, softness)
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
    in_closed_form = rule.root == "approximate" or (rule.root == "published-bisection" and error > 0)
    if step != 0 and rule.nonnegative and not in_closed_form:
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
    elif rule.root == "published-bisection":
        theta = published_root(w, a, b, softness)
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
