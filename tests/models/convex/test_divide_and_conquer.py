"""Divide and conquer against the formulas of the paper on dense matrices, in every option."""

import numpy as np
import pytest

import rankfill as rf

RATINGS = rf.synthetic.low_rank(60, 37, n_ratings=900, rank=3, noise=0.3, seed=4)
MODELS = {
    "trace trade-off": rf.TraceTradeoff(penalty=2.0, offset="none"),
    "by count": rf.TraceTradeoff(penalty=2.0, weighting="count"),
    "soft-impute, mean": rf.SoftImpute(penalty=2.0, offset="mean"),
    "bounded": rf.TraceBounded(trace=30.0, passes=10),
    "primal-dual": rf.PrimalDual(penalty=2.0, passes=20),
}


def offset_of(model, ratings):
    """The part of every prediction that is learned before the blocks, as a dense matrix."""
    if model.offset == "none":
        return np.zeros(ratings.shape)
    if model.offset == "mean":
        return np.full(ratings.shape, ratings.mean())
    bias = rf.Bias(clip=False).fit(ratings)
    return bias.mean_ + np.add.outer(bias.user_effects_.astype(float), bias.item_effects_.astype(float))


def completed_blocks(model, ratings, blocks, seed):
    """Every block completed by the model itself, on ratings of that block alone, as dense matrices of full width."""
    left_over = ratings.with_values(
        lambda values: values - offset_of(model, ratings)[ratings.user_indices, ratings.item_indices]
    )
    divided = np.array_split(np.random.default_rng(seed).permutation(ratings.n_items), blocks)
    dense = []
    for items in divided:
        part = left_over.select(np.isin(left_over.item_indices, items))
        fitted = type(model)(**model.get_params() | {"offset": "none", "clip": False}).fit(part)
        block = np.zeros(ratings.shape)
        block[:, items] = (fitted.user_factors_.astype(float) @ fitted.item_factors_.astype(float).T)[:, items]
        dense.append((block, len(part)))
    return dense


def projection_on_columns_of(block):
    u, values, _ = np.linalg.svd(block, full_matrices=False)
    basis = u[:, values > 1e-4 * values.max(initial=1e-300)]
    return basis @ basis.T


def predictions_of(model):
    return model.offset_ + (
        model.user_factors_.astype(float) @ model.item_factors_.astype(float).T
        + np.add.outer(model.user_biases_.astype(float), model.item_biases_.astype(float))
    )


@pytest.mark.parametrize("combine", ["project", "average"])
@pytest.mark.parametrize("name", MODELS)
def test_blocks_are_combined_by_projection_as_on_dense_matrices(name, combine):
    part = MODELS[name]
    model = rf.DivideAndConquer(model=part, blocks=3, combine=combine, refit=0, seed=7).fit(RATINGS)
    blocks = completed_blocks(part, RATINGS, 3, 7)
    whole = sum(block for block, _ in blocks)
    assert np.linalg.matrix_rank(whole, tol=1e-4) > 2
    spaces = [projection_on_columns_of(block) for block, _ in blocks]
    if combine == "project":
        spaces = [spaces[int(np.argmax([n_ratings for _, n_ratings in blocks]))]]
    expected = offset_of(part, RATINGS) + np.mean(spaces, axis=0) @ whole
    np.testing.assert_allclose(predictions_of(model), expected, atol=2e-5)


def test_one_block_is_the_model_itself():
    alone = rf.TraceTradeoff(penalty=2.0).fit(RATINGS)
    exact = rf.TraceTradeoff(penalty=2.0, gap=1e-7)
    np.testing.assert_allclose(
        predictions_of(rf.DivideAndConquer(model=exact, blocks=1).fit(RATINGS)),
        predictions_of(alone),
        atol=1e-3,  # ratings less their offset are rounded to single precision before the one block is completed
    )


@pytest.mark.parametrize("combine", ["project", "average"])
def test_any_number_of_threads_gives_the_same_bits(combine):
    before, found = rf.get_threads(), []
    try:
        for threads in (1, 2, 5):
            rf.set_threads(threads)
            model = rf.DivideAndConquer(blocks=4, combine=combine).fit(RATINGS)
            found.append(model.user_factors_.tobytes() + model.item_factors_.tobytes())
            assert rf.get_threads() == threads
    finally:
        rf.set_threads(before)
    assert len(set(found)) == 1


@pytest.mark.parametrize("name", MODELS)
def test_refitting_brings_the_objective_down_to_where_every_user_has_his_ridge_regression(name):
    make = lambda refit: rf.DivideAndConquer(model=MODELS[name], blocks=3, refit=refit).fit(RATINGS)  # noqa: E731
    models = [make(refit) for refit in range(3)]
    np.testing.assert_allclose(models[1].fold_in(RATINGS)[:, : models[1].rank_], models[1].user_factors_, atol=1e-3)
    objectives = [objective_of(model) for model in models]
    assert objectives[0] > objectives[1] > objectives[2]


def objective_of(model):
    """½ Σ e² + ½ λ (‖P‖² + ‖Q‖²), rows weighted as the model says."""
    errors = RATINGS.values - predictions_of(model)[RATINGS.user_indices, RATINGS.item_indices]
    total = np.sum(errors**2)
    sides = ((model.user_factors_, RATINGS.by_user), (model.item_factors_, RATINGS.by_item))
    for factors, counts in ((factors, rows.counts()) for factors, rows in sides):
        weights = counts / counts[counts > 0].mean() if model.weighting == "count" else np.ones(len(counts))
        total += model.penalty_ * weights @ np.square(factors.astype(float)).sum(axis=1)
    return 0.5 * total


def test_history_tells_the_error_on_the_ratings():
    model = rf.DivideAndConquer(blocks=3).fit(RATINGS)
    errors = RATINGS.values - predictions_of(model)[RATINGS.user_indices, RATINGS.item_indices]
    assert model.history_[0].train == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-4)
    assert model.history_[0].objective == pytest.approx(0.5 * np.sum(errors**2), rel=1e-4)


def test_new_people_get_the_ridge_regression_on_the_items():
    model = rf.DivideAndConquer(model=rf.SoftImpute(penalty=2.0, offset="none"), blocks=2).fit(RATINGS)
    newcomer = RATINGS.of_users(RATINGS.users.ids()[:1])
    items = model.item_factors_[model.items_.index(newcomer.items.ids())][newcomer.item_indices].astype(float)
    system = items.T @ items + model.penalty_ * np.eye(model.rank_)
    np.testing.assert_allclose(
        model.fold_in(newcomer)[0], np.linalg.solve(system, items.T @ newcomer.values), atol=1e-4
    )


def test_a_file_keeps_the_model_of_the_blocks(tmp_path):
    model = rf.DivideAndConquer(model=rf.SoftImpute(penalty=2.0, offset="mean"), blocks=2).fit(RATINGS)
    model.save(tmp_path / "m.rankfill")
    again = rf.load(tmp_path / "m.rankfill")
    assert repr(again) == repr(model)
    assert again.fold_in(RATINGS).tobytes() == model.fold_in(RATINGS).tobytes()
    assert again.fit(RATINGS).predict_all().tobytes() == model.predict_all().tobytes()


def test_more_blocks_than_items_are_as_many_as_items():
    few = rf.Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    assert np.isfinite(rf.DivideAndConquer(blocks=50).fit(few).predict_all()).all()


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (rf.ALS(), TypeError, "model must be one of TraceTradeoff, SoftImpute, .*, found ALS"),
        (rf.PrimalDual(nonnegative=True, offset="none"), ValueError, "keeps neither signs nor other losses"),
        (rf.PrimalDual(loss="huber"), ValueError, "found nonnegative=False, loss='huber'"),
        (rf.SoftImpute(penalty=-1.0), ValueError, "penalty must be a positive number, found -1"),
    ],
)
def test_what_cannot_complete_a_block_is_refused(model, error, words):
    with pytest.raises(error, match=words):
        rf.DivideAndConquer(model=model).fit(RATINGS)
