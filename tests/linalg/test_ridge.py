"""Ridge regression on sparse rows: scikit-learn's solution, by Cholesky and by conjugate gradients."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

from rankfill.linalg import ridge
from rankfill.linalg.ridge import RidgePath


@pytest.mark.parametrize("dense", [0, 500], ids=["gradients", "cholesky"])
@pytest.mark.parametrize("shape", [(60, 9), (12, 40), (1, 3), (5, 0)])
def test_coefficients_are_those_of_scikit_learn(monkeypatch, dense, shape):
    monkeypatch.setattr(ridge, "_DENSE", dense)
    rng = np.random.default_rng(1)
    features = scipy.sparse.random_array(shape, density=0.4, rng=rng, format="csr", dtype=np.float32)
    targets, weights = 5 + rng.normal(size=(shape[0], 3)), rng.random(shape[0]) + 0.01
    path = RidgePath(features, targets, weights)
    for penalty in (100.0, 1.0, 0.01):
        coefficients, intercept = path.solve(penalty)
        if not shape[1]:
            np.testing.assert_allclose(intercept, np.average(targets, axis=0, weights=weights))
            continue
        oracle = Ridge(alpha=penalty, tol=1e-14, solver="cholesky")
        oracle.fit(features.toarray().astype(float), targets, sample_weight=weights)
        np.testing.assert_allclose(coefficients.T, oracle.coef_, atol=1e-7)
        np.testing.assert_allclose(intercept, oracle.intercept_, atol=1e-7)
