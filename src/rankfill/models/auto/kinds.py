"""What the numbers in a set of ratings are: ratings, counts, or nothing but marks."""

from typing import Literal

import numpy as np

from rankfill.data import Ratings

Kind = Literal["ratings", "counts", "positives"]

_LONG_TAIL = 10.0


def kind_of(ratings: Ratings) -> Kind:
    """What the values are.

    "positives"  all are equal: they say what was used, and no more
    "counts"     whole numbers above zero without the end of a scale: the largest is more than ten times the median, or
                 half of them and more are the smallest one
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
    at_least_half = np.count_nonzero(values == low) * 2 >= len(values)
    return "counts" if at_least_half or high > _LONG_TAIL * float(np.median(values)) else "ratings"
