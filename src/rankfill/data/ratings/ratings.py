"""The ratings matrix: immutable, by user and by item, unknown entries absent.

What it holds is in `entries`; how it is made, cut into parts and shown to others is in a file each.
"""

from rankfill.data.ratings.converting import Converting
from rankfill.data.ratings.dividing import Dividing
from rankfill.data.ratings.passing import Passing


class Ratings(Dividing, Passing, Converting):
    """Who rated what, how, and perhaps when.

    Make one with a ``from_…`` method or `read_ratings`. It is immutable, holds the ratings by user and by item, and
    leaves out what is unknown. Ratings come in the order by user, then item, wherever they are listed.

    Parameters
    ----------
    users, items : Vocabulary
        The ids; a row number is a place in them.
    by_user : Rows
        The ratings of each user, items ascending. Trusted; use a ``from_…`` method to have input checked.
    timestamps : ndarray of int64, optional
        One per rating, in seconds.
    arrival : ndarray of int, optional
        The positions of the ratings in the order they came in; by default the order by user.

    Attributes
    ----------
    users, items : Vocabulary
        The ids.
    by_user : Rows
        The ratings of each user: ``indptr``, ``indices`` (row numbers of items, ascending) and ``values``.
    by_item : Rows
        The ratings of each item, users ascending; made when first asked for.
    timestamps : ndarray of int64 or None
        One per rating.
    n_users, n_items : int
        How many there are.
    shape : tuple of int
        Users by items.
    user_indices, item_indices : ndarray of int32
        The row numbers of every rating.
    values : ndarray of float32
        Every rating.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 3, 4])
    >>> ratings
    Ratings(3 ratings, 2 users, 2 items, values 3 to 5)
    >>> ratings.by_item.values  # milk: ann; tea: ann, bob
    array([3., 5., 4.], dtype=float32)
    """
