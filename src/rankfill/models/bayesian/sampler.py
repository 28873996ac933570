"""One chain of Gibbs sampling: every part of the model drawn in turn, given all others.

    r_ui ~ N(b_u + b_i + p_u·q_i, 1/α),  α ~ Gamma(1, 1),  rows (p_u, b_u) and (q_i, b_i) from `priors.py` and
    `links.py`, and what `days.py` and `moods.py` add where times count

with ratings less their mean, in units of their standard deviation. A sweep draws mean, precision and links of the
items, then all items; the same for the days, if any, and for the users; then moods, if any, and α. It begins with the
size of all biases (`scales.py`). The means of the users given all else come out on the way: their product with the
items has the same expectation as that of the users drawn, and less noise (Rao and Blackwell).

Random numbers depend on the seed, the chain, the sweep, the side and the row alone. A chain starts from a few passes of
alternating least squares.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Ridge, Rows, solve_rows, sparse_entries
from rankfill.linalg.tall import tall_gram
from rankfill.models.base.starts import random_rows
from rankfill.models.bayesian.days import Days, at_times
from rankfill.models.bayesian.links import Block, Links, rated_block
from rankfill.models.bayesian.moods import Moods
from rankfill.models.bayesian.sides import Side
from rankfill.models.bayesian.stars import Stars
from rankfill.objectives.penalties import norm_of_noise

_START_PASSES = 6
_MOST_PRECISE = 1e6
"""The largest α: single precision cannot tell smaller errors from none."""
_AT_ONCE = 2**18
_LEFT = np.array([-1.0, -1.0, -1.0, 1.0])
"""An error is the rating less what factors, user and item add to its prediction."""


class Chain:
    """Users, items and the precision of the noise, as the last sweep left them; ratings have mean 0 and variance 1."""

    def __init__(
        self,
        ratings: Rows,
        n_items: int,
        rank: int,
        links: bool,
        seed: int,
        number: int,
        features: tuple[list[Block], list[Block]] = ([], []),
        ordered: bool = False,
        days: NDArray[np.int32] | None = None,
        timestamps: NDArray[np.int64] | None = None,
    ) -> None:
        """`features` are those of the users and of the items, beside what was rated where there are `links` to that.

        With `ordered`, ratings are what is seen of a number with noise; see `stars.py`. `days` are
        the numbers of the days of the ratings; with `timestamps`, in seconds, users have moods.
        """
        by_item = ratings.transposed(n_items)
        rated = ([rated_block(ratings, n_items)], [rated_block(by_item, ratings.n_rows)]) if links else ([], [])
        of_users, of_items = (
            Links(blocks, rank + 1) if (blocks := [*own, *more]) else None
            for own, more in zip(rated, features, strict=True)
        )
        self.users = Side(ratings, rank, rank, of_users)
        self.items = Side(by_item, rank, rank + 1, of_items)
        self.user_means = self.users.rows.copy()
        self.sweeps = 0
        self._seed, self._number = seed, number
        self._n_ratings, self._user_of_entry = len(ratings.values), ratings.row_of_entry()
        self._by_item = np.argsort(ratings.indices, kind="stable")
        self.days = None if days is None else Days(ratings, by_item, self._by_item, rank, days)
        self.moods = None if timestamps is None else Moods(ratings, timestamps)
        self._values = ratings.values
        self.stars: Stars | None = None
        self._start(rank)
        self._draw_noise(self.random(0))
        if ordered:
            self.stars = Stars(ratings.values)
            self.see(self.random(0, 2))

    def sweep(self) -> None:
        """Draws everything once."""
        self.sweeps += 1
        random = self.random(self.sweeps)
        keys = random.integers(2**62, size=2)
        self._rescale(random)
        precision, days = self.noise_precision, self.days
        self.items.draw_prior(random, int(keys[0]) + 1)
        self.items.draw(self.users, precision, int(keys[0]), third=None if days is None else days.beside_items())
        if days is not None:
            days.draw(self.users, self.items, precision, random, int(random.integers(2**62)))
        self.users.draw_prior(random, int(keys[1]) + 1)
        third = None if days is None else days.beside_users()
        self.users.draw(self.items, precision, int(keys[1]), self.user_means, third)
        if self.moods is not None:
            self._draw_moods(random)
        self._draw_noise(random)

    def state(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """All that the next sweep depends on beside its number."""
        yield "noise_precision", np.array(self.noise_precision)
        sides = {"users": self.users, "items": self.items} | ({} if self.days is None else {"days": self.days.side})
        for name, side in sides.items():
            yield name, side.rows
            yield f"{name}.mean", side.prior.mean
            yield f"{name}.precision", side.prior.precision
            if side.links is not None:
                yield f"{name}.weights", side.links.weights
                yield f"{name}.strengths", side.links.strengths
        if self.moods is not None:
            yield "moods", self.moods.now
            yield "moods.logs", self.moods.logs
        if self.stars is not None:
            yield "latents", self._values
            yield "cuts", self.stars.cuts

    def go_on_from(self, state: dict[str, NDArray[Any]], sweeps: int) -> None:
        """As if so many sweeps were behind it; the arrays are those of `state` already."""
        self.sweeps, self.noise_precision = sweeps, float(state["noise_precision"])
        if self.stars is None:
            self.observe(self._values)
            self.error = (self._measure() / self._n_ratings) ** 0.5
        else:
            self.stars.cuts, self.stars.precision = state["cuts"].copy(), self.noise_precision
            self.observe(state["latents"].copy())

    def random(self, sweep: int, purpose: int = 0) -> np.random.Generator:
        """The random numbers of one sweep, others for every purpose."""
        words = np.random.SeedSequence([self._seed, self._number, sweep, purpose]).generate_state(2, np.uint64)
        return np.random.Generator(np.random.Philox(key=words))

    def _ridge(self) -> Ridge:
        """A penalty as large as the norm of noise of the size of the errors."""
        norm = norm_of_noise(self._n_ratings, len(self.users.rows), len(self.items.rows))
        return Ridge(rank=self.users.rank, penalty=norm * self.error, bias_penalty=5.0)

    def _start(self, rank: int) -> None:
        """Alternating least squares from small random items."""
        self.error = 1.0
        numbers = random_rows(0, len(self.items.rows), rank, self._seed + self._number)
        self.items.rows[:, :rank] = (numbers - 0.5) / np.sqrt(rank)
        for _ in range(_START_PASSES):
            ridge = self._ridge()
            solve_rows(self.users.ratings, self.users.rows, self.items.rows, ridge.of_users())
            solve_rows(self.items.ratings, self.items.rows, self.users.rows, ridge.of_items())
            self.error = (self._measure() / self._n_ratings) ** 0.5

    def observe(self, values: NDArray[np.float32]) -> None:
        """Takes other ratings of the same pairs, in the order by user; rows explain what moods leave of them."""
        self._values = values
        if self.moods is not None:
            values = (values - self.moods.of_ratings()).astype(np.float32)
        self.users.ratings = self.users.ratings._replace(values=values)
        self.items.ratings = self.items.ratings._replace(values=values[self._by_item])
        if self.days is not None:
            self.days.observe(values)
        self._measure()

    def _measure(self) -> float:
        """The sum of the squares of the errors; keeps the Gram matrix of ratings and what adds up to predictions."""
        rank, ratings = self.users.rank, self.users.ratings
        factors = (np.ascontiguousarray(side.rows[:, :rank]) for side in (self.users, self.items))
        products = sparse_entries(ratings, *factors)
        if self.days is not None:
            products += self.days.contributions(self.users.rows, self.items.rows)
        self._gram = np.zeros((4, 4))
        for first in range(0, self._n_ratings, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            users = self.users.rows[self._user_of_entry[some], self.users.bias_column]
            items = self.items.rows[ratings.indices[some], self.items.bias_column]
            parts = np.column_stack([products[some], users, items, ratings.values[some]]).astype(np.float64)
            self._gram += tall_gram(parts, parts)
        return max(float(_LEFT @ self._gram @ _LEFT), 0.0)

    def _rescale(self, random: np.random.Generator) -> None:
        """The size of the biases of either side, by the Gram matrix of what each part adds to predictions."""
        signs = _LEFT.copy()
        for part, side in ((1, self.users), (2, self.items)):
            square = self._gram[part, part]
            product = float(self._gram[part] @ signs) + square
            signs[part] *= side.rescale_biases(self.noise_precision * square, self.noise_precision * product, random)

    def see(self, random: np.random.Generator) -> None:
        """Draws cut points, the precision of the noise and the numbers that stars are seen of."""
        assert self.stars is not None
        predicted = self._predict()
        if self.moods is not None:
            predicted += self.moods.of_ratings()
        self.observe(self.stars.draw(predicted, random))
        self.error, self.noise_precision = self.stars.error, self.stars.precision

    def _predict(self) -> NDArray[np.float64]:
        """The prediction of every rating, in the order by user, without moods."""
        predicted = sparse_entries(self.users.ratings, self.users.rows, self.items.rows).astype(np.float64)
        if self.days is not None:
            predicted += self.days.contributions(self.users.rows, self.items.rows)
        return predicted

    def _draw_moods(self, random: np.random.Generator) -> None:
        assert self.moods is not None
        self.moods.draw(self._values - self._predict(), self.noise_precision, random)
        self.observe(self._values)

    def users_at_mean_times(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows (factors, bias) of all users as they are at the mean of their times."""
        if self.days is None:
            return rows
        times = self.days.of_users()
        if self.moods is not None:
            times[:, self.users.rank] += self.moods.of_users().astype(np.float32)
        return at_times(rows, times)

    def mean_time(self) -> NDArray[np.float32]:
        """The mean row of days over all ratings, alone in a block; zeros without days."""
        return np.zeros((1, self.users.rank + 1), np.float32) if self.days is None else self.days.of_all()

    @property
    def untimed_precision(self) -> float:
        """The precision of a rating around its prediction at a time of which nothing is known."""
        more = 0.0 if self.moods is None else self.moods.variance
        return 1.0 / (1.0 / self.noise_precision + more)

    @property
    def loss(self) -> float:
        """The negative logarithm of the likelihood, the mean over the ratings."""
        if self.stars is not None:
            return self.stars.loss
        precision = float(self.noise_precision)
        return 0.5 * precision * float(self.error) ** 2 - 0.5 * math.log(precision / (2 * math.pi))

    def _draw_noise(self, random: np.random.Generator) -> None:
        """α given the errors, or what stars are seen of; `error` is the root mean square of the errors."""
        if self.stars is not None:
            self.see(random)
            return
        squares = self._measure()
        self.error = (squares / self._n_ratings) ** 0.5
        drawn = random.gamma(1.0 + self._n_ratings / 2) / (1.0 + squares / 2)
        self.noise_precision = min(drawn, _MOST_PRECISE)
