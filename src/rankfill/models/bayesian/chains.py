"""Several chains side by side, and what is made of them sweep by sweep: means, samples, traces."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.models.bayesian.averages import MeanProduct
from rankfill.models.bayesian.days import Timed
from rankfill.models.bayesian.moods import KnownMoods, MeanMoods
from rankfill.models.bayesian.sampler import Chain
from rankfill.models.bayesian.samples import Samples
from rankfill.models.bayesian.stopping import Stopping

Arrays = dict[str, NDArray[Any]]
_EVERY = 7
Numbers = tuple[NDArray[np.intp], NDArray[np.intp]]


class Chains:
    """Chains of the same ratings with other random numbers; `rated` are the users and items that have ratings.

    `scale` is the unit in which traces are told.
    """

    def __init__(self, chains: list[Chain], samples: Samples, rated: Numbers, most_sweeps: int, scale: float) -> None:
        rank = chains[0].users.rank
        self.each = chains
        self.samples = samples
        self.rated = rated
        self.mean = MeanProduct.none(len(rated[0]), len(rated[1]), 2 * rank)
        self.timed, self.moods = self._no_times()
        self.traces = np.zeros((len(chains), most_sweeps, 2))
        self.stopping = Stopping(chains[0].users.ratings)
        self._scale = scale

    def sweep(self, number: int, burn_in: int) -> None:
        """Draws everything once in every chain. One chain after the other gives a sample to keep, by chance."""
        if number <= burn_in + 1:
            self.mean = MeanProduct.none(len(self.rated[0]), len(self.rated[1]), self.mean.users.shape[1])
            self.timed, self.moods = self._no_times()
            self.samples.start_over()
        for chain, trace in zip(self.each, self.traces, strict=True):
            chain.sweep()
            means, items = chain.users.unknowns(chain.user_means), chain.items.unknowns()
            self.mean.add(chain.users_at_mean_times(means), items)
            if chain.days is not None and self.timed is not None:
                both = np.vstack([means, items])
                both[:, -1] = 0.0
                self.timed.add(both, chain.days.side.unknowns())
            if chain.moods is not None and self.moods is not None:
                self.moods.add(chain.moods, chain.noise_precision, self.mean.count)
            trace[number - 1] = self._scale * chain.error, self._scale * chain.noise_precision**-0.5
        random = self.each[0].random(number, 1)
        self.samples.add(self.each[int(random.integers(len(self.each)))], self.rated, random)

    def _no_times(self) -> tuple[MeanProduct | None, MeanMoods | None]:
        """The means of nothing as yet: of users and items, all in one block, times days; and of moods."""
        days, moods, (users, items) = self.each[0].days, self.each[0].moods, self.rated
        if days is None or moods is None:
            return None, None
        product = MeanProduct.none(len(users) + len(items), len(days.side.rows), 2 * days.side.rank)
        return product, MeanMoods(len(moods.now))

    def enough(self, number: int) -> bool:
        """Whether more sweeps would not help."""
        precision = float(np.mean([chain.noise_precision for chain in self.each]))
        return self.stopping.reached(number, self.mean, precision)

    def times(self, dates: NDArray[np.int64], n_users: int, n_items: int) -> Timed:
        """What the time of a rating changes, in the mean of what was sampled up to now and in units of the ratings.

        `dates` are those of the days.
        """
        days, timed, root = self.each[0].days, self.timed, math.sqrt(self._scale)
        moods, mean = self.each[0].moods, self.moods
        assert days is not None
        assert timed is not None
        assert moods is not None
        assert mean is not None
        rows = np.column_stack([root * timed.items, self._scale * timed.item_biases]).astype(np.float32)
        sides = []
        split = np.split(root * timed.users, [len(self.rated[0])])
        for own, numbers, n in zip(split, self.rated, (n_users, n_items), strict=True):
            whole = np.tile(own.mean(axis=0), (n + 1, 1)).astype(np.float32)
            whole[numbers] = own
            sides.append(whole)
        times = np.repeat(days.of_all(rows), n_users + 1, axis=0)
        times[self.rated[0]] = days.of_users(rows)
        times[self.rated[0], -1] += (self._scale * moods.of_users(mean.means)).astype(np.float32)
        known = KnownMoods.of(moods, mean, self.rated[0], n_users, self._scale)
        return Timed(dates, sides[0], sides[1], rows, times, known)

    def some_pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Row numbers of users and items for some of the pairs that are watched."""
        found = (numbers[pairs[::_EVERY]] for numbers, pairs in zip(self.rated, self.stopping.pairs, strict=True))
        users, items = (each.astype(np.int32) for each in found)
        return users, items

    @property
    def error(self) -> float:
        """The root mean square of the errors on the ratings, over all chains."""
        squares = [chain.error**2 for chain in self.each]
        return math.sqrt(sum(squares) / len(squares))

    def state(self) -> Arrays:
        """All that the next sweep depends on, by name; shapes stay the same."""
        mean, samples = self.mean, self.samples
        found: Arrays = {
            f"chain{k}.{name}": array for k, chain in enumerate(self.each) for name, array in chain.state()
        }
        found |= {f"mean.{name}": getattr(mean, name) for name in ("users", "items", "user_biases", "item_biases")}
        if self.timed is not None:
            found |= {f"timed.{name}": getattr(self.timed, name) for name in ("users", "items", "item_biases")}
        if self.moods is not None:
            found |= {f"moods.{name}": getattr(self.moods, name) for name in ("means", "squares", "sizes")}
        found |= {f"samples.{k}": array for k, array in enumerate(samples.arrays())}
        found["stopping"] = self.stopping.found
        found["numbers"] = np.array([mean.count, mean.lost, samples.count, samples.added, samples.stride])
        return found

    def go_on_from(self, state: Arrays, number: int) -> None:
        """Takes over what `state` was after so many sweeps."""
        for name, array in self.state().items():
            array[...] = state[name]
        count, self.mean.lost, *of_samples = state["numbers"].tolist()
        self.mean.count = int(count)
        if self.timed is not None:
            self.timed.count = int(count)
        self.samples.count, self.samples.added, self.samples.stride = (int(each) for each in of_samples)
        for k, chain in enumerate(self.each):
            chain.go_on_from({name: state[f"chain{k}.{name}"] for name, _ in chain.state()}, number)
