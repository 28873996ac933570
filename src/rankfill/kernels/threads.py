"""The number of threads and the instruction set of the kernels. Neither changes a result."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

from rankfill.kernels import _native


def _threads_from_environment() -> int:
    text = os.environ.get("RANKFILL_THREADS", "")
    if not text:
        return _available_cores()
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"RANKFILL_THREADS must be a whole number of at least 1, found {text!r}; unset it to use all")
    return int(text)


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fastest_instruction_set() -> str:
    available = _native.instruction_sets()
    wanted = os.environ.get("RANKFILL_ISA", "")
    if wanted and wanted not in available:
        raise ValueError(f"RANKFILL_ISA={wanted!r} does not run on this machine; choose one of {', '.join(available)}")
    return wanted or available[-1]


_threads = _threads_from_environment()
_of_this_thread = threading.local()
_instruction_set = _fastest_instruction_set()


def set_threads(n: int | None) -> None:
    """Sets how many threads the library may use.

    Results are the same to the bit for any number of threads and on every instruction set. Dense products and
    decompositions are left to NumPy's BLAS, whose last bits depend on the kind of processor it was chosen for
    (``OPENBLAS_CORETYPE``): models that use them repeat to the bit on like machines only.

    Parameters
    ----------
    n : int or None
        The number of threads, at least 1; None means all cores that this process may use.

    Examples
    --------
    >>> before = get_threads()
    >>> set_threads(2)
    >>> get_threads()
    2
    >>> set_threads(before)
    """
    global _threads
    if n is not None and not isinstance(n, Integral):
        raise TypeError(f"threads must be a whole number or None for all cores, found {n!r}")
    if n is not None and n < 1:
        raise ValueError(f"threads must be at least 1, found {n}; None uses all cores")
    _threads = _available_cores() if n is None else int(n)


def get_threads() -> int:
    """The number of threads that the kernels may use.

    At first that is the environment variable RANKFILL_THREADS, or all cores.

    Examples
    --------
    >>> get_threads() >= 1
    True
    """
    own: int = getattr(_of_this_thread, "threads", _threads)
    return own


@contextmanager
def own_threads(n: int) -> Iterator[None]:
    """A context in which what is called on this thread uses so many: for work that is already side by side."""
    _of_this_thread.threads = n
    try:
        yield
    finally:
        del _of_this_thread.threads


def instruction_set() -> str:
    """The instruction set chosen at import; the environment variable RANKFILL_ISA overrides the choice."""
    return _instruction_set
