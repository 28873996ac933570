"""Makes factors of any sign a start for non-negative ones."""

import numpy as np
from numpy.typing import NDArray

from rankfill.models.base.settings import Nonnegative


def project(users: NDArray[np.float32], items: NDArray[np.float32], nonnegative: Nonnegative) -> None:
    """Sets negative entries to zero, in place, on the sides that must not be negative.

    p_k q_k does not change when both change their sign. Each factor takes the sign that leaves more of it: the one with
    the larger product of the norms that stay, or where nothing stays of one side, with more of the items.
    """
    if nonnegative == "none":
        return
    user_norms, item_norms = (
        [_norms(sign * rows, cut=nonnegative in ("both", side)) for sign in (1, -1)]
        for rows, side in ((users, "users"), (items, "items"))
    )
    products = [mine * theirs for mine, theirs in zip(user_norms, item_norms, strict=True)]
    turned = np.where(products[0] == products[1], item_norms[1] > item_norms[0], products[1] > products[0])
    for rows, side in ((users, "users"), (items, "items")):
        rows[:, turned] *= -1
        if nonnegative in ("both", side):
            np.maximum(rows, 0, out=rows)


def _norms(rows: NDArray[np.float32], *, cut: bool) -> NDArray[np.float64]:
    """The norm of each column, without its negative entries where they are to be cut off."""
    norms: NDArray[np.float64] = np.square(np.maximum(rows, 0) if cut else rows, dtype=np.float64).sum(axis=0)
    return norms
