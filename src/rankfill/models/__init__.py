"""Every model, one folder per family. The command line, the contract tests and the docs go by the list `MODELS`."""

from rankfill.models.alternating.als import ALS
from rankfill.models.alternating.coordinate_descent import CoordinateDescent
from rankfill.models.auto.choices import Choice
from rankfill.models.auto.model import Auto
from rankfill.models.base.explanation import Explanation, Part
from rankfill.models.base.model import Model
from rankfill.models.base.recommendations import Recommendations
from rankfill.models.base.similar import Similar
from rankfill.models.base.training import EpochReport, TimeBudget
from rankfill.models.bayesian.model import BayesianMF
from rankfill.models.bias import Bias
from rankfill.models.columns.broyden import Broyden
from rankfill.models.columns.sgmf import SGMF
from rankfill.models.convex.divide_and_conquer import DivideAndConquer
from rankfill.models.convex.fava import FAVA
from rankfill.models.convex.geco import GECO
from rankfill.models.convex.jaggi_sulovsky import JaggiSulovsky
from rankfill.models.convex.primal_dual import PrimalDual
from rankfill.models.convex.soft_impute import SoftImpute
from rankfill.models.convex.trace_bounded import TraceBounded
from rankfill.models.convex.trace_tradeoff import TraceTradeoff
from rankfill.models.convex.variances import factorization_variances
from rankfill.models.gradient.gradient_descent import GradientDescent
from rankfill.models.gradient.sgd import SGD
from rankfill.models.gradient.variance_reduced import VarianceReduced
from rankfill.models.multiplicative import MultiplicativeNMF
from rankfill.models.neighbours.nearest_neighbors import NearestNeighbors
from rankfill.models.passive_aggressive.model import PassiveAggressive
from rankfill.models.popularity import Popularity
from rankfill.models.regression.feature_ridge import FeatureRidge
from rankfill.models.regression.item_regression import ItemRegression

MODELS: dict[str, type[Model]] = {
    "auto": Auto,
    "als": ALS,
    "bayesian-mf": BayesianMF,
    "sgd": SGD,
    "passive-aggressive": PassiveAggressive,
    "coordinate-descent": CoordinateDescent,
    "multiplicative-nmf": MultiplicativeNMF,
    "variance-reduced": VarianceReduced,
    "gradient-descent": GradientDescent,
    "broyden": Broyden,
    "sgmf": SGMF,
    "primal-dual": PrimalDual,
    "soft-impute": SoftImpute,
    "trace-tradeoff": TraceTradeoff,
    "trace-bounded": TraceBounded,
    "jaggi-sulovsky": JaggiSulovsky,
    "geco": GECO,
    "fava": FAVA,
    "divide-and-conquer": DivideAndConquer,
    "item-regression": ItemRegression,
    "nearest-neighbors": NearestNeighbors,
    "feature-ridge": FeatureRidge,
    "bias": Bias,
    "popularity": Popularity,
}
"""The order in which users meet them: the one to begin with, general ones, online ones, convex ones, those for lists,
baselines."""

DEFAULT_MODEL = "auto"
"""The model that a verb uses where none is named."""

__all__ = [
    "ALS",
    "DEFAULT_MODEL",
    "FAVA",
    "GECO",
    "MODELS",
    "SGD",
    "SGMF",
    "Auto",
    "BayesianMF",
    "Bias",
    "Broyden",
    "Choice",
    "CoordinateDescent",
    "DivideAndConquer",
    "EpochReport",
    "Explanation",
    "FeatureRidge",
    "GradientDescent",
    "ItemRegression",
    "JaggiSulovsky",
    "Model",
    "MultiplicativeNMF",
    "NearestNeighbors",
    "Part",
    "PassiveAggressive",
    "Popularity",
    "PrimalDual",
    "Recommendations",
    "Similar",
    "SoftImpute",
    "TimeBudget",
    "TraceBounded",
    "TraceTradeoff",
    "VarianceReduced",
    "factorization_variances",
]
