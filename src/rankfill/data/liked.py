"""The rule that tells which ratings mean that a user liked an item, for everything that ranks.

A rating r by user u is one of liking where r ≥ t_u, both in single precision:

    liked="above-mean"         t_u = mean of all ratings in training (the default)
    liked="above-user-mean"    t_u = mean of the ratings by u in training; of all for users without any there
    liked=4                    t_u = 4
    liked="all"                t_u = −∞: whatever was rated, bought or played was liked

"above-mean" asks that an item is liked more than items are in general. "above-user-mean" allows for people who are
hard or easy to please, and calls about half of what anybody rated liked. "all" is right for events and counts.
Where all ratings are equal, all three say that everything is liked.
"""

import math
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings import Ratings
from rankfill.shown import shown

LikedWord = Literal["above-mean", "above-user-mean", "all"]
Liked: TypeAlias = LikedWord | float


def check_liked(liked: Liked) -> None:
    """Refuses in words what is neither a rating nor one of the words."""
    number = isinstance(liked, int | float | np.number) and not isinstance(liked, bool)
    if not (number or liked in get_args(LikedWord)) or (number and math.isnan(float(liked))):
        raise ValueError(
            f"liked must be {', '.join(get_args(LikedWord))} or the lowest rating of a liked item, found {shown(liked)}"
        )


def liked_entries(
    ratings: Ratings,
    liked: Liked = "above-mean",
    mean: float | None = None,
    user_means: NDArray[np.floating] | None = None,
) -> NDArray[np.bool_]:
    """Tells of each rating whether it says that the user liked the item.

    Parameters
    ----------
    ratings : Ratings
        What to judge.
    liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
        The rule, or the lowest rating of a liked item.
    mean : float, optional
        The mean of all ratings in training. By default that of `ratings`.
    user_means : ndarray of shape (n_users,), optional
        The mean of each user's ratings in training, NaN where there are none. By default those of `ratings`.

    Returns
    -------
    ndarray of bool
        One per rating, in the order of `values`.

    Examples
    --------
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 2, 1]])
    >>> liked_entries(ratings)
    array([ True,  True, False, False])
    >>> liked_entries(ratings, "above-user-mean")
    array([ True, False,  True, False])
    >>> liked_entries(ratings, 2)
    array([ True,  True,  True, False])
    """
    check_liked(liked)
    overall = ratings.mean() if mean is None else mean
    if liked == "all":
        return np.ones(len(ratings), dtype=bool)
    with np.errstate(over="ignore"):  # a bound beyond single precision is one that no rating reaches
        if liked == "above-user-mean":
            known = user_means_of(ratings) if user_means is None else user_means
            bounds = np.where(np.isnan(known), overall, known).astype(np.float32)
            return np.asarray(ratings.values >= bounds[ratings.user_indices])
        return np.asarray(ratings.values >= np.float32(overall if liked == "above-mean" else liked))


def user_means_of(ratings: Ratings) -> NDArray[np.float64]:
    """The mean of the ratings of each user, NaN where there are none."""
    counts = ratings.by_user.counts()
    sums = np.bincount(ratings.user_indices, ratings.values, minlength=ratings.n_users)
    means = np.full(len(counts), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
