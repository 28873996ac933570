"""The compiled kernels under readable names. The package `reference` holds a NumPy twin of each, equal to the bit."""

from rankfill.kernels.blocks import block_pass, block_weight
from rankfill.kernels.codes import decode
from rankfill.kernels.descent import move_factor, multiplicative_rows, residuals, shift_residuals
from rankfill.kernels.factors import LANES, Growing, RowPair, padded, padded_copy
from rankfill.kernels.gaussian import HoledTable
from rankfill.kernels.gibbs import OtherSide, RowPosterior, ThirdSide, draw_rows, normal_rows
from rankfill.kernels.gradients import (
    GradientRule,
    LossName,
    RoundSums,
    gradient_online,
    gradient_pass,
    grid_of,
    make_grid,
)
from rankfill.kernels.hashing import HashedKeys
from rankfill.kernels.least_squares import Ridge, SquaredErrors, gram_matrix, solve_rows, squared_errors
from rankfill.kernels.regressions import few_input_regressions, rater_regressions
from rankfill.kernels.rounds import (
    Losses,
    Root,
    Rule,
    Slack,
    passive_aggressive_online,
    passive_aggressive_pass,
    passive_aggressive_update,
)
from rankfill.kernels.rows import PIECE, Block, Rows, row_bounds, sort_into_rows
from rankfill.kernels.scoring import predict_one, predict_pairs, top_n
from rankfill.kernels.scratch import zeros_on_disk
from rankfill.kernels.sparse import sparse_entries, sparse_gram, sparse_times
from rankfill.kernels.threads import get_threads, instruction_set, own_threads, set_threads

__all__ = [
    "LANES",
    "PIECE",
    "Block",
    "GradientRule",
    "Growing",
    "HashedKeys",
    "HoledTable",
    "LossName",
    "Losses",
    "OtherSide",
    "Ridge",
    "Root",
    "RoundSums",
    "RowPair",
    "RowPosterior",
    "Rows",
    "Rule",
    "Slack",
    "SquaredErrors",
    "ThirdSide",
    "block_pass",
    "block_weight",
    "decode",
    "draw_rows",
    "few_input_regressions",
    "get_threads",
    "gradient_online",
    "gradient_pass",
    "gram_matrix",
    "grid_of",
    "instruction_set",
    "make_grid",
    "move_factor",
    "multiplicative_rows",
    "normal_rows",
    "own_threads",
    "padded",
    "padded_copy",
    "passive_aggressive_online",
    "passive_aggressive_pass",
    "passive_aggressive_update",
    "predict_one",
    "predict_pairs",
    "rater_regressions",
    "residuals",
    "row_bounds",
    "set_threads",
    "shift_residuals",
    "solve_rows",
    "sort_into_rows",
    "sparse_entries",
    "sparse_gram",
    "sparse_times",
    "squared_errors",
    "top_n",
    "zeros_on_disk",
]
