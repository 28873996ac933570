"""Ratings together with what is known about the items."""

from dataclasses import dataclass, field

from rankfill.data.ratings import Ratings


@dataclass(frozen=True)
class Dataset:
    """A named set of ratings with the titles and genres of its items, by item id."""

    name: str
    ratings: Ratings
    titles: dict[int, str] = field(repr=False)
    genres: dict[int, tuple[str, ...]] = field(repr=False)
