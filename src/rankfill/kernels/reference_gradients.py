"""NumPy twins of the gradient kernels: the same signatures, the same results to the bit, slow and readable."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.gradients import GradientRule, Grid, RoundSums
from rankfill.kernels.reference import dot, lane_sum

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


def scheduled(rule: GradientRule, t: float) -> Any:
    rate, penalty = float(F(rule.rate)), float(F(rule.penalty))
    if rule.step == "inverse":
        return F(rate / (1 + rate * penalty * t))
    if rule.step == "sqrt":
        return F(rate / math.sqrt(1 + t / rule.period))
    if rule.step == "power":
        return F(rate * math.pow(1 + t / rule.period, -rule.power))
    return F(rule.rate)


def searched(
    rule: GradientRule, p: NDArray[np.float32], q: NDArray[np.float32], target: Any, e: Any, g: Any
) -> np.float32:
    """The first of rate, rate/2, … with f(θ − η∇f) ≤ f(θ) − ½ η ‖∇f‖²."""
    penalty, one, two, four = F(rule.penalty), F(rule.biased), F(0.5), F(4)
    b, c = (p[rule.rank], q[rule.rank + 1]) if rule.biased else (F(0), F(0))
    norms = (dot(p, p) - b * b - one) + (dot(q, q) - c * c - one)
    product = (target - e) - (b + c)

    def term(e: Any, norms: Any, b: Any, c: Any) -> float:
        biases = float(b) * float(b) + float(c) * float(c)
        return value(rule, target, e) + 0.5 * float(penalty) * (float(norms) + biases)

    before = term(e, norms, b, c)
    down_b, down_c = one * (g - penalty * b), one * (g - penalty * c)
    squares = (g * g + penalty * penalty) * norms - four * g * penalty * product + down_b * down_b + down_c * down_c
    eta = F(rule.rate)
    for _ in range(30):
        keep, take = F(1) - eta * penalty, eta * g
        both, cross = keep * keep + take * take, keep * take
        b_after, c_after = b + eta * down_b, c + eta * down_c
        product_after = both * product + cross * norms + b_after + c_after
        after = term(target - product_after, both * norms + four * cross * product, b_after, c_after)
        if after <= before - 0.5 * float(eta) * float(squares):
            break
        eta *= two
    return eta


def gradient_round(
    p: NDArray[np.float32],
    q: NDArray[np.float32],
    target: Any,
    t: float,
    memory: tuple[Any, Any],
    rule: GradientRule,
) -> tuple[RoundSums, tuple[Any, Any]]:
    """One round on padded rows, in place; returns the terms before it and the sums of squared gradients after."""
    e = F(target) - dot(p, q)
    g, penalty = slope(rule, F(target), e), F(rule.penalty)
    down_p, down_q = g * q - penalty * p, g * p - penalty * q
    if rule.step == "adagrad":
        steps = tuple(F(rule.rate) / np.sqrt(each) for each in memory)
        share = F(1) / F(rule.rank)
        memory = memory[0] + share * lane_sum(down_p * down_p), memory[1] + share * lane_sum(down_q * down_q)
    else:
        eta = searched(rule, p, q, F(target), e, g) if rule.step == "line-search" else scheduled(rule, t)
        steps = (eta, eta)
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
    rule: GradientRule,
) -> RoundSums:
    sums = [0.0, 0.0, 0.0]
    for k, (user, item, target) in enumerate(zip(users, items, targets, strict=True)):
        memory = user_memory[user], item_memory[item]
        terms, memory = gradient_round(user_factors[user], item_factors[item], target, first_round + k, memory, rule)
        user_memory[user], item_memory[item] = memory
        sums = [total + term for total, term in zip(sums, terms, strict=True)]
    return RoundSums(*sums)


def gradient_pass(
    grid: Grid,
    strata: NDArray[np.int32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
    user_memory: NDArray[np.float32],
    item_memory: NDArray[np.float32],
    rule: GradientRule,
    first_round: int,
) -> RoundSums:
    """One block after the other, stratum by stratum."""
    total, groups = [0.0, 0.0, 0.0], grid.groups
    for stratum in strata:
        for b in range(groups):
            block = b * groups + (b + int(stratum)) % groups
            entries = slice(grid.start[block], grid.start[block + 1])
            sums = gradient_online(
                grid.users[entries],
                grid.items[entries],
                grid.values[entries],
                first_round,
                user_factors,
                item_factors,
                user_memory,
                item_memory,
                rule,
            )
            first_round += entries.stop - entries.start
            total = [a + each for a, each in zip(total, sums, strict=True)]
    return RoundSums(*total)
