"""Checks of settings and ratings that many models share: they name the value, the rule and the remedy."""

import warnings
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from rankfill.data import Ratings

Nonnegative = Literal["both", "items", "users", "none"]
"""Which sides must not be negative."""


def check_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, found {value!r}")


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> None:
    if not (isinstance(value, Real) and (float(value) > 0 or (or_zero and float(value) == 0))):
        raise ValueError(f"{name} must be {'zero or ' * or_zero}a positive number, found {value!r}")


def check_word(name: str, value: Any, allowed: Any) -> None:
    """`allowed` is a Literal."""
    if value not in get_args(allowed):
        raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, found {value!r}")


def check_training(model: Any) -> None:
    """The settings of every iterative model: passes, tol and seed."""
    check_whole("passes", model.passes, 1)
    check_whole("seed", model.seed, 0)
    if model.tol is not None and not (isinstance(model.tol, Real) and model.tol == model.tol):
        raise ValueError(f"tol must be a number, or None to make every pass, found {model.tol!r}")


def check_no_negative(ratings: Ratings, because: str, remedy: str) -> None:
    if (ratings.values < 0).any():
        bad = int(np.flatnonzero(ratings.values < 0)[0])
        user = ratings.users.ids([ratings.user_indices[bad]])[0]
        item = ratings.items.ids([ratings.item_indices[bad]])[0]
        raise ValueError(
            f"{because} needs ratings >= 0, found {ratings.values[bad]:g} of user {user!r} for item {item!r}; {remedy}"
        )


def check_signs(ratings: Ratings) -> None:
    """What the logistic loss can learn from."""
    if not np.isin(ratings.values, (-1, 1)).all():
        bad = ratings.values[~np.isin(ratings.values, (-1, 1))][0]
        raise ValueError(f'loss="logistic" needs ratings of -1 and +1, found {bad:g}; use ratings.with_values(…)')


def warn_of_one_value(ratings: Ratings, remedy: str) -> None:
    """A thousand ratings that are all the same are no accident: such data usually has only positives."""
    values = ratings.values
    if len(values) >= 1000 and values[0] > 0 and (values == values[0]).all():
        warnings.warn(
            f"all {len(values)} ratings are {values[0]:g}, so every prediction will be; {remedy}",
            UserWarning,
            stacklevel=4,
        )
