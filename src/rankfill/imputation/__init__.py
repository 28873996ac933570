"""Missing values filled before the next step of a pipeline, once or several times."""

from rankfill.imputation.gaussian import GaussianFactors, Moments
from rankfill.imputation.imputer import LowRankImputer
from rankfill.imputation.pooling import PooledEstimate, log_variances, means, multiple_imputation, pool, regression

__all__ = [
    "GaussianFactors",
    "LowRankImputer",
    "Moments",
    "PooledEstimate",
    "log_variances",
    "means",
    "multiple_imputation",
    "pool",
    "regression",
]
