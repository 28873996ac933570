"""Large matrices that are never written out: sparse, low-rank, and the sum of both."""

from rankfill.linalg.blas import one_blas_thread
from rankfill.linalg.bounds import is_spectral_bound, spectral_bound
from rankfill.linalg.low_rank import LowRank, balance, orthonormal
from rankfill.linalg.operators import Operator, Pattern, SparseMatrix, SparsePlusLowRank, Transposed
from rankfill.linalg.singular import (
    SingularPairs,
    krylov_pairs,
    leading_pairs,
    start_block,
    subspace_iteration,
)
from rankfill.linalg.tall import beside

__all__ = [
    "LowRank",
    "Operator",
    "Pattern",
    "SingularPairs",
    "SparseMatrix",
    "SparsePlusLowRank",
    "Transposed",
    "balance",
    "beside",
    "is_spectral_bound",
    "krylov_pairs",
    "leading_pairs",
    "one_blas_thread",
    "orthonormal",
    "spectral_bound",
    "start_block",
    "subspace_iteration",
]
