"""The public names and where they live; `__init__.py` loads them when first used."""

from . import images as images
from . import plots as plots
from .data import (
    Dataset,
    Ratings,
    Vocabulary,
    datasets,
    read_batches,
    read_pairs,
    read_ratings,
    read_titles,
    sample_submatrix,
    split,
    synthetic,
)
from .evaluation import cross_validate, cross_validate_stream, evaluate
from .imputation import LowRankImputer
from .kernels import get_threads, set_threads
from .models import (
    ALS,
    GECO,
    MODELS,
    SGD,
    SGMF,
    Bias,
    Broyden,
    CoordinateDescent,
    EpochReport,
    GradientDescent,
    JaggiSulovsky,
    Model,
    MultiplicativeNMF,
    PassiveAggressive,
    PrimalDual,
    Recommendations,
    SoftImpute,
    TimeBudget,
    TraceTradeoff,
    VarianceReduced,
)
from .persistence import load, save
from .topics import Reason, Topic, explain, topics
from .tuning import Trial, Tuning, tune

__version__: str

__all__ = [
    "ALS",
    "GECO",
    "MODELS",
    "SGD",
    "SGMF",
    "Bias",
    "Broyden",
    "CoordinateDescent",
    "Dataset",
    "EpochReport",
    "GradientDescent",
    "JaggiSulovsky",
    "LowRankImputer",
    "Model",
    "MultiplicativeNMF",
    "PassiveAggressive",
    "PrimalDual",
    "Ratings",
    "Reason",
    "Recommendations",
    "SoftImpute",
    "TimeBudget",
    "Topic",
    "TraceTradeoff",
    "Trial",
    "Tuning",
    "VarianceReduced",
    "Vocabulary",
    "cross_validate",
    "cross_validate_stream",
    "datasets",
    "evaluate",
    "explain",
    "get_threads",
    "images",
    "load",
    "plots",
    "read_batches",
    "read_pairs",
    "read_ratings",
    "read_titles",
    "sample_submatrix",
    "save",
    "set_threads",
    "split",
    "synthetic",
    "topics",
    "tune",
]
