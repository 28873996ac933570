"""NumPy twins of the gradient kernels: the same signatures, the same results to the bit, slow and readable."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.gradients import NO_MEANS, GradientRule, Grid, RoundSums, RowMeans
from rankfill.kernels.reference.lanes import dot, lane_sum

F = np.float32


def slope(rule: GradientRule, target: Any, e: Any) -> Any:
    """dℓ/de in float32; the logistic one in float64, then rounded."""
    width = F(rule.width)
    if rule.loss == "squared":
        return e
    if rule.loss == "absolute":
        return np.sign(e)
    if rule.loss == "epsilon-insensitive":
        return np.sign(e) if abs(e) > width else F(0)
    if rule.loss == "huber":
        return width * np.sign(e) if abs(e) > width else e
    return F(float(target) / (1 + math.exp(float(target) * (float(target) - float(e)))))


def value(rule: GradientRule, target: Any, e: Any) -> float:
    """ℓ in float64."""
    wide, width = float(e), float(F(rule.width))
    if rule.loss == "squared":
        return 0.5 * wide * wide
    if rule.loss == "absolute":
        return abs(wide)
    if rule.loss == "epsilon-insensitive":
        return abs(wide) - width if abs(wide) > width else 0.0
    if rule.loss == "huber":
        return width * (abs(wide) - 0.5 * width) if abs(wide) > width else 0.5 * wide * wide
    margin = float(target) * (float(target) - wide)
    return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin


def scheduled_step(rule: GradientRule, t: float) -> Any:
    rate, penalty = float(F(rule.rate)), float(F(rule.penalty))
    if rule.step == "inverse":
        return F(rate / (1 + rate * penalty * t))
    if rule.step == "sqrt":
        return F(rate / math.sqrt(1 + t / rule.period))
    if rule.step == "power":
        return F(rate * math.pow(1 + t / rule.period, -rule.power))
    return F(rule.rate)


def searched_step(
    rule: GradientRule,
    p: NDArray[np.float32],
    q: NDArray[np.float32],
    target: Any,
    e: Any,
    g: Any,
    penalties: tuple[Any, Any],
) -> np.float32:
    """The first of rate, rate/2, … with f(θ − η∇f) ≤ f(θ) − ½ η ‖∇f‖²."""
    (lp, lq), one, two = penalties, F(rule.biased), F(2)
    b, c = (p[rule.rank], q[rule.rank + 1]) if rule.biased else (F(0), F(0))
    norm_p, norm_q = dot(p, p) - b * b - one, dot(q, q) - c * c - one
    product = (target - e) - (b + c)

    def term(e: Any, squares_p: Any, squares_q: Any) -> float:
        return value(rule, target, e) + 0.5 * float(lp * squares_p) + 0.5 * float(lq * squares_q)

    share = F(rule.bias_share)
    before = term(e, norm_p + share * b * b, norm_q + share * c * c)
    down_b, down_c = one * (g - share * lp * b), one * (g - share * lq * c)
    squares = (
        (g * g + lp * lp) * norm_p
        + down_b * down_b
        + (g * g + lq * lq) * norm_q
        + down_c * down_c
        - two * g * (lp + lq) * product
    )
    eta = F(rule.rate)
    for _ in range(30):
        keep_p, keep_q, take = F(1) - eta * lp, F(1) - eta * lq, eta * g
        b_after, c_after = b + eta * down_b, c + eta * down_c
        after = (keep_p * keep_q + take * take) * product + keep_p * take * norm_p + keep_q * take * norm_q
        after = after + b_after + c_after
        cross = two * take * product
        squares_p = keep_p * keep_p * norm_p + keep_p * cross + take * take * norm_q + share * b_after * b_after
        squares_q = keep_q * keep_q * norm_q + keep_q * cross + take * take * norm_p + share * c_after * c_after
        if term(target - after, squares_p, squares_q) <= before - 0.5 * float(eta) * float(squares):
            break
        eta *= F(0.5)
    return eta


def gradient_round(
    p: NDArray[np.float32],
    q: NDArray[np.float32],
    target: Any,
    t: float,
    memory: tuple[Any, Any],
    penalties: tuple[Any, Any],
    rule: GradientRule,
) -> tuple[RoundSums, tuple[Any, Any]]:
    """One round on padded rows, in place; returns the terms before it and the sums of squared gradients after."""
    e = F(target) - dot(p, q)
    g = slope(rule, F(target), e)
    down_p, down_q = g * q - penalties[0] * p, g * p - penalties[1] * q
    if rule.step == "adagrad":
        steps = tuple(F(rule.rate) / np.sqrt(each) for each in memory)
        share = F(1) / F(rule.rank)
        memory = memory[0] + share * lane_sum(down_p * down_p), memory[1] + share * lane_sum(down_q * down_q)
    else:
        searches = rule.step == "line-search"
        eta = searched_step(rule, p, q, F(target), e, g, penalties) if searches else scheduled_step(rule, t)
        steps = (eta, eta)
    if rule.biased:  # a bias moves with a share of its row's penalty
        for row, down, penalty, bias in (
            (p, down_p, penalties[0], rule.rank),
            (q, down_q, penalties[1], rule.rank + 1),
        ):
            down[bias] = g - F(rule.bias_share) * penalty * row[bias]
    for row, down, eta, bounded in (
        (p, down_p, steps[0], rule.nonnegative_users),
        (q, down_q, steps[1], rule.nonnegative_items),
    ):
        row += eta * down
        if bounded:
            np.maximum(row[: rule.rank], F(0), out=row[: rule.rank])
    if rule.biased:
        p[rule.rank + 1] = q[rule.rank] = 1
    return RoundSums(value(rule, F(target), e), float(e) * float(e), abs(float(e))), memory


def gradient_online(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    first_round: int,
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_memory: NDArray[np.float32],
    item_memory: NDArray[np.float32],
    user_penalties: NDArray[np.float32],
    item_penalties: NDArray[np.float32],
    rule: GradientRule,
) -> RoundSums:
    return _rounds(
        users,
        items,
        targets,
        first_round,
        user_factors,
        item_factors,
        user_memory,
        item_memory,
        user_penalties,
        item_penalties,
        rule,
        (NO_MEANS, NO_MEANS),
    )


def gradient_pass(
    grid: Grid,
    strata: NDArray[np.int32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_memory: NDArray[np.float32],
    item_memory: NDArray[np.float32],
    user_penalties: NDArray[np.float32],
    item_penalties: NDArray[np.float32],
    rule: GradientRule,
    first_round: int,
    means: tuple[RowMeans, RowMeans] = (NO_MEANS, NO_MEANS),
) -> RoundSums:
    """One block after the other, stratum by stratum."""
    total, groups = [0.0, 0.0, 0.0], grid.groups
    for stratum in strata:
        for b in range(groups):
            block = b * groups + (b + int(stratum)) % groups
            entries = slice(grid.start[block], grid.start[block + 1])
            sums = _rounds(
                grid.users[entries],
                grid.items[entries],
                grid.values[entries],
                first_round,
                user_factors,
                item_factors,
                user_memory,
                item_memory,
                user_penalties[grid.users[entries]],
                item_penalties[grid.items[entries]],
                rule,
                means,
            )
            first_round += entries.stop - entries.start
            total = [a + each for a, each in zip(total, sums, strict=True)]
    return RoundSums(*total)


def _rounds(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    first_round: int,
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_memory: NDArray[np.float32],
    item_memory: NDArray[np.float32],
    user_penalties: NDArray[np.float32],
    item_penalties: NDArray[np.float32],
    rule: GradientRule,
    means: tuple[RowMeans, RowMeans],
) -> RoundSums:
    sums = [0.0, 0.0, 0.0]
    for k, (user, item, target) in enumerate(zip(users, items, targets, strict=True)):
        memory = user_memory[user], item_memory[item]
        penalties = user_penalties[k], item_penalties[k]
        terms, memory = gradient_round(
            user_factors[user], item_factors[item], target, first_round + k, memory, penalties, rule
        )
        user_memory[user], item_memory[item] = memory
        for side, place, row in zip(means, (user, item), (user_factors[user], item_factors[item]), strict=True):
            if len(side.rows):
                side.met[place] += F(1)
                side.rows[place] += F(1) / side.met[place] * (row - side.rows[place])
        sums = [total + term for total, term in zip(sums, terms, strict=True)]
    return RoundSums(*sums)
