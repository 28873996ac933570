"""Many regressions at once, one per item: on a few other items, or on all of them over those who rated the item.

Items are independent, and the numbers of each have one order: the same bits for any number of threads.
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set

TOLERANCE = 1e-6
"""Length of the last gradient in lengths of the first."""


def few_input_regressions(
    by_item: Rows,
    by_user: Rows,
    gram: NDArray[np.float32],
    places: NDArray[np.int32],
    penalty: float,
    keep: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32], float]:
    """One ridge regression per item on the `keep` sources that occur with it most strongly.

    With x_j the column of item j and x_i those of the sources, these are the largest |x_i·x_j| / √G_ii above zero, the
    item itself left out, and their weights solve (G_NN + penalty · I) w = (x_i·x_j)_N.

    Parameters
    ----------
    by_item : Rows
        Every item's entries by user.
    by_user : Rows
        Every user's entries of sources alone, numbered as sources.
    gram : ndarray of shape (n_sources, n_sources)
        The Gram matrix G of the sources; the lower triangle is read.
    places : ndarray of shape (n_items,)
        The number of each item among the sources, or −1.
    penalty : float
        Above zero.
    keep : int
        From 1 to the number of sources.

    Returns
    -------
    sources : ndarray of shape (n_items, keep)
        By their numbers, ascending; padded with zeros where there are fewer.
    weights : ndarray of shape (n_items, keep)
    explained : float
        Σ w·(x_i·x_j)_N over all items.
    """
    matrix = by_item.pattern, by_item.values, by_user.pattern, by_user.values
    return _native.few_input_regressions(*matrix, gram, places, penalty, keep, get_threads(), instruction_set())


def rater_regressions(
    by_item: Rows,
    by_user: Rows,
    features: NDArray[np.float32],
    penalty: float,
    effect_penalty: float,
    *,
    logistic: bool,
    everyone: bool,
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """One regression per item j on all other items and some features of the users, over those who rated it.

        min  Σ_u loss(y_u, z_u) + ½ penalty ‖w‖² + ½ effect_penalty ‖v‖²,   z_u = x_u·w + f_u·v,   w_j = 0

    Parameters
    ----------
    by_item : Rows
        Of each item, the users who rated it, and their targets y.
    by_user : Rows
        The inputs x, by item.
    features : ndarray of shape (n_users, n_features)
        The features f.
    penalty, effect_penalty : float
        Above zero.
    logistic : bool
        Whether the loss is log(1 + exp(−y z)), for targets −1 and +1; otherwise ½ (y − z)².
    everyone : bool
        Whether users without a target count as −1; otherwise they are left out.

    Returns
    -------
    weights : ndarray of shape (n_items, n_items)
        Column j holds w of item j.
    effects : ndarray of shape (n_items, n_features)
        Row j holds v of item j.
    objective : float
        The sum of all minima.
    """
    matrix = by_item.pattern, by_item.values, by_user.pattern, by_user.values
    return _native.rater_regressions(
        *matrix, features, penalty, effect_penalty, TOLERANCE, logistic, everyone, get_threads()
    )
