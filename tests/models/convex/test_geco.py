"""Greedy low rank: its core against dense least squares, its directions against dense singular vectors."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.held_out import keep_aside


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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rank_that_is_not_given_is_the_best_on_ratings_kept_aside(seed):
    ratings = rf.synthetic.low_rank(200, 120, 6000, noise=0.5, seed=seed)
    [(part, aside)] = keep_aside(ratings)
    errors = [rf.evaluate(rf.Bias().fit(part), aside)["rmse"]]
    errors += [rf.evaluate(rf.GECO(rank=rank, passes=rank, tol=None).fit(part), aside)["rmse"] for rank in range(1, 9)]
    best = int(np.argmin(np.round(errors, 5)))  # without more directions above the noise errors are as good as equal
    assert 0 < best < 8
    ours, given = rf.GECO().fit(ratings), rf.GECO(rank=best).fit(ratings)
    assert 0 < ours.rank_ <= best  # on all ratings there may be fewer directions above the noise
    np.testing.assert_array_equal(ours.item_factors_, given.item_factors_[:, : ours.rank_])
    assert not given.item_factors_[:, ours.rank_ :].any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_is_left_to_the_offset(seed):
    train, test = rf.split(rf.synthetic.low_rank(400, 200, 16_000, noise=2.0, seed=seed), test=0.2, seed=0)
    ours, effects = (rf.evaluate(model.fit(train), test)["rmse"] for model in (rf.GECO(), rf.Bias()))
    assert ours <= 1.005 * effects


def test_rank_that_is_not_given_is_that_of_the_model_it_starts_from(ratings):
    start = rf.GECO(rank=2, penalty=0.01).fit(ratings)
    assert rf.GECO(penalty=0.01).fit(ratings, init=start).rank_ == 2
