"""
Compiled kernels. Arrays are borrowed, never copied or cast; see rankfill.kernels for the words.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def instruction_sets() -> list[str]:
    """Those this machine can run, slowest first."""

def counting_sort(keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_keys: int, with_order: bool, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def slots_for(n_keys: int) -> int: ...

def encode(strings: Sequence[str]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def factorize_integers(ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def factorize_strings(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def insert_integers(slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], first: int, keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def insert_strings(slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], first: int, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def find_integers(slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

def find_strings(slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class GradientRule:
    """What one stochastic gradient round does."""

    def __init__(self, *, loss: str, width: float, step: str, rate: float, power: float, penalty: float, period: float, nonnegative_users: bool, nonnegative_items: bool, rank: int, biased: bool) -> None: ...

def gradient_pass(users: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], strata: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], user_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], item_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], user_memory: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], item_memory: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], user_penalties: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], item_penalties: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rule: GradientRule, first_round: float, threads: int, isa: str) -> tuple[float, float, float]: ...

def variance_reduced_pass(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], moving: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], fixed: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], memory: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], method: str, penalty: float, shrinkage: float, step: float, inner: int, still: int, seed: int, threads: int, isa: str) -> None: ...

def full_gradient(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], moving: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], fixed: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], loss: str, width: float, penalty: float, shrinkage: float, threads: int, isa: str) -> tuple[float, float, float]: ...

def gradient_online(users: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_round: float, user_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], item_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], user_memory: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], item_memory: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], user_penalties: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], item_penalties: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rule: GradientRule, isa: str) -> tuple[float, float, float]: ...

class Rule:
    """What one passive-aggressive round does."""

    def __init__(self, *, slack: str, root: str, nonnegative: bool, C: float, epsilon: float) -> None: ...

@overload
def update(w: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: float, rule: Rule, isa: str) -> float:
    """One round, in place; returns the error y − w·x before it."""

@overload
def update(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: float, rule: Rule, isa: str) -> float: ...

def passive_aggressive_pass(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], moving: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], fixed: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rule: Rule, seed: int, plainly: bool, threads: int, isa: str) -> tuple[float, float]:
    """
    One pass; `plainly` takes a row at a time: the same result, slower, kept to compare with.
    """

def passive_aggressive_online(users: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], user_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], item_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], user_rule: Rule, item_rule: Rule, isa: str) -> tuple[float, float]: ...

def predict_pairs(users: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], user_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], item_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], default_user: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], default_item: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], both_unknown: float, threads: int, isa: str) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

def top_n(user_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], item_factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rank: int, n: int, seen_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seen_items: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, isa: str) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]]: ...
