"""The public names and where they live."""

from .answers import evaluate, predict, recommend
from .dividing import divide
from .fitting import fit

__all__ = ["divide", "evaluate", "fit", "predict", "recommend"]
