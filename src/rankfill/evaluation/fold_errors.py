"""The errors of the folds of a cross-validation, and what they say together.

error = mean of the V errors        std_error = √( Σ_v (error_v − error)² / (V (V − 1)) )
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfill.objectives.scores import parse_score
from rankfill.shown import html_table


@dataclass(frozen=True, eq=False)
class FoldErrors:
    """One error per fold, or one value of a measure of lists, and what they say together.

    Attributes
    ----------
    measure : str
        The name of the measure, such as "rmse" or "ndcg@10".
    errors : ndarray of shape (n_folds,)
        The error, or the value of the measure, in each fold; NaN for a fold in which nothing was scored, which then
        does not count.
    error : float
        The mean of the errors.
    std_error : float
        The standard error of that mean: how far chance in the choice of folds may have moved it.
    loss : float
        The mean with the sign with which less is better: minus the mean where the measure is no error.

    Examples
    --------
    >>> print(FoldErrors("rmse", np.array([0.9, 1.1])))
    rmse 1.0000 ± 0.1000 (2 folds)
    """

    measure: str
    errors: NDArray[np.float64]

    @property
    def error(self) -> float:
        scored = self._known_errors()
        return float(scored.mean()) if len(scored) else float("nan")

    @property
    def loss(self) -> float:
        """The mean with the sign with which less is better."""
        return parse_score(self.measure).loss(self.error)

    @property
    def std_error(self) -> float:
        """The standard error of the error over folds; NaN with fewer than two."""
        scored = self._known_errors()
        if len(scored) < 2 or not np.isfinite(scored).all():
            return float("nan")
        return float(scored.std(ddof=1) / np.sqrt(len(scored)))

    def _known_errors(self) -> NDArray[np.float64]:
        return self.errors[~np.isnan(self.errors)]

    def _repr_html_(self) -> str:
        folds = [(str(1 + fold), f"{error:.4f}") for fold, error in enumerate(self.errors)]
        return html_table([*folds, ("mean", f"{self.error:.4f} ± {self.std_error:.4f}")], header=("fold", self.measure))

    def __str__(self) -> str:
        return f"{self.measure} {self.error:.4f} ± {self.std_error:.4f} ({len(self.errors)} folds)"
