"""Choosing the parameters of a model."""

from rankfill.tuning.result import Trial, Tuning
from rankfill.tuning.run import tune

__all__ = ["Trial", "Tuning", "tune"]
