"""Words for a topic: the genres and the decades that its items have more often than all items have.

Of the strongest items of a topic, a share s has the tag; of all ratings, a share t is of items that have it. Tags are
ranked by s log(s / t), which asks for both, that many have it and that it sets them apart.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRONGEST = 20
"""Items of a topic that its label goes by."""
LEAST_SHARE, LEAST_LIFT = 0.4, 1.3
SECOND = 0.6
"""A second tag is named where it is worth at least this share of the first one."""

_YEAR = re.compile(r"\((18\d|19\d|20\d)\d\)\s*$")


class Tags:
    """The tags of items, and how common each tag is among the ratings."""

    def __init__(self, tags_of: Sequence[Iterable[str]], counts: NDArray[np.integer]) -> None:
        lists = [list(dict.fromkeys(tags)) for tags in tags_of]
        self.names = sorted({tag for tags in lists for tag in tags})
        column = {tag: k for k, tag in enumerate(self.names)}
        self._has = np.zeros((len(lists), len(self.names)), dtype=bool)
        for row, tags in enumerate(lists):
            self._has[row, [column[tag] for tag in tags]] = True
        self._usual = counts @ self._has / max(counts.sum(), 1)

    def best(self, rows: NDArray[np.intp], most: int) -> list[str]:
        """Finds up to `most` tags that set these items apart, the best first."""
        if len(rows) == 0 or not self.names:
            return []
        share = self._has[rows].mean(axis=0)
        lift = np.divide(share, self._usual, out=np.zeros_like(share), where=self._usual > 0)
        worth = np.where((share >= LEAST_SHARE) & (lift >= LEAST_LIFT), share * np.log(np.maximum(lift, 1)), 0)
        order = np.argsort(-worth, kind="stable")[:most]
        return [self.names[k] for k in order if worth[k] > 0 and worth[k] >= SECOND * worth[order[0]]]


class Labels:
    """Labels of topics by the genres and the titles of items."""

    def __init__(
        self,
        ids: Sequence[Any],
        counts: NDArray[np.integer],
        titles: Mapping[Any, str],
        genres: Mapping[Any, Sequence[str]],
    ) -> None:
        self._genres = Tags([genres.get(identity, ()) for identity in ids], counts)
        self._eras = Tags([_eras(str(titles.get(identity, ""))) for identity in ids], counts)

    def label(self, rows: NDArray[np.intp]) -> str:
        """The label of a topic with these items, the strongest first; empty where nothing sets them apart."""
        strongest = rows[:STRONGEST]
        return ", ".join([*self._genres.best(strongest, 2), *self._eras.best(strongest, 1)])


def _eras(title: str) -> list[str]:
    """The spans of up to three decades around the year in brackets at the end of a title.

    >>> _eras("Alien (1979)")
    ['1970s', '1960s–1970s', '1970s–1980s', '1950s–1970s', '1960s–1980s', '1970s–1990s']
    >>> _eras("2001: A Space Odyssey")
    []
    """
    found = _YEAR.search(title)
    if found is None:
        return []
    decade = int(found.group(1)) * 10
    spans = [(decade - 10 * back, length) for length in (1, 2, 3) for back in reversed(range(length))]
    return [f"{first}s" if length == 1 else f"{first}s–{first + 10 * length - 10}s" for first, length in spans]
