"""The parts of a sweep against dense distributions and closed forms, and the whole of it by Geweke's joint test."""

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from rankfill.kernels import Rows
from rankfill.linalg.blas import one_blas_thread
from rankfill.models.bayesian import links
from rankfill.models.bayesian.links import Block, Links, feature_block
from rankfill.models.bayesian.moods import USUAL, WIDTHS
from rankfill.models.bayesian.priors import BELIEF_IN_ZERO, LEAST_VARIANCE, Prior, draw_prior, draw_wishart
from rankfill.models.bayesian.sampler import Chain


@pytest.fixture(autouse=True)
def exact_links(monkeypatch):
    """Conjugate gradients to the end, so that nothing but the distribution is tested."""
    monkeypatch.setattr(links, "TOLERANCE", 1e-4)
    with one_blas_thread():  # as in a fit; threads of BLAS wait longer than these small matrices take
        yield


def dense_rows(matrix):
    """A matrix as sparse rows of all its entries."""
    n_rows, n_columns = matrix.shape
    indices = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    return Rows(n_columns * np.arange(n_rows + 1), indices, matrix.astype(np.float32).ravel())


def test_wishart_matrices_have_the_mean_and_the_spread_of_scipys():
    random, inverse_scale = np.random.default_rng(0), np.array([[2.0, 0.5], [0.5, 1.0]])
    drawn = np.array([draw_wishart(inverse_scale, 4.5, random) for _ in range(20_000)])
    theirs = scipy.stats.wishart(4.5, np.linalg.inv(inverse_scale))
    np.testing.assert_allclose(drawn.mean(axis=0), theirs.mean(), rtol=0.04)
    np.testing.assert_allclose(drawn.var(axis=0), theirs.var(), rtol=0.08)


def test_mean_and_precision_of_a_prior_are_those_of_the_conjugate_closed_form():
    random = np.random.default_rng(1)
    rows = random.normal(1.0, 0.7, (30, 2)).astype(np.float32)
    drawn = [draw_prior(rows, random) for _ in range(8000)]
    n, mean = 30, rows.mean(axis=0, dtype=float)
    weight = BELIEF_IN_ZERO * n / (BELIEF_IN_ZERO + n)
    scatter = LEAST_VARIANCE * np.eye(2) + (rows - mean).T @ (rows - mean) + weight * np.outer(mean, mean)
    expected = (2 + n) * np.linalg.inv(scatter)
    np.testing.assert_allclose(np.mean([prior.precision for prior in drawn], axis=0), expected, rtol=0.03, atol=0.02)
    np.testing.assert_allclose(np.mean([prior.mean for prior in drawn], axis=0), mean * n / (n + 2), atol=0.01)


def test_weights_of_links_have_the_distribution_of_the_dense_regression():
    """Mean and covariance of B, its strength held, against (XᵀX + λ I)⁻¹ ⊗ Λ⁻¹."""
    rng = np.random.default_rng(0)
    features, rows = rng.normal(size=(12, 3)), rng.normal(size=(12, 2)).astype(np.float32)
    prior = Prior(np.array([0.3, -0.2]), np.array([[2.0, 0.4], [0.4, 1.0]]))
    each = Links([Block(scipy.sparse.csr_array(features), np.zeros(3))], 2)
    drawn = []
    for k in range(3000):
        each.strengths[:] = 1.7
        each.draw(rows, prior, 10 * k, rng)
        drawn.append(each.weights[:, :2].ravel().astype(float))
    inner = np.linalg.inv(features.T @ features + 1.7 * np.eye(3))
    mean, covariance = inner @ features.T @ (rows - prior.mean), np.kron(inner, np.linalg.inv(prior.precision))
    deviations = np.sqrt(np.diag(covariance))
    assert (np.abs(np.mean(drawn, axis=0) - mean.ravel()) < 4.5 * deviations / np.sqrt(3000)).all()
    assert (np.abs(np.cov(np.transpose(drawn)) - covariance) < 0.12 * np.outer(deviations, deviations)).all()


def test_noise_is_that_of_the_conjugate_closed_form():
    rng = np.random.default_rng(0)
    chain = Chain(dense_rows(rng.normal(size=(20, 6))), 6, 2, False, 0, 0)
    drawn = []
    for k in range(4000):
        chain._draw_noise(chain.random(k, 5))
        drawn.append(chain.noise_precision)
    squares = 120 * chain.error**2
    expected = scipy.stats.gamma(1 + 60, scale=1 / (1 + squares / 2))
    assert np.mean(drawn) == pytest.approx(expected.mean(), rel=0.01)
    assert np.std(drawn) == pytest.approx(expected.std(), rel=0.06)


def sides_of(chain):
    return [chain.users, chain.items] + ([] if chain.days is None else [chain.days.side])


def told_by_chain(chain):
    """Numbers whose distribution is known without any ratings; logarithms, for the tails are heavy."""
    points = None if chain.stars is None else chain.stars.points
    found = [] if points is not None and points.n_unknowns == 0 else [np.log(chain.noise_precision)]
    if chain.stars is not None and points.n_unknowns:
        found += np.delete(np.log(np.diff(chain.stars.cuts)), points.high - 1).tolist()
    for side in sides_of(chain):
        found += [np.log(side.prior.precision[0, 0]), np.log(side.prior.precision[1, 1]), np.arctan(side.rows[0, 0])]
        found += [np.log(np.abs(side.rows[1, side.bias_column]) + 1e-6)]
        if side.links is not None:
            found += [*np.log(side.links.strengths), *np.log(np.abs(side.links.weights[[0, -1], 0]) + 1e-6)]
    if chain.moods is not None:
        found += [*chain.moods.logs, *np.log(np.abs(chain.moods.now[[0, 1, -1]]) + 1e-6)]
    return found


def draw_from_prior(chain, random):
    """Puts the chain where the model says it may be before any rating is seen."""
    if chain.stars is None:
        chain.noise_precision = random.gamma(1.0)
    else:
        points = chain.stars.points
        theta = points.usual() + random.normal(size=points.n_unknowns)
        theta[-1:] = np.log(random.gamma(1.0))
        chain.stars.cuts = points.cuts(theta)
        chain.noise_precision = chain.stars.precision = float(np.exp(theta[-1])) if points.n_unknowns else 1.0
    for side in sides_of(chain):
        precision = draw_wishart(LEAST_VARIANCE * np.eye(2), 2, random)
        root = np.linalg.cholesky(np.linalg.inv(precision))
        side.prior = Prior(root @ random.normal(size=2) / np.sqrt(BELIEF_IN_ZERO), precision)
        means = np.tile(side.prior.mean, (len(side.rows), 1))
        if side.links is not None:
            side.links.strengths[:] = random.gamma(1.0, size=len(side.links.strengths))
            sizes = np.sqrt(side.links._strength_of_each())[:, None]
            side.links.weights[:, :2] = random.normal(size=(len(sizes), 2)) @ root.T / sizes
            means += side.links.means()[:, :2]
        side.set_unknowns((means + random.normal(size=means.shape) @ root.T).astype(np.float32))

    if chain.moods is not None:
        chain.moods.logs[:] = USUAL + WIDTHS * random.normal(size=2)
        chain.moods.now[:] = random.multivariate_normal(np.zeros(len(chain.moods.now)), covariance_of(chain.moods))


def covariance_of(moods):
    variance, memory = np.exp(moods.logs)
    away = np.abs(moods.moments[:, None] - moods.moments)
    return np.where(moods.users[:, None] == moods.users, variance * np.exp(-away / memory), 0.0)


def draw_ratings(chain, random):
    predicted = chain.users.rows[:, :3].astype(float) @ chain.items.rows[:, :3].T.astype(float)
    if chain.days is not None:
        users, items, days = (side.rows.astype(float) for side in sides_of(chain))
        each = days[DAYS]
        predicted += (users[:, None, 0] + items[None, :, 0]) * each[..., 0] + each[..., 1]
    if chain.moods is not None:
        predicted += chain.moods.of_ratings().reshape(4, 3)
    ratings = predicted + random.normal(size=predicted.shape) / np.sqrt(chain.noise_precision)
    chain.observe(ratings.astype(np.float32).ravel())
    if chain.stars is not None:
        chain.stars.codes[:] = np.searchsorted(chain.stars.cuts, ratings.ravel())


DAYS = np.array([[0, 1, 0], [1, 1, 2], [0, 2, 2], [2, 0, 1]], np.int32)
"""When four users rated three items."""
SECONDS = np.array([[0, 3600, 0], [9000, 9000, 9100], [40, 0, 50_000], [7, 70, 700]])


def features_of(n_rows):
    """Two columns, one of them not centred at zero, and a row of which nothing is known."""
    matrix = scipy.sparse.csr_array(np.column_stack([np.arange(n_rows) % 2, np.linspace(-1, 2, n_rows)]))
    return [feature_block(matrix, np.arange(n_rows) != 1)]


@pytest.mark.parametrize(
    ("rated", "features", "n_levels", "days", "seconds"),
    [
        (False, False, 0, None, None),
        (True, False, 0, None, None),
        (True, True, 0, None, None),
        (False, False, 4, None, None),
        (True, False, 2, None, None),
        (False, False, 0, DAYS, None),
        (True, False, 4, DAYS, None),
        (False, False, 0, None, SECONDS),
        (True, False, 4, DAYS, SECONDS),
        (False, False, 2, DAYS, SECONDS),
    ],
    ids=[
        "no links",
        "rated",
        "features",
        "ordinal",
        "rated, probit",
        "days",
        "rated, ordinal, days",
        "moods",
        "rated, ordinal, days, moods",
        "probit, days, moods",
    ],
)
def test_sweeps_leave_the_prior_as_it_is_when_ratings_are_drawn_from_the_model(
    rated, features, n_levels, days, seconds
):
    """Geweke's joint test (2004): from a draw of everything, ratings and a sweep in turn must come back to the prior.

    Every start is another draw from the prior, so that starts are independent however slowly a chain moves.
    """
    random, n_starts = np.random.default_rng(0), 1200 if n_levels == 0 else 400
    more = (features_of(4), features_of(3)) if features else ([], [])
    given = random.normal(size=(4, 3)) if n_levels == 0 else (np.arange(12.0) % n_levels).reshape(4, 3)
    times = [None if each is None else each.ravel() for each in (days, seconds)]
    chain = Chain(dense_rows(given), 3, 1, rated, 0, 0, more, n_levels > 0, *times)
    moved = []
    for _ in range(n_starts):
        draw_from_prior(chain, random)
        before = told_by_chain(chain)
        for _ in range(4):
            draw_ratings(chain, random)
            chain.sweep()
        moved.append(np.subtract(told_by_chain(chain), before))
    error = np.std(moved, axis=0, ddof=1) / np.sqrt(n_starts)
    assert (error > 0).all()
    assert (np.abs(np.mean(moved, axis=0)) < 4.0 * error).all()
