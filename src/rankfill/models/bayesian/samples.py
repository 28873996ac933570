"""The samples that a model keeps: a few of all sweeps, evenly spread, each whole.

They tell how sure a prediction is, and how people who were not in training are learned about.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.models.bayesian.days import at_times, precision_at, weights_at
from rankfill.models.bayesian.sampler import Chain


@dataclass
class Samples:
    """Sample s is row s of every array; those from `count` on are empty places.

    Rows are (factors, bias). The last row of either side stands for whatever has no ratings: it is drawn from the
    prior. Users are as at the mean of their times, where times count. `weights` are those of the links of the users,
    none where there are no links; `cuts` lie between the values of ordered ratings, none where these are taken as
    numbers. All is in units of the ratings.
    """

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    weights: NDArray[np.float32]
    means: NDArray[np.float64]
    precisions: NDArray[np.float64]
    noise_precisions: NDArray[np.float64]
    cuts: NDArray[np.float64]
    count: int
    added: int
    stride: int

    @staticmethod
    def room_for(n: int, n_users: int, n_items: int, order: int, links: bool, n_cuts: int = 0) -> "Samples":
        """No sample as yet, and room for n of them."""
        return Samples(
            users=np.zeros((n, n_users + 1, order), np.float32),
            items=np.zeros((n, n_items + 1, order), np.float32),
            weights=np.zeros((n, n_items if links else 0, order), np.float32),
            means=np.zeros((n, order)),
            precisions=np.zeros((n, order, order)),
            noise_precisions=np.zeros(n),
            cuts=np.zeros((n, n_cuts)),
            count=0,
            added=0,
            stride=1,
        )

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
        prior, time = chain.users.prior, chain.mean_time()
        self.users[s] = at_times(chain.users.draw_unknown(random)[None, :], time)
        self.users[s, users] = chain.users_at_mean_times(chain.users.unknowns())
        self.items[s] = chain.items.draw_unknown(random)[None, :]
        self.items[s, items] = chain.items.unknowns()
        if self.weights.shape[1]:
            assert chain.users.links is not None  # what was rated comes first there
            self.weights[s] = 0.0
            self.weights[s, items] = weights_at(chain.users.links.weights[: len(items), : self.users.shape[2]], time)
        self.means[s] = at_times(prior.mean[None, :].astype(np.float32), time)
        self.precisions[s] = precision_at(prior.precision, time)
        self.noise_precisions[s] = chain.noise_precision
        if chain.stars is not None:
            self.cuts[s] = chain.stars.cuts
        self.count += 1

    def kept(self) -> "Samples":
        """The same without empty places."""
        kept = replace(self)
        for name in ("users", "items", "weights", "means", "precisions", "noise_precisions", "cuts"):
            setattr(kept, name, getattr(self, name)[: self.count])
        return kept

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Those with a row for each sample."""
        return self.users, self.items, self.weights, self.means, self.precisions, self.noise_precisions, self.cuts

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
