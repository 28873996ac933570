"""Why a model predicts what it predicts: a sum of parts that a person can read."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankfill.data.frames import Library, make_frame
from rankfill.data.vocabulary import Id
from rankfill.shown import printable, shorten

Kind = Literal["level", "user", "item", "factor", "rating", "neighbour", "rest"]
"""What a part stands for: the level that all predictions share, the effect of the user or of the item, a factor, a
rating of the user, what another user gave, or what is left."""

_FIRST: tuple[Kind, ...] = ("level", "user", "item")


@dataclass(frozen=True)
class Part:
    """One term of a prediction.

    Attributes
    ----------
    kind : {"level", "user", "item", "factor", "rating", "neighbour", "rest"}
        What it stands for: the level that all predictions share, the effect of the user or of the item, a factor, a
        rating that the user gave, a rating that a similar user gave, or what is left.
    name : str
        The same in words.
    contribution : float
        What it adds to the prediction; NaN where the rating it comes from is not known.
    id : int or str or None
        Number of the factor, or id of the item or user that was rated; None for other parts.
    rating : float or None
        The rating that speaks; None where there is none, or where it is not known.
    weight : float or None
        By what the rating, less its baseline, is multiplied; None for other parts.

    Examples
    --------
    >>> part = Part("rating", "item 7", 0.3, id=7, rating=5.0, weight=0.15)
    >>> f"{part.name} adds {part.contribution}"
    'item 7 adds 0.3'
    """

    kind: Kind
    name: str
    contribution: float
    id: Id | None = None
    rating: float | None = None
    weight: float | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a model predicts what it predicts for one user and one item. Prints as a table.

    Attributes
    ----------
    user, item : int or str
        The ids.
    score : float
        The prediction before it is brought into the range of the ratings. The parts add up to it.
    prediction : float
        What `predict` says.
    parts : tuple of Part
        The terms of the score: level and effects first, then the largest first.
    ratings : tuple of Part
        The same score by the ratings that the user gave, for a model with factors; empty for other models, and for a
        user of whom nothing is known. Contributions are NaN where the ratings are not known.
    note : str
        What the ratings are, and how their weights were found.
    titles : mapping
        Names of items by id, for printing.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "milk", "tea"], [5, 2, 4])
    >>> print(rf.Bias(shrinkage=0).fit(ratings).explain("bob", "milk"))
    Why the prediction for user bob and milk is 1.50 (2.00 within the range of the ratings)
    <BLANKLINE>
                   adds
    mean rating   3.667
    user bob     -0.500
    item milk    -1.667
    """

    user: Id
    item: Id
    score: float
    prediction: float
    parts: tuple[Part, ...]
    ratings: tuple[Part, ...] = ()
    note: str = ""
    titles: Mapping[Any, str] = field(default_factory=dict, compare=False)

    def text(self, n: int = 10) -> str:
        """The tables of parts and of ratings.

        Parameters
        ----------
        n : int, default=10
            How many parts beside level and effects are shown in each table; the others are added up in one line.

        Returns
        -------
        str
        """
        tables = ["\n".join(_lines(_rows(parts, n, self.titles))) for parts in (self.parts, self.ratings) if parts]
        return "\n\n".join([self.heading(), *tables, *([self.note] if self.note else [])])

    def to_frame(self, library: Library | None = None, of: Literal["parts", "ratings"] = "parts") -> Any:
        """A data frame with one part per row.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame. By default that of the first of the three that is installed.
        of : {"parts", "ratings"}, default="parts"
            Which of the two sums.

        Returns
        -------
        DataFrame or Table
            With the columns kind, name, rating, weight and contribution; NaN where a part has none.
        """
        parts = {"parts": self.parts, "ratings": self.ratings}.get(of)
        if parts is None:
            raise ValueError(f"of must be one of parts, ratings, found {of!r}")
        columns: dict[str, NDArray[Any]] = {
            "kind": np.array([part.kind for part in parts], object),
            "name": np.array([name_of_part(part, self.titles) for part in parts], object),
            "rating": _numbers([part.rating for part in parts]),
            "weight": _numbers([part.weight for part in parts]),
            "contribution": _numbers([part.contribution for part in parts]),
        }
        return make_frame(columns, library)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        tables = [_html(_rows(parts, 10, self.titles)) for parts in (self.parts, self.ratings) if parts]
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<p>{html.escape(self.heading())}</p>{''.join(tables)}{note}"

    def heading(self) -> str:
        """The prediction in words.

        Returns
        -------
        str
        """
        item = self.titles.get(self.item, self.item)
        heading = f"Why the prediction for user {self.user} and {item} is {self.score:.2f}"
        if math.isclose(self.score, self.prediction, rel_tol=1e-6, abs_tol=1e-9):
            return printable(heading)
        return printable(f"{heading} ({self.prediction:.2f} within the range of the ratings)")


def in_order(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Sorts parts: level and effects first, then by contribution (weight where that is unknown), the rest last."""

    def place(part: Part) -> tuple[int, float]:
        if part.kind in _FIRST:
            return _FIRST.index(part.kind), 0.0
        size = abs(part.weight or 0.0) if math.isnan(part.contribution) else abs(part.contribution)
        return len(_FIRST) + (part.kind == "rest"), -size

    return tuple(sorted(parts, key=place))


def shown_parts(parts: Sequence[Part], n: int) -> list[Part]:
    """Keeps level and effects, the n largest other parts, the sum of the remaining ones, and the rest."""
    fixed = [part for part in parts if part.kind in _FIRST]
    others = [part for part in parts if part.kind not in (*_FIRST, "rest")]
    left = others[n:]
    summed = [Part("rest", f"{len(left)} others", sum(part.contribution for part in left))] if left else []
    return [*fixed, *others[:n], *summed, *(part for part in parts if part.kind == "rest")]


def name_of_part(part: Part, titles: Mapping[Any, str]) -> str:
    """The title of what was rated, or the name of the part."""
    name = titles.get(part.id, part.name) if part.kind == "rating" else part.name
    return printable(" ".join(str(name).split()))


def _rows(parts: Sequence[Part], n: int, titles: Mapping[Any, str]) -> list[tuple[str, ...]]:
    """A header and one row of texts per part, without empty columns."""
    some = shown_parts(parts, n)
    columns = [
        ("", [shorten(name_of_part(part, titles)) for part in some]),
        ("rating", ["" if part.rating is None else f"{part.rating:g}" for part in some]),
        ("weight", ["" if part.weight is None else f"{part.weight:.3f}" for part in some]),
        ("adds", ["" if math.isnan(part.contribution) else f"{part.contribution:.3f}" for part in some]),
    ]
    filled = [(name, texts) for name, texts in columns if any(texts)]
    return [tuple(name for name, _ in filled), *zip(*(texts for _, texts in filled), strict=True)]


def _lines(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [text.ljust(width) if number == 0 else text.rjust(width) for number, (text, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return ["  ".join(row).rstrip() for row in cells]


def _html(rows: list[tuple[str, ...]]) -> str:
    header, *body = ("".join(f"<td>{html.escape(text)}</td>" for text in row) for row in rows)
    return f"<table><thead><tr>{header}</tr></thead>" + "".join(f"<tr>{row}</tr>" for row in body) + "</table>"


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], np.float64)
