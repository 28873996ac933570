"""Every model, one file a family. This list is what the command line, the contract tests and the docs go by."""

from rankfill.models.als import ALS
from rankfill.models.base import Model, Recommendations
from rankfill.models.bias import Bias
from rankfill.models.broyden import Broyden
from rankfill.models.coordinate_descent import CoordinateDescent
from rankfill.models.fava import FAVA
from rankfill.models.geco import GECO
from rankfill.models.gradient_descent import GradientDescent
from rankfill.models.jaggi_sulovsky import JaggiSulovsky
from rankfill.models.multiplicative import MultiplicativeNMF
from rankfill.models.passive_aggressive import PassiveAggressive
from rankfill.models.primal_dual import PrimalDual
from rankfill.models.sgd import SGD
from rankfill.models.sgmf import SGMF
from rankfill.models.soft_impute import SoftImpute
from rankfill.models.trace_bounded import TraceBounded
from rankfill.models.trace_tradeoff import TraceTradeoff
from rankfill.models.training import EpochReport, TimeBudget
from rankfill.models.variance_reduced import VarianceReduced
from rankfill.models.variances import factorization_variances

MODELS: dict[str, type[Model]] = {
    "als": ALS,
    "bias": Bias,
    "broyden": Broyden,
    "coordinate-descent": CoordinateDescent,
    "multiplicative-nmf": MultiplicativeNMF,
    "passive-aggressive": PassiveAggressive,
    "sgd": SGD,
    "sgmf": SGMF,
    "trace-bounded": TraceBounded,
    "trace-tradeoff": TraceTradeoff,
    "variance-reduced": VarianceReduced,
    "soft-impute": SoftImpute,
    "gradient-descent": GradientDescent,
    "primal-dual": PrimalDual,
    "jaggi-sulovsky": JaggiSulovsky,
    "geco": GECO,
    "fava": FAVA,
}

__all__ = [
    "ALS",
    "FAVA",
    "GECO",
    "MODELS",
    "SGD",
    "SGMF",
    "Bias",
    "Broyden",
    "CoordinateDescent",
    "EpochReport",
    "GradientDescent",
    "JaggiSulovsky",
    "Model",
    "MultiplicativeNMF",
    "PassiveAggressive",
    "PrimalDual",
    "Recommendations",
    "SoftImpute",
    "TimeBudget",
    "TraceBounded",
    "TraceTradeoff",
    "VarianceReduced",
    "factorization_variances",
]
