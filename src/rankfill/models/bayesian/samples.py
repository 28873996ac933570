"""The samples that a model keeps: a few of all sweeps, evenly spread, each whole.

They tell how sure a prediction is, and how people who were not in training are learned about.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.data.ratings.passing import Side
from rankfill.models.bayesian.days import at_times, precision_at, weights_at
from rankfill.models.bayesian.sampler import Chain

Block = NDArray[np.float32]


class Sizes(NamedTuple):
    """How many rows each side has, and which of them have features."""

    n_users: int
    n_items: int
    of_users: bool = False
    of_items: bool = False


class SampleSide(NamedTuple):
    """One side of all samples: its rows, and what these are drawn from."""

    rows: NDArray[np.float32]
    means: NDArray[np.float64]
    precisions: NDArray[np.float64]
    weights: NDArray[np.float32]
    parts: NDArray[np.float32]


@dataclass
class Samples:
    """Sample s is row s of every array; those from `count` on are empty places.

    Rows are (factors, bias). The last row of either side stands for whatever has no ratings: it is drawn from the
    prior. Users are as at the mean of their times, where times count. `weights` are those of the links of the users to
    the items they have rated, `item_weights` those of the items to their raters, none where there are no links; `parts`
    are what features add to the mean of each row, none where there are no features; `cuts` lie between the values of
    ordered ratings, none where these are taken as numbers. The noise holds moods, where there are some. All is in units
    of the ratings.
    """

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    weights: NDArray[np.float32]
    means: NDArray[np.float64]
    precisions: NDArray[np.float64]
    item_weights: NDArray[np.float32]
    item_means: NDArray[np.float64]
    item_precisions: NDArray[np.float64]
    user_parts: NDArray[np.float32]
    item_parts: NDArray[np.float32]
    noise_precisions: NDArray[np.float64]
    cuts: NDArray[np.float64]
    count: int
    added: int
    stride: int

    @staticmethod
    def room_for(n: int, sizes: Sizes, order: int, links: bool, n_cuts: int = 0) -> "Samples":
        """No sample as yet, and room for n of them."""
        n_users, n_items = sizes.n_users, sizes.n_items
        return Samples(
            users=np.zeros((n, n_users + 1, order), np.float32),
            items=np.zeros((n, n_items + 1, order), np.float32),
            weights=np.zeros((n, n_items if links else 0, order), np.float32),
            means=np.zeros((n, order)),
            precisions=np.zeros((n, order, order)),
            item_weights=np.zeros((n, n_users if links else 0, order), np.float32),
            item_means=np.zeros((n, order)),
            item_precisions=np.zeros((n, order, order)),
            user_parts=np.zeros((n, n_users if sizes.of_users else 0, order), np.float32),
            item_parts=np.zeros((n, n_items if sizes.of_items else 0, order), np.float32),
            noise_precisions=np.zeros(n),
            cuts=np.zeros((n, n_cuts)),
            count=0,
            added=0,
            stride=1,
        )

    def side(self, name: Side) -> SampleSide:
        """The users or the items."""
        if name == "user":
            return SampleSide(self.users, self.means, self.precisions, self.weights, self.user_parts)
        return SampleSide(self.items, self.item_means, self.item_precisions, self.item_weights, self.item_parts)

    def start_over(self) -> None:
        self.count, self.added, self.stride = 0, 0, 1

    def add(self, chain: Chain, rated: tuple[NDArray[np.intp], NDArray[np.intp]], random: np.random.Generator) -> None:
        """Keeps every sample as long as there is room, then every second, every fourth and so on.

        `rated` are the row numbers here of the users and of the items of the chain.
        """
        self.added += 1
        if self.added % self.stride:
            return
        if self.count == len(self.means):
            self.stride *= 2
            self.count //= 2
            for array in self.arrays():
                array[: self.count] = array[1 : 2 * self.count : 2]
            if self.added % self.stride:
                return
        s, (users, items) = self.count, rated
        time = chain.mean_time()
        self.users[s] = at_times(chain.users.draw_unknown(random)[None, :], time)
        self.users[s, users] = chain.users_at_mean_times(chain.users.unknowns())
        self.items[s] = chain.items.draw_unknown(random)[None, :]
        self.items[s, items] = chain.items.unknowns()
        self._add_links(chain, rated, time)
        self.means[s] = at_times(chain.users.prior.mean[None, :].astype(np.float32), time)
        self.precisions[s] = precision_at(chain.users.prior.precision, time)
        self.item_means[s], self.item_precisions[s] = chain.items.prior.mean, chain.items.prior.precision
        self.noise_precisions[s] = chain.untimed_precision
        if chain.stars is not None:
            self.cuts[s] = chain.stars.cuts
        self.count += 1

    def _add_links(self, chain: Chain, rated: tuple[NDArray[np.intp], NDArray[np.intp]], time: Block) -> None:
        s, (users, items) = self.count, rated
        order, linked = self.users.shape[2], self.weights.shape[1] > 0
        for links, weights, columns, parts, rows, at in (
            (chain.users.links, self.weights, items, self.user_parts, users, time),
            (chain.items.links, self.item_weights, users, self.item_parts, items, 0 * time),
        ):
            n_rated = len(columns) if linked else 0  # what was rated comes first there
            if linked and links is not None:
                weights[s] = 0.0
                weights[s, columns] = weights_at(links.weights[:n_rated, :order], at)
            if parts.shape[1] and links is not None:
                parts[s] = 0.0
                parts[s, rows] = weights_at(links.means(n_rated)[:, :order], at)

    def compact(self) -> "Samples":
        """The same without empty places."""
        found: dict[str, Any] = {name: getattr(self, name)[: self.count] for name in _ARRAYS}
        return replace(self, **found)

    def grow(self, n_users: int, n_items: int) -> "Samples":
        """The same with rows for so many users and items; new ones are at the mean that rows are drawn around."""
        found: dict[str, Any] = {}
        for name, n, means in (("users", n_users, self.means), ("items", n_items, self.item_means)):
            rows = getattr(self, name)
            more = n + 1 - rows.shape[1]
            new = np.repeat(means[:, None, :].astype(np.float32), max(more, 0), axis=1)
            found[name] = np.concatenate([rows[:, :-1], new, rows[:, -1:]], axis=1) if more > 0 else rows
        return replace(self, **found)

    def of_users(self, rows: list[int] | NDArray[np.intp]) -> "Samples":
        """The same with these users alone, and whoever has no ratings."""
        found: dict[str, Any] = {"users": self.users[:, [*rows, self.users.shape[1] - 1]]}
        for name in ("item_weights", "user_parts"):
            array = getattr(self, name)
            found[name] = array[:, [row for row in rows if row < array.shape[1]]]
        return replace(self, **found)

    def check(self, n_cuts: int) -> None:
        """Raises where arrays read from a file do not belong together."""
        n, order = self.count, self.users.shape[-1]
        n_users, n_items = (array.shape[-2] - 1 for array in (self.users, self.items))
        links = (self.weights.shape[1], self.item_weights.shape[1]) if self.weights.ndim == 3 else (-1, -1)
        parts = (self.user_parts.shape[1], self.item_parts.shape[1]) if self.user_parts.ndim == 3 else (-1, -1)
        wanted: list[tuple[int, ...]] = [(n, n_users + 1, order), (n, n_items + 1, order)]
        for n_linked in links:
            wanted += [(n, n_linked, order), (n, order), (n, order, order)]
        wanted += [*((n, each, order) for each in parts), (n,), (n, n_cuts)]
        shapes = [array.shape for array in self.arrays()]
        whole = 0 <= links[0] <= n_items and 0 <= links[1] <= n_users and 0 <= parts[0] <= n_users
        if shapes != wanted or n < 1 or order < 2 or not whole or not 0 <= parts[1] <= n_items:
            raise ValueError(f"samples have the shapes {shapes}, which do not belong together")
        if not (self.noise_precisions > 0).all():
            raise ValueError("samples.noise_precisions holds numbers that are not positive")

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Those with a row for each sample."""
        return tuple(getattr(self, name) for name in _ARRAYS)

    def spread(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """The variance of the predictions of the samples for pairs of row numbers, −1 for what has no ratings."""
        total, squares = np.zeros(len(users)), np.zeros(len(users))
        for predicted in self.predictions(users, items):
            total += predicted
            squares += predicted**2
        mean = total / self.count
        return np.maximum(squares / self.count - mean**2, 0.0)

    def predictions(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> Iterator[NDArray[np.float64]]:
        """The predictions of one sample after the other for such pairs."""
        order = self.users.shape[2]
        users = np.where(users < self.users.shape[1], users, -1)  # known by their features alone
        items = np.where(items < self.items.shape[1], items, -1)
        for s in range(self.count):
            left, right = self.users[s][users], self.items[s][items]
            predicted = np.einsum("ij,ij->i", left[:, : order - 1], right[:, : order - 1], dtype=np.float64)
            predicted += left[:, order - 1]
            predicted += right[:, order - 1]
            yield predicted


_ARRAYS = tuple(field.name for field in fields(Samples) if field.name not in ("count", "added", "stride"))
