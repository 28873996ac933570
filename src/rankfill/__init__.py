"""rankfill fills in huge, mostly empty matrices: ratings in; predictions, recommendations and readable topics out."""

import importlib
from types import ModuleType

from rankfill.data import (
    Dataset,
    Ratings,
    Vocabulary,
    datasets,
    read_pairs,
    read_ratings,
    read_titles,
    split,
    synthetic,
)
from rankfill.evaluation import evaluate
from rankfill.kernels import get_threads, set_threads
from rankfill.models import MODELS, Bias, EpochReport, Model, PassiveAggressive, Recommendations, TimeBudget
from rankfill.persistence import load, save
from rankfill.topics import Reason, Topic, explain, topics

__version__ = "0.1.0"

__all__ = [
    "MODELS",
    "Bias",
    "Dataset",
    "EpochReport",
    "Model",
    "PassiveAggressive",
    "Ratings",
    "Reason",
    "Recommendations",
    "TimeBudget",
    "Topic",
    "Vocabulary",
    "datasets",
    "evaluate",
    "explain",
    "get_threads",
    "load",
    "read_pairs",
    "read_ratings",
    "read_titles",
    "save",
    "set_threads",
    "split",
    "synthetic",
    "topics",
]


def __getattr__(name: str) -> ModuleType:
    """`rankfill.plots` brings matplotlib along, which takes half a second: it is loaded when first used."""
    if name == "plots":
        return importlib.import_module("rankfill.plots")
    raise AttributeError(f"module 'rankfill' has no attribute {name!r}")
