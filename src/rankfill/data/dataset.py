"""Ratings together with what is known about the items."""

from dataclasses import dataclass, field

from rankfill.data.ratings import Ratings


@dataclass(frozen=True)
class Dataset:
    """A named set of ratings with the titles and genres of its items.

    Attributes
    ----------
    name : str
        What it is called.
    ratings : Ratings
        The ratings.
    titles : dict
        The title of each item, by id.
    genres : dict
        The genres of each item, by id.

    Examples
    --------
    >>> import rankfill as rf
    >>> club = rf.synthetic.film_club()
    >>> club.titles[1], club.genres[1]
    ('Something Waits at the Haunted Mill (horror)', ('horror',))
    """

    name: str
    ratings: Ratings
    titles: dict[int, str] = field(repr=False)
    genres: dict[int, tuple[str, ...]] = field(repr=False)
