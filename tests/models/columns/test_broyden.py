"""Broyden steps against dense linear algebra in double precision, and what they promise: streams, gaps, least norm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankfill as rf
from rankfill.models.base.starts import random_rows

PAPER = {"biases": False, "clip": False, "tol": None}
"""The method of the paper: no biases, no shrinkage."""


def picture(seed=0, n_rows=40, n_columns=12, rank=3, missing=0.25):
    """Columns of a low-rank matrix with noise and gaps, as items."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, rank)) @ rng.random((rank, n_columns)) + 0.05 * rng.random((n_rows, n_columns))
    return np.where(rng.random(dense.shape) < missing, np.nan, dense)


def start_of(dense, rank, seed=0):
    """Rows that nobody observes are zero."""
    size = np.sqrt(np.nanmean(dense**2)) / rank
    return np.sqrt(size) * random_rows(0, len(dense), rank, seed) * ~np.isnan(dense).all(axis=1)[:, None]


def literal(dense, orders, C, penalty, inner):
    """The paper's algorithm, word for word, with least squares from LAPACK; the step objectives too."""
    X, costs = np.zeros((C.shape[1], dense.shape[1])), []
    for order in orders:
        costs.append(0.0)
        for k in order:
            m = ~np.isnan(dense[:, k])
            y, before, now = dense[m, k], C[m], C[m]
            for _ in range(inner):
                x = np.linalg.lstsq(now, y, rcond=None)[0]
                now = before + np.outer(y - before @ x, x) / (penalty + x @ x)
            costs[-1] += ((y - now @ x) ** 2).sum() + penalty * ((now - before) ** 2).sum()
            C[m], X[:, k] = now, x
    return C, X, costs


def orders_of(model, ratings):
    return [model._order(ratings.by_item, epoch) for epoch in range(1, model.passes + 1)]


@pytest.mark.parametrize("inner", [1, 2, 4])
@pytest.mark.parametrize("n_rows", [40, 300])
@pytest.mark.parametrize("missing", [0.0, 0.25, 0.8])
def test_passes_are_the_papers_algorithm(inner, n_rows, missing):
    """With 300 rows, missing rows are taken out of the Gram matrix of all rows."""
    dense = picture(n_rows=n_rows, missing=missing)
    ratings = rf.Ratings.from_dense(dense)
    model = rf.Broyden(rank=3, penalty=2.0, inner_iterations=inner, side="items", passes=4, **PAPER).fit(ratings)
    C, X, costs = literal(dense, orders_of(model, ratings), start_of(dense, 3), 2.0, inner)
    np.testing.assert_allclose(model.user_factors_, C, rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(model.item_factors_, X.T, rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose([report.objective for report in model.history_], costs, rtol=2e-3)


def one_step(y, **settings):
    """C and x of one column before and after a step."""
    dense = np.asarray(y, dtype=float)[:, None]
    model = rf.Broyden(rank=3, side="items", passes=1, **PAPER | settings).fit(rf.Ratings.from_dense(dense))
    return start_of(dense, 3), model.user_factors_.astype(float), model.item_factors_[0].astype(float)


@pytest.mark.parametrize("missing", [False, True])
def test_many_inner_iterations_end_where_both_equations_hold(missing):
    y = 1 + np.random.default_rng(0).random(30)
    y[3:9] = np.nan if missing else y[3:9]
    before, C, x = one_step(y, penalty=0.7, inner_iterations=400)
    m = ~np.isnan(y)
    left = y[m] - C[m] @ x
    assert np.abs(left).max() > 1e-3
    np.testing.assert_allclose(C[m].T @ left, 0, atol=1e-4)  # x is the best for C
    np.testing.assert_allclose(0.7 * (C[m] - before[m]), np.outer(left, x), atol=1e-5)  # C is the best for x
    assert (C[~m] == 0).all()


def test_rank_one_update_is_the_direct_inverse():
    y = 1 + np.random.default_rng(1).random(20)
    before, C, x = one_step(y, penalty=0.7)
    direct = (0.7 * before + np.outer(y, x)) @ np.linalg.inv(0.7 * np.eye(3) + np.outer(x, x))
    np.testing.assert_allclose(C, direct, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("batch", [2, 5, 12])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_batch_solves_each_row_by_its_own_system(batch, missing):
    """Complete columns share the system of eq. 7; a batch may have more columns than a row has factors."""
    dense, penalty = picture(missing=missing), 0.9
    ratings = rf.Ratings.from_dense(dense)
    model = rf.Broyden(rank=3, penalty=penalty, batch=batch, side="items", passes=2, **PAPER).fit(ratings)
    C, known = start_of(dense, 3), ~np.isnan(dense)
    X = np.zeros((3, 12))
    for order in orders_of(model, ratings):
        for start in range(0, 12, batch):
            together, before = order[start : start + batch], C.copy()
            for _ in range(2):
                for k in together:
                    X[:, k] = np.linalg.lstsq(C[known[:, k]], dense[known[:, k], k], rcond=None)[0]
                for row in range(len(C)):
                    seen = together[known[row, together]]
                    system = penalty * np.eye(3) + X[:, seen] @ X[:, seen].T
                    C[row] = np.linalg.solve(system, penalty * before[row] + X[:, seen] @ dense[row, seen])
                if missing == 0:
                    Y, Z = dense[:, together], X[:, together]
                    eq7 = (penalty * before + Y @ Z.T) @ np.linalg.inv(penalty * np.eye(3) + Z @ Z.T)
                    np.testing.assert_allclose(C, eq7, rtol=1e-9)
    np.testing.assert_allclose(model.user_factors_, C, rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(model.item_factors_, X.T, rtol=2e-3, atol=2e-4)


def column(ratings, k):
    return ratings.select(ratings.item_indices == k)


class OfOneSize(rf.Broyden):
    """Has the same unit in a fit, which knows all ratings, as in a stream, which knows the first ones."""

    def _set_unit(self, unit):
        super()._set_unit(0.5)

    def _change_unit(self, unit):
        pass


@pytest.mark.parametrize("n_rows", [40, 300])
def test_columns_that_come_one_by_one_give_the_bits_of_fit(n_rows):
    dense = picture(n_rows=n_rows)
    model = OfOneSize(rank=3, penalty=2.0, side="items", passes=1, **PAPER)
    order = model._order(rf.Ratings.from_dense(dense).by_item, 1)
    dense[:, order[0]] = np.nan_to_num(dense[:, order[0]])  # all rows are met in their order
    ratings = rf.Ratings.from_dense(dense)
    whole, stream = model.fit(ratings), OfOneSize(**model.get_params())
    for k in order:
        stream.partial_fit(column(ratings, k))
    same = stream.items_.index(whole.items_.ids())
    assert stream.item_factors_[same].tobytes() == whole.item_factors_.tobytes()
    assert stream.user_factors_.tobytes() == whole.user_factors_.tobytes()


def test_more_entries_of_a_known_column_move_its_factors_from_where_they_are():
    dense = picture(seed=2, n_rows=20, missing=0.0)
    dense[12:, 4] = np.nan
    model = rf.Broyden(rank=3, penalty=2.0, side="items", passes=30, **PAPER).fit(rf.Ratings.from_dense(dense))
    before, x = model.user_factors_.astype(float), model.item_factors_[4].astype(float)
    model.partial_fit(rf.Ratings.from_arrays([14, 17], [4, 4], [2.0, 0.5]))
    C = before[[14, 17]]
    for _ in range(2):
        new = x + np.linalg.pinv(C) @ ([2.0, 0.5] - C @ x)  # the least change that explains both
        C = before[[14, 17]] + np.outer([2.0, 0.5] - before[[14, 17]] @ new, new) / (2.0 + new @ new)
    np.testing.assert_allclose(model.item_factors_[4], new, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.user_factors_[[14, 17]], C, rtol=1e-4, atol=1e-5)


def test_entries_of_a_column_that_come_apart_are_one_column():
    dense = picture(seed=3, n_rows=20)
    start = rf.Ratings.from_dense(dense)
    together, apart = (rf.Broyden(rank=4, side="items", passes=3).fit(start) for _ in range(2))
    rows, values = np.array([3, 9, 1, 14]), [1.0, 0.3, 0.7, 0.9]
    together.partial_fit(rf.Ratings.from_arrays(rows, [77] * 4, values))
    for row, value in zip(rows, values, strict=True):
        apart.partial_fit(rf.Ratings.from_arrays([row], [77], [value]))
    assert together.user_factors_.tobytes() == apart.user_factors_.tobytes()
    assert together.item_factors_.tobytes() == apart.item_factors_.tobytes()


def test_columns_with_fewer_entries_than_factors_take_the_solution_of_least_norm():
    dense = picture(seed=4, missing=0.0)
    model = rf.Broyden(rank=5, penalty=2.0, passes=5, **PAPER).fit(rf.Ratings.from_dense(dense.T))
    rows = model.fold_in(rf.Ratings.from_arrays([0, 0, 1], [3, 7, 30], [1.0, 0.2, 0.5]))
    Q = model.item_factors_.astype(float)
    np.testing.assert_allclose(rows[0], np.linalg.pinv(Q[[3, 7]]) @ [1.0, 0.2], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(rows[1], np.linalg.pinv(Q[[30]]) @ [0.5], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 4])
def test_sides_are_the_transpose_of_each_other(batch):
    """Without biases to the bit; those start from the bias model, which takes the effects of items first."""
    dense = picture(seed=5)
    settings = {"rank": 4, "passes": 3, "batch": batch, **PAPER}
    users = rf.Broyden(side="users", **settings).fit(rf.Ratings.from_dense(dense))
    items = rf.Broyden(side="items", **settings).fit(rf.Ratings.from_dense(dense.T))
    assert users.user_factors_.shape == (40, 4)
    assert users.user_factors_.tobytes() == items.item_factors_.tobytes()
    assert users.item_factors_.tobytes() == items.user_factors_.tobytes()


def test_gaps_of_a_low_rank_matrix_are_filled():
    rng = np.random.default_rng(6)
    whole = rng.random((60, 3)) @ rng.random((3, 80))
    gaps = rng.random(whole.shape) < 0.4
    settings = {"rank": 3, "penalty": 0.5, "side": "items", "passes": 200, **PAPER}
    model = rf.Broyden(**settings).fit(rf.Ratings.from_dense(np.where(gaps, np.nan, whole)))
    filled = model.predict(np.arange(60)[:, None], np.arange(80))
    assert np.abs(filled - whole)[gaps].max() < 0.02


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.sampled_from([None, 0.0]),
    st.booleans(),
    st.integers(1, 4),
)
def test_numbers_stay_finite_or_are_refused(seed, rank, penalty, shrinkage, biases, batch):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((9, 7)) < 0.6, rng.choice([0.0, 0.0, 1.0, -3.0], (9, 7)), np.nan)
    dense[0, 0] = 1.0
    ratings = rf.Ratings.from_dense(dense)
    model = rf.Broyden(rank=rank, penalty=penalty, shrinkage=shrinkage, biases=biases, batch=batch, passes=5)
    refusal = ""
    try:
        model.fit(ratings).partial_fit(ratings)
    except ValueError as error:
        refusal = str(error)
    if refusal:  # almost nothing keeps the dictionary where it is
        assert penalty == 1e-6
        assert "the factors grow without end" in refusal
        return
    assert np.isfinite(model.predict(np.arange(10)[:, None], np.arange(8))).all()
    assert np.isfinite(model.user_factors_).all()
    assert np.isfinite(model.item_factors_).all()
    assert all(np.isfinite([report.objective, report.train]).all() for report in model.history_)


@pytest.mark.parametrize("make", [rf.Broyden, rf.SGMF])
@pytest.mark.parametrize(
    "shape",
    [(3000, 500, 6000, 0.7), (1000, 300, 10_000, 2.0), (400, 200, 16_000, 0.7)],
    ids=["sparse", "noise", "full"],
)
def test_defaults_are_not_worse_than_the_bias_model(make, shape):
    *size, noise = shape
    train, test = rf.split(rf.synthetic.low_rank(*size, noise=noise, seed=1), test=0.2, by="user", seed=0)
    error, baseline = (rf.evaluate(model.fit(train), test)["rmse"] for model in (make(), rf.Bias()))
    assert error < 1.005 * baseline


def test_settings_are_refused_in_words():
    ratings = rf.Ratings.from_dense(picture())
    for wrong, words in (
        ({"penalty": 0}, "penalty must be a positive number, found 0"),
        ({"inner_iterations": 0}, "inner_iterations must be a whole number of at least 1, found 0"),
        ({"batch": 1.5}, "batch must be a whole number of at least 1, found 1.5"),
        ({"side": "rows"}, "side must be one of users, items, found 'rows'"),
        ({"shrinkage": -1}, "shrinkage must be zero or a positive number, found -1"),
    ):
        with pytest.raises(ValueError, match=words):
            rf.Broyden(**wrong).fit(ratings)
