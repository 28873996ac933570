"""A small matrix drawn from a large one: some users, some items, and the ratings of those by these."""

import numpy as np

from rankfill.data.ratings import Ratings
from rankfill.shown import shown


def sample_submatrix(ratings: Ratings, ratio: float = 0.1, min_ratings: int = 10, seed: int = 0) -> Ratings:
    """Draws a small matrix from a large one: some users, some items, and the ratings between them.

    The sampling of Zeng et al. (IJCAI 2015). The result holds only the ids that are left, and about ratio² of the
    ratings.

    Parameters
    ----------
    ratings : Ratings
        What to draw from.
    ratio : float, default=0.1
        The share of the users and of the items to draw, above 0 and up to 1.
    min_ratings : int, default=10
        Users and items with fewer ratings in the sample are left out. As in the paper that is done once, so that those
        who lose ratings by it may be left with fewer.
    seed : int, default=0
        Decides which are drawn.

    Returns
    -------
    Ratings

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(400, 200, n_ratings=20_000)
    >>> sample_submatrix(ratings, ratio=0.5)
    Ratings(4,094 ratings, 135 users, 85 items, values 1 to 5)
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio must be a share of users and items above 0 and up to 1, found {shown(ratio)}")
    random = np.random.default_rng(seed)
    rows, columns = (_draw(n, ratio, random) for n in ratings.shape)
    users, items = ratings.user_indices, ratings.item_indices
    inside = rows[users] & columns[items]
    user_counts, item_counts = (
        np.bincount(indices[inside], minlength=n) for indices, n in ((users, ratings.n_users), (items, ratings.n_items))
    )
    rows &= user_counts >= max(min_ratings, 1)
    columns &= item_counts >= max(min_ratings, 1)
    kept = rows[users] & columns[items]
    if not kept.any():
        raise ValueError(
            f"nothing is left of a sample of ratio={ratio} with min_ratings={min_ratings}; take more, or ask for fewer"
        )
    times = None if ratings.timestamps is None else ratings.timestamps[kept]
    return Ratings.from_arrays(
        ratings.users.ids(users[kept]), ratings.items.ids(items[kept]), ratings.values[kept], times
    )


def some_users(ratings: Ratings, most: int, seed: int = 0) -> Ratings:
    """All ratings of users drawn at random, as many as have no more than `most` ratings together; at least one.

    >>> import rankfill as rf
    >>> some_users(rf.synthetic.low_rank(400, 200, n_ratings=20_000), 5000)
    Ratings(4,994 ratings, 400 users, 200 items, values 1 to 5)
    """
    if len(ratings) <= most:
        return ratings if ratings.is_here else ratings.of_user_rows(np.ones(ratings.n_users, dtype=bool))
    rated = np.flatnonzero(ratings.by_user.counts())
    order = np.random.default_rng(seed).permutation(rated)
    chosen = np.zeros(ratings.n_users, dtype=bool)
    chosen[order[np.cumsum(ratings.by_user.counts()[order]) <= most]] = True
    chosen[order[0]] = True
    return ratings.of_user_rows(chosen)


def _draw(n: int, ratio: float, random: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    chosen = np.zeros(n, dtype=bool)
    chosen[random.permutation(n)[: round(n * ratio)]] = True
    return chosen
