"""The compiled kernels under readable names. `reference` holds a NumPy twin of each, equal to the bit."""

from rankfill.kernels.blocks import BlockLoss, block_pass, block_weight
from rankfill.kernels.descent import move_factor, multiplicative_rows, residuals, shift_residuals
from rankfill.kernels.factors import LANES, Growing, padded, padded_copy
from rankfill.kernels.gaussian import HoledTable
from rankfill.kernels.gradients import GradientRule, RoundSums, gradient_online, gradient_pass, make_grid
from rankfill.kernels.hashing import HashedKeys
from rankfill.kernels.least_squares import Ridge, SquaredErrors, gram_matrix, solve_rows, squared_errors
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
from rankfill.kernels.sparse import sparse_entries, sparse_gram, sparse_times
from rankfill.kernels.threads import get_threads, instruction_set, set_threads

__all__ = [
    "LANES",
    "BlockLoss",
    "GradientRule",
    "Growing",
    "HashedKeys",
    "HoledTable",
    "Losses",
    "Ridge",
    "Root",
    "RoundSums",
    "Rows",
    "Rule",
    "Slack",
    "SquaredErrors",
    "block_pass",
    "block_weight",
    "get_threads",
    "gradient_online",
    "gradient_pass",
    "gram_matrix",
    "instruction_set",
    "make_grid",
    "move_factor",
    "multiplicative_rows",
    "padded",
    "padded_copy",
    "passive_aggressive_online",
    "passive_aggressive_pass",
    "passive_aggressive_update",
    "predict_pairs",
    "residuals",
    "set_threads",
    "shift_residuals",
    "solve_rows",
    "sort_into_rows",
    "sparse_entries",
    "sparse_gram",
    "sparse_times",
    "squared_errors",
    "top_n",
]
