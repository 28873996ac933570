"""When more sweeps do not help: the mean of predictions no longer moves, though the number of sweeps has doubled.

What a mean over s sweeps lacks falls as 1/s, be it noise of sampling or the way that a chain has still to go. So the
mean square of its change from s/2 to s sweeps tells about what it lacks at s. Sampling ends when that is below a
five-hundredth of the variance of the noise: more sweeps would then lower the error on new ratings by less than a tenth
of a percent.
"""

import numpy as np

from rankfill.kernels import Rows
from rankfill.models.bayesian.averages import MeanProduct

MOST_SWEEPS = 300
_CHECKS = (16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256)
_TWICE = 3
"""Three checks on, the number of sweeps has doubled."""
_PAIRS = 10_000
_SMALL = 2e-3


class Stopping:
    """Watches predictions for some pairs: half of them rated, half of users with the items of others."""

    def __init__(self, ratings: Rows) -> None:
        random = np.random.default_rng(0)
        n = len(ratings.values)
        entries = np.sort(random.choice(n, min(n, _PAIRS), replace=False))
        users, items = ratings.row_of_entry()[entries], ratings.indices[entries]
        self.pairs = np.concatenate([users, users]), np.concatenate([items, random.permutation(items)])
        self.found = np.zeros((len(_CHECKS), len(self.pairs[0])))

    def reached(self, sweep: int, mean: MeanProduct, noise_precision: float) -> bool:
        """Whether this sweep was enough."""
        if sweep not in _CHECKS:
            return False
        users, items = self.pairs
        predicted = np.einsum("ij,ij->i", mean.users[users], mean.items[items])
        predicted += mean.user_biases[users] + mean.item_biases[items]
        place = _CHECKS.index(sweep)
        self.found[place] = predicted
        if place < _TWICE:
            return False
        change = float(np.mean((predicted - self.found[place - _TWICE]) ** 2))
        return change * noise_precision < _SMALL
