"""Steps with biases, shrinkage, batches and either side, in fits and streams, against dense double precision."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.starts import random_rows

SIDES = ["users", "items"]


def table(seed=0, n_rows=40, n_columns=12, missing=0.3):
    """Rows by columns, with effects of both; every row and column has entries."""
    rng = np.random.default_rng(seed)
    dense = 3 + rng.normal(0, 0.7, (n_rows, 1)) + rng.normal(0, 0.7, n_columns)
    dense += rng.normal(0, 0.8, (n_rows, 2)) @ rng.normal(0, 0.8, (2, n_columns))
    dense[rng.random(dense.shape) < missing] = np.nan
    dense[np.arange(n_rows), np.arange(n_rows) % n_columns] = 4.0
    return dense.astype(np.float32).astype(float)


def as_ratings(dense, side):
    """Columns are items, or users."""
    return rf.Ratings.from_dense(dense if side == "items" else dense.T)


class Dense:
    """y ≈ centre + b_k + b + C x_k over dense arrays; the rule is written out as the module docstrings have it."""

    def __init__(self, dense, rank, unit, centre, pace, shrinkage=None):
        self.dense, self.known, self.centre, self.w = dense, ~np.isnan(dense), centre, pace * unit
        self.C = np.sqrt(unit / rank) * 0.05 * (2 * random_rows(0, len(dense), rank, 0) - 1)
        self.b, self.X, self.bias = np.zeros(len(dense)), np.zeros((dense.shape[1], rank)), np.zeros(dense.shape[1])
        self.kappa, self.kappa_b = (15 * unit, 5.0) if shrinkage is None else (shrinkage, shrinkage)

    def targets(self, k):
        m = self.known[:, k]
        return m, self.dense[m, k] - self.centre

    def solve(self, k, C, b, towards):
        """The x and the bias of a column by stacked least squares, of least change where that leaves a choice."""
        m, y = self.targets(k)
        A = np.column_stack([C[m], np.ones(m.sum())])
        roots = np.sqrt(np.append(np.full(C.shape[1], self.kappa), self.kappa_b))
        stacked = np.vstack([A, np.diag(roots)])
        side = np.append(y - b[m] - A @ towards, np.zeros(len(roots)))
        return towards + np.linalg.lstsq(stacked, side, rcond=None)[0]

    def broyden(self, together, penalty, inner, *, again=False):
        """Returns what the step costs at its minimum."""
        C, b, rank = self.C.copy(), self.b.copy(), self.C.shape[1]
        before = {k: np.append(self.X[k], self.bias[k]) if again else np.zeros(rank + 1) for k in together}
        for _ in range(inner):
            x = {k: self.solve(k, C, b, before[k]) for k in together}
            for row in range(len(C)):
                seen = [k for k in together if self.known[row, k]]
                if not seen:
                    continue
                Z = np.array([np.append(x[k][:rank], 1.0) for k in seen])  # of the factors of a row and of its bias
                left = self.dense[row, seen] - self.centre - Z[:, :rank] @ self.C[row] - self.b[row]
                left -= [x[k][rank] for k in seen]
                held = penalty * np.diag(np.append(np.ones(rank), 1 / self.w))
                change = np.linalg.solve(Z.T @ Z + held, Z.T @ left)
                C[row], b[row] = self.C[row] + change[:rank], self.b[row] + change[rank]
        cost = penalty * (((C - self.C) ** 2).sum() + ((b - self.b) ** 2).sum() / self.w)
        for k in together:
            m, y = self.targets(k)
            cost += ((y - b[m] - C[m] @ x[k][:rank] - x[k][rank]) ** 2).sum()
            moved = x[k] - before[k]
            cost += self.kappa * (moved[:rank] ** 2).sum() + self.kappa_b * moved[rank] ** 2
            self.X[k], self.bias[k] = x[k][:rank], x[k][rank]
        self.C, self.b = C, b
        return cost

    def gradient(self, k, rate):
        """Returns the squared errors before the step of C."""
        m, y = self.targets(k)
        left = y - self.b[m] - self.C[m] @ self.X[k] - self.bias[k]
        slope = self.C[m].T @ left - self.kappa * self.X[k]
        self.X[k] += slope / (self.kappa + (self.C[m] ** 2).sum())
        self.bias[k] += (left.sum() - self.kappa_b * self.bias[k]) / (self.kappa_b + m.sum())
        left = y - self.b[m] - self.C[m] @ self.X[k] - self.bias[k]
        step = rate / (self.w + self.X[k] @ self.X[k])
        self.C[m] += step * np.outer(left, self.X[k])
        self.b[m] += step * self.w * left
        return (left**2).sum()

    def assert_same(self, model):
        user_side, item_side = (self.X, self.bias), (self.C, self.b)
        if model.side_ == "items":
            user_side, item_side = item_side, user_side
        np.testing.assert_allclose(model.user_factors_, user_side[0], rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(model.item_factors_, item_side[0], rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(model.user_biases_, user_side[1], rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(model.item_biases_, item_side[1], rtol=2e-3, atol=1e-4)


def begun(dense, side, rank, shrinkage):
    """As a fit begins: with the biases of the bias model."""
    ratings = as_ratings(dense, side)
    values = dense[~np.isnan(dense)]
    oracle = Dense(dense, rank, values.std(), values.mean(), pace=0.1, shrinkage=shrinkage)
    effects = rf.Bias().fit(ratings)
    both = effects.user_effects_, effects.item_effects_
    oracle.bias, oracle.b = (each.astype(float) for each in (both if side == "users" else both[::-1]))
    return ratings, oracle


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("batch", [1, 5, 12])
@pytest.mark.parametrize("shrinkage", [None, 2.0, 0.0])
@pytest.mark.parametrize("penalty", [None, 3.0])
def test_broyden_passes_are_the_formula(side, batch, shrinkage, penalty):
    dense = table()
    ratings, oracle = begun(dense, side, 3, shrinkage)
    settings = {"rank": 3, "batch": batch, "shrinkage": shrinkage, "penalty": penalty, "passes": 3, "tol": None}
    model = rf.Broyden(side=side, **settings).fit(ratings)
    penalty = penalty or 100 * np.nanstd(dense)
    columns, costs = ratings.by_user if side == "users" else ratings.by_item, []
    for epoch in (1, 2, 3):
        order = model._order(columns, epoch)
        costs.append(sum(oracle.broyden(order[at : at + batch], penalty, 2) for at in range(0, 12, batch)))
    oracle.assert_same(model)
    np.testing.assert_allclose([report.objective for report in model.history_], costs, rtol=2e-3)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shrinkage", [None, 2.0, 0.0])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_gradient_passes_are_the_formula(side, shrinkage, rate):
    ratings, oracle = begun(table(), side, 3, shrinkage)
    model = rf.SGMF(rank=3, side=side, shrinkage=shrinkage, rate=rate, passes=3, tol=None).fit(ratings)
    columns, errors = ratings.by_user if side == "users" else ratings.by_item, []
    for epoch in (1, 2, 3):
        order, slower = model._order(columns, epoch), rate / np.sqrt(1 + 25 * epoch)
        errors.append(sum(oracle.gradient(k, slower) for k in order))
    oracle.assert_same(model)
    np.testing.assert_allclose([report.objective for report in model.history_], errors, rtol=2e-3)


def stream_of(model, dense, side):
    """Whole columns, twice over, with ids that are their numbers."""
    for k in [*range(dense.shape[1]), *range(dense.shape[1])]:
        rows = np.flatnonzero(~np.isnan(dense[:, k]))
        ids = (rows, np.full(len(rows), k)) if side == "items" else (np.full(len(rows), k), rows)
        model.partial_fit(rf.Ratings.from_arrays(*ids, dense[rows, k]))
    return model


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shrinkage", [None, 2.0, 0.0])
@pytest.mark.parametrize("make", [rf.Broyden, rf.SGMF])
def test_streams_are_the_formula(make, side, shrinkage):
    """The unit is that of the first 32 ratings, the centre that of all so far; columns that come again go on."""
    dense = table(seed=1)
    dense[:, 0] = np.nan_to_num(dense[:, 0], nan=2.5)  # all rows are met in their order
    unit = np.std(dense[:32, 0])
    oracle = Dense(dense, 3, unit, 0.0, pace=1.0, shrinkage=shrinkage)
    model = stream_of(make(rank=3, side=side, shrinkage=shrinkage), dense, side)
    values = []
    for k in [*range(12), *range(12)]:
        values.extend(dense[~np.isnan(dense[:, k]), k])
        oracle.centre = np.mean(values)
        if make is rf.Broyden:
            oracle.broyden([k], 100 * unit, 2, again=True)
        else:
            oracle.gradient(k, 0.01)
    assert model.unit_ == pytest.approx(unit, rel=1e-6)
    assert model.offset_ == pytest.approx(oracle.centre, rel=1e-6)
    oracle.assert_same(model)


@pytest.mark.parametrize("make", [rf.Broyden, rf.SGMF])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shrinkage", [None, 2.0, 0.0])
def test_folded_in_rows_are_the_best_whichever_side_was_learned(make, side, shrinkage):
    dense = table(seed=2)
    ratings = as_ratings(dense, side)
    model = make(rank=3, side=side, shrinkage=shrinkage, passes=3).fit(ratings)
    rows = model.fold_in(ratings)
    oracle = Dense(dense if side == "users" else dense.T, 3, np.nanstd(dense), model.offset_, 1.0, shrinkage)
    C, b = model.item_factors_.astype(float), model.item_biases_.astype(float)
    for user in range(ratings.n_users):
        expected = oracle.solve(user, C, b, np.zeros(4))
        np.testing.assert_allclose(rows[user, :4], expected, rtol=2e-3, atol=2e-4)
    assert (rows[:, 4] == 1).all()
