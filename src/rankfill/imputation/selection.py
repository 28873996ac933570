"""Rank and penalty of factor analysis, chosen on known entries that are held out."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rankfill.imputation.gaussian import GaussianFactors, Moments, Table

PENALTY = 3.0
"""The penalty, in rows of uncorrelated columns, while the rank is chosen and where none can be."""
LARGER, SMALLER = (10.0, 30.0, 100.0), (0.3, 0.03)
ROWS = 2000
"""The largest number of rows to choose by."""
LEAST_ENTRIES = 50
"""With fewer known entries than this, holding some out tells nothing."""
TRIAL_PASSES, TRIAL_TOL = 3, 0.005
GAIN, LOSS = 0.99, 1.05
"""Relative squared errors: a lower rank must gain this much to be taken, and losing this much ends the search."""


def choose_gaussian(
    table: Table, rank: int | None, penalty: float | None, held_out: float, passes: int, tol: float, seed: int
) -> GaussianFactors:
    """Fits factor analysis to the whole table with the settings given, or for None those best on entries held out.

    From the full covariance matrix the rank is halved until that is clearly worse; then the penalty is raised, or else
    lowered, as long as that helps. Every trial goes on for a few passes where the best one stopped.
    """
    n_columns = table.shape[1]
    first = GaussianFactors(n_columns if rank is None else min(rank, n_columns), penalty or PENALTY, passes, tol)
    given = rank is not None and penalty is not None
    if given or np.count_nonzero(~np.isnan(table)) < LEAST_ENTRIES:
        return first.fit(table)
    trial = _Trial(table, first, held_out, seed)
    if rank is None:
        trial.search(((each, first.penalty) for each in _ranks(n_columns)), GAIN, LOSS)
        if trial.error_of_means < trial.least:
            return GaussianFactors(0, first.penalty, passes, tol).fit(table)
    if penalty is None and not trial.search((trial.best.rank, each) for each in LARGER):
        trial.search((trial.best.rank, each) for each in SMALLER)
    return GaussianFactors(trial.best.rank, trial.best.penalty, passes, tol).fit(table, init=trial.best.moments)


class _Trial:
    """Some of the rows, some of their entries hidden: who guesses them best?"""

    def __init__(self, table: Table, first: GaussianFactors, held_out: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        known = table[np.sort(rng.permutation(len(table))[:ROWS])]
        self.hidden: NDArray[np.bool_] = ~np.isnan(known) & (rng.random(known.shape) < held_out)
        self.answers = known[self.hidden]
        self.table = np.where(self.hidden, np.nan, known)
        self.error_of_means = float(np.sum(self.answers**2))
        self.best = GaussianFactors(first.rank, first.penalty, first.passes, TRIAL_TOL)
        self.least = self._error(self.best, None)

    def search(self, settings: Iterable[tuple[int, float]], gain: float = 1.0, loss: float = 1.0) -> bool:
        """Tries ranks and penalties in turn until one is worse than the best; whether any was taken."""
        gained = False
        for rank, penalty in settings:
            model = GaussianFactors(rank, penalty, TRIAL_PASSES, 0.0)
            error = self._error(model, self.best.moments)
            if error < gain * self.least:
                self.best, self.least, gained = model, error, True
            elif error >= loss * self.least:
                break
        return gained

    def _error(self, model: GaussianFactors, init: Moments | None) -> float:
        return float(np.sum((model.fit_fill(self.table, init)[self.hidden] - self.answers) ** 2))


def _ranks(n_columns: int) -> list[int]:
    """Powers of two below the number of columns less one (from there on there is no structure), falling."""
    return [2**power for power in reversed(range(n_columns.bit_length())) if 2**power < n_columns - 1]
