"""The errors of the folds of a cross-validation, and what they say together.

error = mean of the V errors        std_error = √( Σ_v (error_v − error)² / (V (V − 1)) )
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfill.objectives.measures import Measure


@dataclass(frozen=True, eq=False)
class FoldErrors:
    """One error a fold, in `measure`; NaN for a fold in which nothing was scored, which then does not count."""

    measure: Measure
    errors: NDArray[np.float64]

    @property
    def error(self) -> float:
        scored = self._scored()
        return float(scored.mean()) if len(scored) else float("nan")

    @property
    def std_error(self) -> float:
        """How far the error may be off by the chance of the folds; NaN with fewer than two."""
        scored = self._scored()
        if len(scored) < 2 or not np.isfinite(scored).all():
            return float("nan")
        return float(scored.std(ddof=1) / np.sqrt(len(scored)))

    def _scored(self) -> NDArray[np.float64]:
        return self.errors[~np.isnan(self.errors)]

    def __str__(self) -> str:
        return f"{self.measure} {self.error:.4f} ± {self.std_error:.4f} ({len(self.errors)} folds)"
