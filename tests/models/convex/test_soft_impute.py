"""Soft-impute against independent solvers: cvxpy, and the dense algorithm as it is usually written."""

import cvxpy
import numpy as np
import pytest

import rankfill as rf


def sparse_problem(n=15, m=10, seed=0):
    """A third of the entries of a noisy matrix of rank 2; row 4 and column 2 are empty."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(0, 1, (n, 2)) @ rng.normal(0, 1, (2, m)) + 0.3 * rng.normal(size=(n, m))
    dense[rng.random((n, m)) > 0.4] = np.nan
    dense[4], dense[:, 2] = np.nan, np.nan
    return dense


def objective(w, dense, penalty, scales=None):
    scaled = w if scales is None else scales[0][:, None] * w * scales[1]
    return 0.5 * np.nansum((dense - w) ** 2) + penalty * np.linalg.svd(scaled, compute_uv=False).sum()


def weights(dense):
    known = ~np.isnan(dense)
    counts = known.sum(axis=1), known.sum(axis=0)
    return [np.sqrt(each / each[each > 0].mean()) for each in counts]


def completed(model, dense):
    """Without ids that have no ratings: those are answered by the mean of the others."""
    return model.user_factors_ @ model.item_factors_.T


def dense_soft_impute(dense, penalty, steps):
    """Fill in, decompose, shrink, repeat: the algorithm in its plain form."""
    w = np.zeros(dense.shape)
    for _ in range(steps):
        u, values, vt = np.linalg.svd(np.where(np.isnan(dense), w, dense), full_matrices=False)
        w = (u * np.maximum(values - penalty, 0)) @ vt
    return w


@pytest.mark.parametrize("weighting", ["constant", "count"])
@pytest.mark.parametrize("penalty", [0.1, 0.7, 2.0])
def test_optimum_is_that_of_a_conic_solver(penalty, weighting):
    dense = sparse_problem()
    known = ~np.isnan(dense)
    w = cvxpy.Variable(dense.shape)
    scales = weights(dense) if weighting == "count" else [np.ones(n) for n in dense.shape]
    scaled = cvxpy.diag(scales[0]) @ w @ cvxpy.diag(scales[1])
    errors = cvxpy.multiply(known, w - np.where(known, dense, 0))
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(errors) + penalty * cvxpy.normNuc(scaled)))
    problem.solve(solver=cvxpy.SCS, eps=1e-7, max_iters=20000)
    ratings = rf.Ratings.from_dense(dense)
    model = rf.SoftImpute(
        penalty=penalty, weighting=weighting, offset="none", gap=1e-8, tol=None, passes=20000, clip=False
    ).fit(ratings)
    ours = objective(completed(model, dense), dense, penalty, scales)
    assert ours == pytest.approx(problem.value, rel=1e-5)
    assert model.history_[-1].objective == pytest.approx(ours, rel=1e-5)
    proof = rf.certificate(model, ratings)
    assert proof.dual <= problem.value * (1 + 1e-6)
    assert proof.relative_gap < 1e-5
    assert model.history_[-1].gap <= 1e-8


@pytest.mark.parametrize("accelerated", [True, False])
def test_optimum_is_that_of_the_dense_algorithm(accelerated):
    dense = sparse_problem(40, 25, seed=1)
    expected = dense_soft_impute(dense, 1.5, 2000)
    model = rf.SoftImpute(
        penalty=1.5, offset="none", accelerated=accelerated, gap=1e-9, tol=None, passes=5000, clip=False
    ).fit(rf.Ratings.from_dense(dense))
    assert model.rank_ == np.linalg.matrix_rank(expected, tol=1e-6)
    np.testing.assert_allclose(completed(model, dense), expected, atol=2e-4)


def test_plain_steps_are_those_of_the_dense_algorithm():
    """Above λ_max/2 there are no steps with a larger penalty first."""
    dense = sparse_problem(20, 13)
    penalty = 0.6 * np.linalg.norm(np.nan_to_num(dense), 2)
    for steps in (1, 2, 5):
        model = rf.SoftImpute(penalty=penalty, offset="none", accelerated=False, passes=steps, tol=None)
        ours = completed(model.fit(rf.Ratings.from_dense(dense)), dense)
        np.testing.assert_allclose(ours, dense_soft_impute(dense, penalty, steps), atol=1e-5)


@pytest.mark.parametrize("offset", ["none", "mean", "bias"])
@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_from_the_largest_penalty_on_nothing_is_learned(offset, weighting):
    ratings = rf.Ratings.from_dense(sparse_problem())
    model = rf.SoftImpute(offset=offset, weighting=weighting)
    largest = model.largest_penalty(ratings)
    nothing = model.set_params(penalty=largest).fit(ratings)
    assert nothing.rank_ == 0
    assert nothing.history_[-1].gap < 1e-9
    assert rf.certificate(nothing, ratings).rank == 0
    assert np.isfinite(nothing.recommend([0, 3], n=3).scores).all()
    assert nothing.fold_in(ratings).shape == (15, 2 * (offset == "bias"))
    something = model.set_params(penalty=0.97 * largest, passes=500).fit(ratings)
    assert something.rank_ >= 1


def test_largest_penalty_is_the_spectral_norm_and_asking_for_it_changes_nothing():
    dense = sparse_problem()
    ratings = rf.Ratings.from_dense(dense)
    model = rf.SoftImpute(penalty=1.0, offset="none").fit(ratings)
    before = model.user_factors_.copy()
    assert model.largest_penalty(ratings) == pytest.approx(np.linalg.norm(np.nan_to_num(dense), 2), rel=1e-6)
    np.testing.assert_array_equal(model.user_factors_, before)


def test_with_nothing_learned_the_offset_is_what_bias_predicts():
    ratings = rf.Ratings.from_dense(sparse_problem())
    model, bias = rf.SoftImpute(penalty=1e6).fit(ratings), rf.Bias().fit(ratings)
    users, items = [0, 1, 2, 3, 5, 14], [0, 1, 3, 9]
    np.testing.assert_allclose(
        model.predict(np.array(users)[:, None], items), bias.predict(np.array(users)[:, None], items), atol=1e-6
    )


def test_objective_never_rises_with_or_without_momentum():
    ratings = rf.synthetic.low_rank(80, 50, 1500, seed=3)
    for accelerated in (True, False):
        model = rf.SoftImpute(penalty=3.0, accelerated=accelerated, tol=None, passes=60).fit(ratings)
        objectives = np.array([report.objective for report in model.history_])
        assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()


def test_acceleration_saves_passes():
    ratings = rf.synthetic.low_rank(80, 50, 1500, seed=3)
    passes = [
        len(rf.SoftImpute(penalty=0.5, accelerated=fast, gap=1e-4, tol=None, passes=3000).fit(ratings).history_)
        for fast in (True, False)
    ]
    assert passes[0] < 0.7 * passes[1]


def test_factors_are_the_singular_vectors_by_the_roots_of_the_singular_values():
    ratings = rf.synthetic.low_rank(80, 50, 1500, seed=3)
    model = rf.SoftImpute(penalty=3.0).fit(ratings)
    assert model.rank_ > 1
    grams = [factors.T.astype(np.float64) @ factors for factors in (model.user_factors_, model.item_factors_)]
    np.testing.assert_allclose(grams[0], grams[1], atol=1e-4)
    np.testing.assert_allclose(grams[0], np.diag(np.diag(grams[0])), atol=1e-4)


def test_folding_in_the_training_ratings_gives_the_factors_back():
    """At the optimum every row solves its own ridge regression."""
    ratings = rf.synthetic.low_rank(80, 50, 1500, seed=3)
    for weighting in ("constant", "count"):
        model = rf.SoftImpute(penalty=2.0, weighting=weighting, gap=1e-9, tol=None, passes=3000).fit(ratings)
        rows = model.fold_in(ratings)
        np.testing.assert_allclose(rows[:, : model.rank_], model.user_factors_, atol=5e-3)
        np.testing.assert_allclose(rows[:, model.rank_], model.user_biases_, atol=1e-5)


def test_default_penalty_learns_a_planted_taste_and_no_noise():
    rng = np.random.default_rng(0)
    planted = rf.synthetic.low_rank(400, 150, 12000, noise=0.5, seed=1)
    noise = planted.with_values(lambda values: rng.permutation(values))
    for ratings, most in ((planted, 0.97), (noise, 1.005)):
        train, test = rf.split(ratings, test=0.2, seed=0)
        errors = [rf.evaluate(m.fit(train), test, scores=["rmse"])["rmse"] for m in (rf.SoftImpute(), rf.Bias())]
        assert errors[0] < most * errors[1]


@pytest.mark.data
def test_movielens_is_certified_and_momentum_changes_the_way_only(data_folder):
    train, _ = rf.split(rf.datasets.movielens("100k").ratings, test=0.2, seed=0)
    objectives = {}
    for penalty in (60.0, 40.0, 25.0):
        model = rf.SoftImpute(penalty=penalty, offset="none", gap=1e-4, tol=None, passes=1000).fit(train)
        proof = rf.certificate(model, train)
        assert proof.relative_gap <= 1.01e-4
        objectives[penalty] = proof.primal
    plain = rf.SoftImpute(penalty=60.0, offset="none", accelerated=False, gap=1e-4, tol=None, passes=2000).fit(train)
    assert plain.history_[-1].objective == pytest.approx(objectives[60.0], rel=1e-5)
