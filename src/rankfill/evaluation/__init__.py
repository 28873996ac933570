"""How good a model is, measured on ratings it has not seen."""

from rankfill.evaluation.evaluate import Score, evaluate

__all__ = ["Score", "evaluate"]
