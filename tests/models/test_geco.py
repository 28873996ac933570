"""Greedy low rank: its core against dense least squares, its directions against dense singular vectors."""

import numpy as np
import pytest

import rankfill as rf


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(40, 25, 500, seed=0)


def test_core_is_the_least_squares_solution(ratings):
    model = rf.GECO(rank=3, penalty=0.01, offset="none", passes=3).fit(ratings)
    U, V = (np.linalg.qr(side.astype(float))[0] for side in (model.user_factors_, model.item_factors_))
    design = np.einsum("ni,nj->nij", U[ratings.user_indices], V[ratings.item_indices]).reshape(len(ratings), -1)
    solution, *_ = np.linalg.lstsq(design, ratings.values.astype(float))
    expected = 0.5 * ((ratings.values - design @ solution) ** 2).sum()
    assert model.history_[-1].objective == pytest.approx(expected, rel=1e-6)
    assert len(model.core_steps_) == 3
    assert min(model.core_steps_) > 0


def test_first_direction_is_the_leading_pair_of_the_ratings(ratings):
    model = rf.GECO(rank=1, penalty=0.01, offset="none", passes=1).fit(ratings)
    dense = np.zeros(ratings.shape)
    dense[ratings.user_indices, ratings.item_indices] = ratings.values
    left, _, right = np.linalg.svd(dense)
    for factors, expected in ((model.user_factors_, left[:, 0]), (model.item_factors_, right[0])):
        cosine = factors[:, 0] @ expected / np.linalg.norm(factors[:, 0])
        assert abs(cosine) == pytest.approx(1, abs=1e-6)


def test_loss_falls_with_every_rank(ratings):
    model = rf.GECO(rank=8, penalty=0.01, passes=8, tol=None).fit(ratings)
    objectives = [report.objective for report in model.history_]
    assert (np.diff(objectives) < 0).all()
    assert np.linalg.matrix_rank(model.user_factors_) == 8


def test_directions_within_the_level_of_noise_are_not_added():
    rng = np.random.default_rng(0)
    noise = rf.synthetic.low_rank(60, 40, 600, seed=1).with_values(lambda values: rng.normal(size=len(values)))
    model = rf.GECO(rank=10, penalty=50.0).fit(noise)
    assert (model.user_factors_ == 0).all()
    assert model.user_factors_.shape == (60, 10)
