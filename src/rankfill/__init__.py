"""rankfill fills in huge, mostly empty matrices: ratings in; predictions, recommendations and readable topics out."""

from rankfill.data import Ratings, Vocabulary
from rankfill.kernels import get_threads, set_threads
from rankfill.models import MODELS, Bias, EpochReport, Model, PassiveAggressive, Recommendations, TimeBudget
from rankfill.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "MODELS",
    "Bias",
    "EpochReport",
    "Model",
    "PassiveAggressive",
    "Ratings",
    "Recommendations",
    "TimeBudget",
    "Vocabulary",
    "get_threads",
    "load",
    "save",
    "set_threads",
]
