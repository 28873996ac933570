"""What the numbers in a set of ratings are: ratings, counts, or nothing but marks."""

from typing import Literal

import numpy as np

from rankfill.data import Ratings

Kind = Literal["ratings", "counts", "positives"]

_LONG_TAIL = 10.0
_SCALE = 10
"""Scales of stars have at most so many steps, and people use the lowest least."""


def kind_of(ratings: Ratings) -> Kind:
    """What the values are.

    "positives"  all are equal: they say what was used, and no more
    "counts"     whole numbers above zero without the end of a scale: the largest is more than ten times the median, or
                 half of them and more are the smallest one, or the smallest is the most frequent of more than ten
    "ratings"    anything else

    >>> kind_of(Ratings.from_arrays([1, 1, 2, 3], [1, 2, 1, 1], [1.0, 1.0, 1.0, 1.0]))
    'positives'
    >>> kind_of(Ratings.from_arrays([1, 1, 2, 3], [1, 2, 1, 1], [1.0, 1.0, 2.0, 31.0]))
    'counts'
    >>> kind_of(Ratings.from_arrays([1, 1, 2, 3], [1, 2, 1, 1], [1.0, 4.0, 5.0, 3.0]))
    'ratings'
    """
    values = ratings.values
    low, high = float(values.min()), float(values.max())
    if low == high:
        return "positives"
    if low <= 0 or (values != np.floor(values)).any():
        return "ratings"
    kinds, times = np.unique(values, return_counts=True)
    if 2 * times[0] >= len(values) or high > _LONG_TAIL * float(np.median(values)):
        return "counts"
    return "counts" if len(kinds) > _SCALE and times[0] == times.max() else "ratings"
