"""Every model, one file a family. This list is what the command line, the contract tests and the docs go by."""

from rankfill.models.base import Model, Recommendations
from rankfill.models.bias import Bias
from rankfill.models.gradient_descent import GradientDescent
from rankfill.models.passive_aggressive import PassiveAggressive
from rankfill.models.sgd import SGD
from rankfill.models.training import EpochReport, TimeBudget
from rankfill.models.variance_reduced import VarianceReduced

MODELS: dict[str, type[Model]] = {
    "bias": Bias,
    "passive-aggressive": PassiveAggressive,
    "sgd": SGD,
    "variance-reduced": VarianceReduced,
    "gradient-descent": GradientDescent,
}

__all__ = [
    "MODELS",
    "SGD",
    "Bias",
    "EpochReport",
    "GradientDescent",
    "Model",
    "PassiveAggressive",
    "Recommendations",
    "TimeBudget",
    "VarianceReduced",
]
