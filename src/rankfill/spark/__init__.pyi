"""The public names and where they live."""

from .answers import evaluate, predict, recommend
from .fitting import fit

__all__ = ["evaluate", "fit", "predict", "recommend"]
