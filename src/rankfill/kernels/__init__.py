"""The compiled kernels under readable names. `reference.py` holds a NumPy twin of each, equal to the bit."""

from rankfill.kernels.factors import LANES, Growing, padded, padded_copy
from rankfill.kernels.gradients import GradientRule, RoundSums, gradient_online, gradient_pass, make_grid
from rankfill.kernels.hashing import HashedKeys
from rankfill.kernels.rounds import (
    Losses,
    Root,
    Rule,
    Slack,
    passive_aggressive_online,
    passive_aggressive_pass,
    passive_aggressive_update,
)
from rankfill.kernels.rows import Rows, sort_into_rows
from rankfill.kernels.scoring import predict_pairs, top_n
from rankfill.kernels.threads import get_threads, instruction_set, set_threads

__all__ = [
    "LANES",
    "GradientRule",
    "Growing",
    "HashedKeys",
    "Losses",
    "Root",
    "RoundSums",
    "Rows",
    "Rule",
    "Slack",
    "get_threads",
    "gradient_online",
    "gradient_pass",
    "instruction_set",
    "make_grid",
    "padded",
    "padded_copy",
    "passive_aggressive_online",
    "passive_aggressive_pass",
    "passive_aggressive_update",
    "predict_pairs",
    "set_threads",
    "sort_into_rows",
    "top_n",
]
