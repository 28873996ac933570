"""Checks of settings and ratings that many models share: they name the value, the rule and the remedy.

Every number has a range. Whole numbers fit into 32 bits, a seed into 64. Other numbers lie between `SMALLEST` and
`LARGEST`, so that single precision still holds them after they have been multiplied by counts.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from rankfill.data import Ratings
from rankfill.shown import shown

Nonnegative = Literal["both", "items", "users", "none"]
"""Which sides must not be negative."""

SideOption = Literal["users", "items"]
"""One side of the matrix, as an option names it; elsewhere a side is "user" or "item"."""

Feedback = Literal["explicit", "implicit"]
"""Whether ratings say how much something is liked, or only that it was used."""

Weighting = Literal["constant", "count"]
"""Whether every row is penalised alike, or in proportion to how many ratings it has."""

MOST, MOST_OF_SEED = 2**31 - 1, 2**63 - 1
SMALLEST, LARGEST = 1e-30, 1e30

_WITHIN: ContextVar[bool] = ContextVar("within", default=False)


def check_whole(name: str, value: Any, least: int, most: int = MOST) -> None:
    """Refuses anything but a whole number from `least` to `most`; True and False are no numbers."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, found {shown(value)}")
    if int(value) > most:
        raise ValueError(f"{name} must be a whole number of at most {most}, found {shown(value)}")


def check_positive(
    name: str, value: Any, *, or_zero: bool = False, most: float = LARGEST, remedy: str | None = None
) -> None:
    """Refuses anything but a number from `SMALLEST` to `most`, or zero where that is allowed."""
    number = _as_float(value)
    found = f"found {shown(value)}" + (f"; {remedy}" if remedy else "")
    if not (0 < number < math.inf or (or_zero and number == 0)):
        raise ValueError(f"{name} must be {'zero or ' * or_zero}a positive number, {found}")
    if number > most or 0 < number < SMALLEST:
        raise ValueError(f"{name} must be {'zero or ' * or_zero}from {SMALLEST:g} to {most:g}, {found}")
    if isinstance(value, Integral) and int(value) > MOST_OF_SEED:  # arrays of whole numbers cannot hold it
        raise ValueError(f"{name} must have a decimal point where it is beyond 64 bits, {found}; write {number:g}")


def check_share(name: str, value: Any) -> None:
    """Refuses anything but a number from 0 to 1."""
    if not 0 <= _as_float(value) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, found {shown(value)}")


def check_seed(seed: Any) -> None:
    """Refuses anything that cannot seed random numbers."""
    check_whole("seed", seed, 0, MOST_OF_SEED)


def check_word(name: str, value: Any, allowed: Any) -> None:
    """Refuses anything but the words of `allowed`, a Literal."""
    if not isinstance(value, str) or value not in get_args(allowed):
        raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, found {shown(value)}")


def check_training(model: Any) -> None:
    """Checks the settings of every iterative model: passes, tol and seed."""
    check_whole("passes", model.passes, 1)
    check_seed(model.seed)
    if model.tol is not None and not abs(_as_float(model.tol)) <= LARGEST:
        raise ValueError(f"tol must be a number, or None to make every pass, found {shown(model.tol)}")


def check_no_negative(ratings: Ratings, because: str, remedy: str) -> None:
    """Refuses negative ratings and names the first."""
    if ratings.bounds()[0] >= 0:
        return
    if not ratings.is_here:
        raise ValueError(f"{because} needs ratings >= 0, found {ratings.bounds()[0]:g}; {remedy}")
    if (ratings.values < 0).any():
        bad = int(np.flatnonzero(ratings.values < 0)[0])
        user = ratings.users.ids([ratings.user_indices[bad]])[0]
        item = ratings.items.ids([ratings.item_indices[bad]])[0]
        raise ValueError(
            f"{because} needs ratings >= 0, found {ratings.values[bad]:g} of user {shown(user)} for item "
            f"{shown(item)}; {remedy}"
        )


def check_signs(ratings: Ratings) -> None:
    """Refuses ratings that the logistic loss cannot learn from."""
    if not np.isin(ratings.values, (-1, 1)).all():
        bad = ratings.values[~np.isin(ratings.values, (-1, 1))][0]
        raise ValueError(f'loss="logistic" needs ratings of -1 and +1, found {bad:g}; use ratings.with_values(…)')


@contextmanager
def without_hints() -> Iterator[None]:
    """Silences hints at better models for fits that a model or a caller makes for its own purposes."""
    before = _WITHIN.set(True)
    try:
        yield
    finally:
        _WITHIN.reset(before)


def warn_of_one_value(ratings: Ratings) -> None:
    """Warns of a thousand or more equal ratings: such data usually holds only positives."""
    if _WITHIN.get() or len(ratings) < 1000:
        return
    least, greatest = ratings.bounds()
    if greatest == least > 0:
        warnings.warn(
            f"all {len(ratings)} ratings are {least:g}, so every prediction will be; for data that only say what "
            'was used, ItemRegression() and ALS(feedback="implicit") are made',
            UserWarning,
            stacklevel=4,
        )


def _as_float(value: Any) -> float:
    """Converts to a Python float: NaN for what is no number, infinity for what is too large."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
