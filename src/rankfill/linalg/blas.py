"""The number of threads that the BLAS of NumPy and SciPy uses."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS takes one thread.

    For loops that go back and forth between BLAS and the kernels: its threads would wait in circles beside theirs, and
    sums would depend on how many there are.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
