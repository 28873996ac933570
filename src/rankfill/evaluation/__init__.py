"""Evaluation of models on ratings they have not seen."""

from rankfill.evaluation.certificates import Certificate, certificate
from rankfill.evaluation.cross_validation import CrossValidation, cross_validate
from rankfill.evaluation.evaluate import evaluate
from rankfill.evaluation.paths import PathStep, PenaltyPath, path
from rankfill.evaluation.streaming import StreamReport, StreamValidation, cross_validate_stream

__all__ = [
    "Certificate",
    "CrossValidation",
    "PathStep",
    "PenaltyPath",
    "StreamReport",
    "StreamValidation",
    "certificate",
    "cross_validate",
    "cross_validate_stream",
    "evaluate",
    "path",
]
