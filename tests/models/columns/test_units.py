"""Fits on ratings of any size, settings changed afterwards, and settings out of range, of Broyden and SGMF."""

import numpy as np
import pytest

import rankfill as rf

MODELS = [rf.Broyden, rf.SGMF]


def some_ratings(seed=0):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((20, 11)) < 0.6, rng.integers(1, 6, (20, 11)), np.nan)
    return rf.Ratings.from_dense(dense)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("exponent", [-132, -60, -20, 20, 60, 100, 120])
def test_ratings_may_be_of_any_size(make, biases, exponent):
    """Powers of four change nothing but the units, down to 1e-40 and up to 1e36."""
    ratings = some_ratings()
    large = ratings.with_values(lambda values: np.ldexp(values, exponent))
    settings = {"rank": 3, "biases": biases, "passes": 4, "tol": None, "clip": False}
    plain, model = (make(**settings).fit(data) for data in (ratings, large))
    grid = np.arange(20)[:, None], np.arange(11)
    np.testing.assert_allclose(np.ldexp(model.predict(*grid), -exponent), plain.predict(*grid), rtol=2e-3, atol=2e-3)
    for name in ("user_factors_", "item_factors_"):
        found = np.ldexp(getattr(model, name), -exponent // 2)
        np.testing.assert_allclose(found, getattr(plain, name), rtol=5e-3, atol=2e-3)
    for ours, theirs in zip(model.history_, plain.history_, strict=True):
        assert ours.objective == pytest.approx(theirs.objective * 4.0**exponent, rel=1e-3)
        assert ours.train == pytest.approx(theirs.train * 2.0**exponent, rel=1e-3)
    rows, expected = model.fold_in(large), plain.fold_in(ratings)
    np.testing.assert_allclose(np.ldexp(rows[:, :3], -exponent // 2), expected[:, :3], rtol=5e-3, atol=2e-3)
    if biases:
        np.testing.assert_allclose(np.ldexp(rows[:, 3], -exponent), expected[:, 3], rtol=5e-3, atol=2e-3)
    model.partial_fit(large.select(np.arange(len(large)) % 9 == 0))
    assert np.isfinite(model.predict(*grid)).all()


@pytest.mark.parametrize("make", MODELS)
def test_newcomers_whose_rows_cannot_be_held_are_refused_in_words(make):
    model = make(rank=3, shrinkage=0.0, biases=False, passes=2).fit(some_ratings().with_values(lambda v: v * 1e-30))
    with pytest.raises(ValueError, match="larger than single precision can hold; fold in ratings of the size of those"):
        model.fold_in(rf.Ratings.from_arrays([0], [3], [1e36]))


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("start", ["fit", "stream"])
def test_settings_changed_afterwards_do_not_change_answers(make, start):
    ratings = some_ratings(1)
    model = make(rank=3, passes=3)
    model = model.fit(ratings) if start == "fit" else model.partial_fit(ratings)
    answers = lambda: [model.fold_in(ratings), model.predict([1, -1, 2], [3, 3, -1]), model.recommend([1, 2]).items]  # noqa: E731
    before = answers()
    changed = {"rank": 9, "shrinkage": 100.0, "side": "items", "biases": False, "seed": 3}
    model.set_params(**changed | ({"penalty": 1.0, "batch": 7} if make is rf.Broyden else {"rate": 0.5}))
    for ours, theirs in zip(before, answers(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("settings", [{"side": "items"}, {"biases": False}])
def test_a_stream_goes_on_as_it_began(make, settings):
    ratings, more = some_ratings(2), some_ratings(3)
    one, two = (make(rank=3, passes=3).fit(ratings) for _ in range(2))
    two.set_params(**settings)
    np.testing.assert_array_equal(one.partial_fit(more).user_factors_, two.partial_fit(more).user_factors_)


@pytest.mark.parametrize(
    ("make", "settings", "words"),
    [
        (rf.SGMF, {"rate": np.inf}, "rate must be a positive number, found inf"),
        (rf.SGMF, {"rate": 1e308}, "rate must be from"),
        (rf.SGMF, {"shrinkage": np.inf}, "shrinkage must be zero or a positive number, found inf"),
        (rf.SGMF, {"shrinkage": 1e308}, "shrinkage must be zero or from"),
        (rf.SGMF, {"passes": 10**30}, "passes must be a whole number of at most"),
        (rf.Broyden, {"batch": 2**64}, "batch must be a whole number of at most"),
        (rf.Broyden, {"inner_iterations": 10**30}, "inner_iterations must be a whole number of at most"),
        (rf.Broyden, {"penalty": np.nan}, "penalty must be a positive number, found nan"),
        (rf.Broyden, {"penalty": 1e308}, "penalty must be from"),
    ],
)
def test_numbers_out_of_range_are_refused_in_words(make, settings, words):
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=words):
            getattr(make(**settings), learn)(some_ratings())


@pytest.mark.parametrize("strength", [1e-30, 1e30])
def test_settings_at_the_ends_of_their_range_give_finite_models_or_words(strength):
    for model in (
        rf.Broyden(rank=3, penalty=strength, passes=5),
        rf.Broyden(rank=3, shrinkage=strength, passes=5),
        rf.SGMF(rank=3, shrinkage=strength, passes=5),
        rf.SGMF(rank=3, rate=strength, passes=5),
    ):
        try:
            model.fit(some_ratings(4))
        except ValueError as refused:
            assert "the factors grow without end on these ratings" in str(refused)  # noqa: PT017
        else:
            assert np.isfinite(model.user_factors_).all()
            assert np.isfinite(model.item_factors_).all()
