"""Losses against their definitions, their slopes against finite differences, their curvature against its bound."""

import numpy as np
import pytest

from rankfill.kernels import GradientRule, gradient_online, padded
from rankfill.kernels.gradients import LossName as KernelLossName
from rankfill.objectives.losses import CURVATURE, LOSSES, LossName, loss_conjugates, loss_slopes, loss_values

E = np.linspace(-4, 4, 401) + 1e-3  # no kink among them


def ratings_for(loss, e):
    return np.where(np.arange(len(e)) % 2, 1.0, -1.0) if loss == "logistic" else np.full(len(e), 3.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_slope_is_the_derivative(loss):
    r, h = ratings_for(loss, E), 1e-6
    difference = (loss_values(loss, r, E + h, 0.7) - loss_values(loss, r, E - h, 0.7)) / (2 * h)
    np.testing.assert_allclose(loss_slopes(loss, r, E, 0.7), difference, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_conjugate_is_the_largest_difference(loss):
    """q e − ℓ(e) ≤ ℓ*(q) everywhere, with equality where q is the slope."""
    r = ratings_for(loss, E)
    slopes = loss_slopes(loss, r, E, 0.7)
    conjugates = loss_conjugates(loss, r, slopes, 0.7)
    np.testing.assert_allclose(conjugates, slopes * E - loss_values(loss, r, E, 0.7), atol=1e-12)
    for other in (-3.0, -0.2, 0.0, 1.0):
        assert (slopes * other - loss_values(loss, r, np.full_like(E, other), 0.7) <= conjugates + 1e-12).all()


@pytest.mark.parametrize("loss", sorted(CURVATURE))
def test_curvature_is_within_its_bound_and_reaches_it(loss):
    r, h = ratings_for(loss, E), 1e-4
    curvature = (loss_slopes(loss, r, E + h, 0.7) - loss_slopes(loss, r, E - h, 0.7)) / (2 * h)
    assert curvature.max() <= CURVATURE[loss] * (1 + 1e-6)
    assert curvature.max() >= CURVATURE[loss] * 0.999


def test_values_are_those_of_the_definitions():
    e = np.array([-2.0, -0.5, 0.0, 0.25, 3.0])
    np.testing.assert_allclose(loss_values("squared", 0, e), e**2 / 2)
    np.testing.assert_allclose(loss_values("absolute", 0, e), np.abs(e))
    np.testing.assert_allclose(loss_values("epsilon-insensitive", 0, e, 0.5), [1.5, 0, 0, 0, 2.5])
    np.testing.assert_allclose(loss_values("huber", 0, e, 1.0), [1.5, 0.125, 0, 0.03125, 2.5])
    np.testing.assert_allclose(loss_values("logistic", [1, -1], [1, -1]), np.log(2))  # both predict 0


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_convex_and_never_negative(loss):
    r = ratings_for(loss, E)
    a, b = E, E[::-1] if loss != "logistic" else E + 0.5
    middle = loss_values(loss, r, (a + b) / 2, 0.7)
    assert (middle <= (loss_values(loss, r, a, 0.7) + loss_values(loss, r, b, 0.7)) / 2 + 1e-12).all()
    assert loss_values(loss, r, E, 0.7).min() >= 0


def test_far_margins_do_not_overflow():
    r, e = np.array([1.0, 1.0]), np.array([-1e4, 1e4])
    np.testing.assert_allclose(loss_values("logistic", r, e), [0, 1e4 - 1], atol=1e-9)
    np.testing.assert_allclose(loss_slopes("logistic", r, e), [0, 1])


def test_kernels_know_the_same_words():
    assert LossName == KernelLossName


@pytest.mark.parametrize("loss", LOSSES)
def test_kernels_have_the_same_formulas(loss):
    """A round on q = 1 with a step of 1 moves p from 0 by the slope, and reports the value."""
    for target, e in zip(ratings_for(loss, E)[::7], E[::7], strict=True):
        p, q = padded(1, 1), padded(1, 1)
        q[0, 0] = 1
        p[0, 0] = start = np.float32(target - e)
        rule = GradientRule(rank=1, loss=loss, width=0.7, step="constant", rate=1.0, penalty=0.0, biased=False)
        one, zero = np.ones(1, np.float32), np.zeros(1, np.int32)
        sums = gradient_online(zero, zero, np.float32([target]), 0, p, q, one, one.copy(), 0 * one, 0 * one, rule)
        residual = np.float32(target) - start
        assert sums.loss == pytest.approx(loss_values(loss, target, residual, 0.7), rel=1e-6, abs=1e-7)
        assert p[0, 0] - start == pytest.approx(loss_slopes(loss, target, residual, 0.7), rel=1e-5, abs=1e-6)
