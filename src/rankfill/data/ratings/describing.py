"""A description of a set of ratings in a few numbers."""

import datetime
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings.entries import Entries
from rankfill.shown import html_table

Quantiles = tuple[float, float, float, float, float]


@dataclass(frozen=True, repr=False)
class Description:
    """A set of ratings in a few numbers; made by `Ratings.describe`.

    Attributes
    ----------
    n_ratings, n_users, n_items : int
        How many there are.
    density : float
        The share of all pairs of user and item that have a rating.
    scale : tuple of float
        The least and the greatest rating, as in `Ratings.scale`.
    mean : float
        The mean rating.
    per_user, per_item : tuple of float
        The least, the three quartiles and the greatest number of ratings by those who have any.
    span : tuple of int or None
        The first and the last timestamp, in seconds.
    """

    n_ratings: int
    n_users: int
    n_items: int
    density: float
    scale: tuple[float, float]
    mean: float
    per_user: Quantiles
    per_item: Quantiles
    span: tuple[int, int] | None

    def rows(self) -> list[tuple[str, str]]:
        """The rows of the table: a name and a text each."""
        low, high = self.scale
        shown = [
            (
                "ratings",
                f"{self.n_ratings:,} ({_share(self.density)} of {self.n_users:,} users × {self.n_items:,} items)",
            ),
            ("scale", f"{low:g} to {high:g}, mean {self.mean:.4g}"),
            ("per user", _spread(self.per_user)),
            ("per item", _spread(self.per_item)),
        ]
        return shown if self.span is None else [*shown, ("time", " to ".join(map(_day, self.span)))]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<8}  {text}" for name, text in self.rows())

    def _repr_html_(self) -> str:
        return html_table(self.rows())


def describe(ratings: Entries) -> Description:
    """The numbers of `Description`."""
    n_users, n_items = ratings.shape
    times = (piece.timestamps for piece in ratings.pieces())
    spans = [(int(some.min()), int(some.max())) for some in times if some is not None]
    return Description(
        n_ratings=len(ratings),
        n_users=n_users,
        n_items=n_items,
        density=len(ratings) / max(n_users * n_items, 1),
        scale=ratings.scale(),
        mean=ratings.mean(),
        per_user=_quantiles(ratings.by_user.counts()),
        per_item=_quantiles(ratings._item_counts()),
        span=(min(first for first, _ in spans), max(last for _, last in spans)) if spans else None,
    )


def _quantiles(counts: NDArray[np.integer]) -> Quantiles:
    rated = counts[counts > 0]
    least, first, median, third, most = (
        np.quantile(rated, [0, 0.25, 0.5, 0.75, 1]).tolist() if len(rated) else [0.0] * 5
    )
    return least, first, median, third, most


def _spread(quantiles: Quantiles) -> str:
    least, *quartiles, most = (f"{value:,.1f}".removesuffix(".0") for value in quantiles)
    return f"{least} to {most}, quartiles {', '.join(quartiles)}"


def _share(density: float) -> str:
    return f"{density:.1%}" if density >= 0.001 else f"{density:.2g}"


def _day(seconds: int) -> str:
    """The day of a time, or the number where no calendar reaches."""
    try:
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).date().isoformat()
    except OverflowError:
        return str(seconds)
