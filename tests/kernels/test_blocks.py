"""Block updates against their NumPy twins, on any number of threads, and their root against a solver that knows nothing
of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from rankfill import kernels
from rankfill.kernels import Rows, _native, block_pass, block_weight
from rankfill.kernels.reference import blocks as reference
from rankfill.objectives.losses import loss_slopes, loss_values

LOSSES = ("squared", "absolute", "epsilon-insensitive", "huber", "logistic")
TUBE = 0.2


def problem(loss, seed=0, n_rows=70, n_columns=31):
    rng = np.random.default_rng(seed)
    filled = rng.random((n_rows, n_columns)) < 0.4
    filled[0], filled[1] = True, False
    row, column = np.nonzero(filled)
    values = rng.choice([-1.0, 1.0], len(row)) if loss == "logistic" else rng.integers(0, 6, len(row))
    rows = Rows(
        np.concatenate([[0], np.cumsum(filled.sum(axis=1))]), column.astype(np.int32), values.astype(np.float32)
    )
    return rows, rng.normal(size=len(row)), rng.normal(size=(n_rows, 2)), rng.normal(size=(n_columns, 4))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("isa", _native.instruction_sets())
def test_pass_equals_its_twin_on_any_number_of_threads(loss, isa, monkeypatch):
    rows, residuals, own, other = problem(loss)
    theirs = residuals.copy()
    expected = reference.block_pass(rows, theirs, own, other, loss, 0.3, TUBE)
    monkeypatch.setattr(kernels.blocks, "instruction_set", lambda: isa)
    for threads in (1, 2, 5, 8):
        monkeypatch.setattr(kernels.blocks, "get_threads", lambda threads=threads: threads)
        ours = residuals.copy()
        found = block_pass(rows, ours, own, other, loss, 0.3, TUBE)
        assert ours.tobytes() == theirs.tobytes()
        for mine, twin in zip(found, expected, strict=True):
            if loss == "logistic":
                np.testing.assert_allclose(mine, twin, rtol=1e-12, atol=1e-12)
            else:
                assert mine.tobytes() == twin.tobytes()


@pytest.mark.parametrize("loss", LOSSES)
def test_parabola_touches_the_loss_and_lies_above_it(loss):
    """One entry, one term of 1: what comes back are slope and curvature."""
    width, moves = 0.3, np.linspace(-4, 4, 81)
    tube = TUBE if loss == "epsilon-insensitive" else 0.0

    def cost(e, target):
        if loss in ("absolute", "epsilon-insensitive"):  # rounded off, from above
            beyond = np.maximum(np.abs(e) - tube, 0)
            return np.where(beyond < width, beyond**2 / (2 * width) + width / 2, beyond)
        return loss_values(loss, np.full(np.shape(e), target), e, width)

    for e in (-2.0, -0.31, -0.1, 0.0, 0.2, 0.5, 1.0, 3.0):
        for target in (-1.0, 1.0):
            rows = Rows(np.array([0, 1]), np.zeros(1, np.int32), np.array([target], np.float32))
            one = np.array([[0.0, 0.0, 1.0, 0.0]])
            (slope,), (curvature,) = block_pass(rows, np.array([e]), np.zeros((1, 2)), one, loss, width, tube)
            if loss not in ("absolute", "epsilon-insensitive") or abs(e) > width + tube:
                assert slope == pytest.approx(loss_slopes(loss, [target], [e], width)[0], abs=1e-12)
            above = cost(np.array(e), target) + slope * moves + 0.5 * curvature * moves**2
            assert (above >= cost(e + moves, target) - 1e-12).all()


@pytest.mark.parametrize("isa", _native.instruction_sets())
def test_weight_equals_its_twin(isa, monkeypatch):
    monkeypatch.setattr(kernels.blocks, "instruction_set", lambda: isa)
    rng = np.random.default_rng(0)
    slopes, curvatures = rng.normal(size=501), rng.gamma(1.0, size=501)
    for penalty in (1e-6, 0.1, 3.0, 20.0, 50.0):
        assert block_weight(slopes, curvatures, penalty) == reference.block_weight(slopes, curvatures, penalty)


@pytest.mark.parametrize("isa", _native.instruction_sets())
def test_arrays_may_begin_at_any_number(isa, monkeypatch):
    """Vectors of four numbers are read from wherever these are, not only from multiples of 32 bytes."""
    monkeypatch.setattr(kernels.blocks, "instruction_set", lambda: isa)
    rng = np.random.default_rng(0)
    slopes, curvatures = rng.normal(size=21), rng.gamma(1.0, size=21)
    rows, residuals, own, other = problem("squared")
    theirs = residuals.copy()
    expected = reference.block_pass(rows, theirs, own, other, "squared", 0.3, TUBE)
    for bytes_on in (0, 8, 16, 24):
        placed = [_beginning(array, bytes_on) for array in (slopes, curvatures, residuals, own, other)]
        assert block_weight(*placed[:2], 0.1) == reference.block_weight(slopes, curvatures, 0.1)
        found = block_pass(rows, *placed[2:], "squared", 0.3, TUBE)
        assert placed[2].tobytes() == theirs.tobytes()
        assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]


def _beginning(array, bytes_on):
    """A copy that begins so many bytes beyond a multiple of 32."""
    room = np.empty(array.size + 8)
    first = (bytes_on - room.ctypes.data) % 32 // 8
    copy = room[first : first + array.size].reshape(array.shape)
    copy[:] = array
    assert copy.ctypes.data % 32 == bytes_on
    return copy


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(-8, 1), st.floats(-9, 9), st.floats(-9, 9))
def test_weight_is_the_root(seed, n, log_penalty, log_slopes, log_curvatures):
    rng = np.random.default_rng(seed)
    slopes = 10**log_slopes * rng.normal(size=n) * (rng.random(n) < 0.8)
    curvatures = 10**log_curvatures * rng.gamma(0.3, size=n) + 1e-30
    penalty = 10**log_penalty * (np.linalg.norm(slopes) or 1.0)
    xi = block_weight(slopes, curvatures, penalty)
    if np.linalg.norm(slopes) <= penalty:
        assert xi == 0
        return
    above = np.linalg.norm(slopes) / penalty - 1
    if above <= 1e-12:  # as good as equal: the root may be rounded to zero
        assert xi * curvatures.max() <= 1e-11
        return

    def excess(log_xi):
        return np.log(np.linalg.norm(slopes / (1 + np.exp(log_xi) * curvatures)) / penalty)

    # Lengths are rounded to about 1e-15, so the root is known to as much in proportion to what is above the penalty.
    assert np.log(xi) == pytest.approx(brentq(excess, -200, 200, xtol=1e-10), abs=1e-5 + 1e-15 / above)


def test_arrays_of_the_wrong_shape_are_refused():
    rows, residuals, own, other = problem("squared")
    with pytest.raises(ValueError, match="own must have one row for each"):
        block_pass(rows, residuals, own[:-1], other, "squared", 0.0)
    with pytest.raises(ValueError, match="other must have rows of 4"):
        block_pass(rows, residuals, own, np.ascontiguousarray(other[:, :3]), "squared", 0.0)
    with pytest.raises(ValueError, match="one residual for each entry"):
        block_pass(rows, residuals[:-1], own, other, "squared", 0.0)
    with pytest.raises(TypeError):
        _native.block_weight(own[:, 0], own[:, 1].astype(np.float32), 1.0, "baseline")
