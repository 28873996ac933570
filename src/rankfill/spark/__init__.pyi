"""The public names and where they live."""

from .answers import predict, recommend
from .dividing import divide
from .evaluating import evaluate
from .fitting import fit

__all__ = ["divide", "evaluate", "fit", "predict", "recommend"]
