"""Missing values filled before the next step of a pipeline."""

from rankfill.imputation.gaussian import GaussianFactors, Moments
from rankfill.imputation.imputer import LowRankImputer

__all__ = ["GaussianFactors", "LowRankImputer", "Moments"]
