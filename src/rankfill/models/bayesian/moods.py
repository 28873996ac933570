"""How generous a user is at a moment: what people give goes up and down with the hour and the page they are on.

    r_ui ~ N(prediction + m_u(t), 1/α),   m_u ~ Ornstein–Uhlenbeck: mean 0, Cov(m_u(s), m_u(t)) = v exp(−|t − s| / l)

with t the second of the rating, log v ~ N(log 0.1, 2²) and log l ~ N(log 3600, 3²) in seconds. Moods at the moments at
which a user has rated are a Markov chain, so that the precision Q of all moods is tridiagonal: with a_k = exp(−(t_k −
t_{k−1}) / l) and v_k = v (1 − a_k²), or v at a user's first moment,

    Q_kk = 1/v_k + a_{k+1}²/v_{k+1},   Q_{k,k−1} = −a_k/v_k,   moods | ratings ~ N(A⁻¹ c, A⁻¹),  A = Q + α diag(counts)

where c_k is α times the sum of what the ratings of the moment leave over. (log v, log l) are drawn first, moods
integrated out, by Metropolis steps of random length; then all moods at once, by one factorisation A = L D Lᵀ.

At any other time a mood is what the chain says between its two neighbours; long before and after it is 0.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rankfill.kernels import Rows

Numbers = NDArray[np.float64]

USUAL = np.log([0.1, 3600.0])
"""Where v and l are expected before any rating, as logarithms."""
WIDTHS = np.array([2.0, 3.0])
_STARTS_AT = np.log([0.02, 600.0])
_TRIES = 6
_LONGEST_STEP = 0.5


class _Solution(NamedTuple):
    """A⁻¹ c, the two diagonals of the factors of A, and the logarithm of the density of (v, l), up to a constant."""

    moods: Numbers
    diagonal: Numbers
    below: Numbers
    log_density: float


class Moods:
    """The moods at all moments at which somebody has rated, user by user and in the order of time.

    Attributes: `users`, `moments` and `counts` are the row number, the second and the number of ratings of each moment;
    `now` the moods as they were drawn last, `expected` their expectation then; `logs` are log v and log l.
    """

    def __init__(self, by_user: Rows, timestamps: NDArray[np.int64]) -> None:
        """`timestamps` are of entries by user."""
        users = by_user.row_of_entry()
        order = np.lexsort((timestamps, users))
        sorted_users, sorted_times = users[order], timestamps[order]
        fresh = (np.diff(sorted_users, prepend=-1) != 0) | (sorted_times != np.roll(sorted_times, 1))
        self._of_entry = np.empty(len(users), np.intp)
        self._of_entry[order] = np.cumsum(fresh) - 1
        self.users, self.moments = sorted_users[fresh], sorted_times[fresh]
        self.counts = np.bincount(self._of_entry).astype(np.float64)
        first = np.diff(self.users, prepend=-1) != 0
        # Seconds that single precision of time cannot tell apart are at least one second apart all the same.
        gaps = np.maximum(np.diff(self.moments.astype(np.float64)), 1.0)
        self._gaps = np.where(first[1:], np.inf, gaps)
        self._n_users = by_user.n_rows
        self.logs = _STARTS_AT.copy()
        self.now, self.expected = np.zeros(len(self.users)), np.zeros(len(self.users))

    def draw(self, left: Numbers, noise_precision: float, random: np.random.Generator) -> None:
        """Draws v, l and all moods, given how far ratings, by user, are above the rest of their predictions."""
        sums = np.bincount(self._of_entry, noise_precision * left, len(self.now)).astype(np.float64)
        found = self._solve(self.logs, sums, noise_precision)
        shortest = 1.0 / math.sqrt(len(self.now) + 4)
        for _ in range(_TRIES):
            step = math.exp(random.uniform(math.log(shortest), math.log(_LONGEST_STEP)))
            logs = self.logs + step * random.standard_normal(2)
            tried = self._solve(logs, sums, noise_precision)
            if math.log(random.random()) < tried.log_density - found.log_density:
                self.logs[:], found = logs, tried
        # L √D z has the covariance A, so that A⁻¹ L √D z has A⁻¹.
        normals = np.sqrt(found.diagonal) * random.standard_normal(len(self.now))
        normals[1:] += found.below * normals[:-1]
        self.expected[:] = found.moods
        self.now[:] = found.moods + _solve_factors(found.diagonal, found.below, normals)

    def of_ratings(self) -> Numbers:
        """The mood of every rating, in the order by user."""
        found: Numbers = self.now[self._of_entry]
        return found

    def of_users(self, moods: Numbers | None = None) -> Numbers:
        """The mean mood of each user over the ratings; other numbers may stand for the moods."""
        chosen = self.now if moods is None else moods
        totals = np.bincount(self.users, chosen * self.counts, self._n_users)
        return totals / np.maximum(np.bincount(self.users, self.counts, self._n_users), 1.0)

    def above_mean(self, moods: Numbers) -> Numbers:
        """Such numbers less their mean over the ratings of the same user."""
        found: Numbers = moods - self.of_users(moods)[self.users]
        return found

    @property
    def variance(self) -> float:
        """v, the variance of a mood at a time of which nothing is known."""
        return math.exp(self.logs[0])

    def precision(self, logs: Numbers) -> tuple[Numbers, Numbers, float]:
        """Both diagonals of Q, and the logarithm of its determinant."""
        variance, memory = np.exp(logs)
        kept = np.exp(-self._gaps / memory)
        own = -variance * np.expm1(-2.0 * self._gaps / memory)
        diagonal = np.concatenate([[1.0 / variance], 1.0 / own])
        diagonal[:-1] += kept * kept / own
        return diagonal, -kept / own, -math.log(variance) - float(np.log(own).sum())

    def _solve(self, logs: Numbers, sums: Numbers, noise_precision: float) -> _Solution:
        diagonal, below, log_determinant = self.precision(logs)
        diagonal += noise_precision * self.counts
        if len(diagonal) > 1:
            diagonal, below, _ = scipy.linalg.lapack.dpttrf(diagonal, below)
        moods = _solve_factors(diagonal, below, sums)
        log_density = 0.5 * (log_determinant - float(np.log(diagonal).sum()) + float(sums @ moods))
        log_density -= 0.5 * float(np.sum(((logs - USUAL) / WIDTHS) ** 2))
        return _Solution(moods, diagonal, below, log_density)


def _solve_factors(diagonal: Numbers, below: Numbers, sides: Numbers) -> Numbers:
    """A⁻¹ times the sides, from both diagonals of the factors."""
    if len(diagonal) == 1:
        return sides / diagonal
    found: Numbers = scipy.linalg.lapack.dpttrs(diagonal, below, sides)[0]
    return found


class MeanMoods:
    """The means over sweeps of moods, of v, of log l, of v / (v + 1/α), and of the squares of moods less their mean of
    the same user.

    What all moods of a user share cannot be told from the user's bias, so that it is not what a mood is unsure of.
    """

    def __init__(self, n_moments: int) -> None:
        self.means, self.squares, self.sizes = np.zeros(n_moments), np.zeros(n_moments), np.zeros(3)

    def add(self, moods: Moods, noise_precision: float, count: int) -> None:
        """Takes in one more sweep, which is the `count`-th."""
        self.means += (moods.expected - self.means) / count
        self.squares += (moods.above_mean(moods.now) ** 2 - self.squares) / count
        share = moods.variance / (moods.variance + 1.0 / noise_precision)
        self.sizes += (np.array([moods.variance, moods.logs[1], share]) - self.sizes) / count


class At(NamedTuple):
    """What times tell of ratings: what they add to predictions, and which share of the variance of the noise they take
    away."""

    means: Numbers
    narrower: Numbers


@dataclass
class KnownMoods:
    """Moods in units of ratings: those of row u are from indptr[u] to indptr[u + 1], by ascending seconds.

    `unsure` is what their variances are as a share of v, `share` that of v in the noise of a rating at any time, and
    `memory` the time in which what is known fades, in seconds.
    """

    indptr: NDArray[np.int64]
    moments: NDArray[np.int64]
    means: NDArray[np.float32]
    unsure: NDArray[np.float32]
    share: float
    memory: float

    @staticmethod
    def of(moods: Moods, mean: MeanMoods, rated: NDArray[np.intp], n_users: int, scale: float) -> "KnownMoods":
        """`rated` are the row numbers here of the users of the chain, `scale` the unit of what was drawn."""
        counts = np.zeros(n_users, np.int64)
        counts[rated] = np.bincount(moods.users, minlength=len(rated))
        variance, log_memory, share = mean.sizes.tolist()
        unsure = ((mean.squares - moods.above_mean(mean.means) ** 2) / variance).clip(0.0, 1.0)
        indptr, means = np.concatenate([[0], np.cumsum(counts)]), scale * mean.means
        return KnownMoods(
            indptr, moods.moments, means.astype(np.float32), unsure.astype(np.float32), share, math.exp(log_memory)
        )

    def at(self, users: NDArray[np.int32], timestamps: NDArray[np.int64]) -> At:
        """The moods of row numbers at those times; of nobody, −1, nothing is known."""
        last = len(self.indptr) - 1
        nobody = (users < 0) | (users >= last)
        begin, end = (self.indptr[np.where(nobody, last, users + more).clip(0, last)] for more in (0, 1))
        after = self._first_not_before(begin, end, timestamps)
        before = after - 1
        gaps = [
            np.where(known, np.abs(timestamps - self._take(self.moments, place)), np.inf)
            for known, place in ((begin <= before, before), (after < end, after))
        ]
        # Between two neighbours a mood is a weighted sum of theirs: sinh of the way to the other one over sinh of both.
        left_over = -np.expm1(-2.0 * (gaps[0] + gaps[1]) / self.memory)
        means, deviations, told = np.zeros(len(users)), np.zeros(len(users)), np.zeros(len(users))
        for own, other, place in zip(gaps, reversed(gaps), (before, after), strict=True):
            kept = np.exp(-own / self.memory)
            weights = np.full(len(users), 0.5)
            np.divide(-kept * np.expm1(-2.0 * other / self.memory), left_over, out=weights, where=left_over > 0)
            means += weights * self._take(self.means, place)
            deviations += weights * np.sqrt(self._take(self.unsure, place))
            told += weights * kept
        # Neighbours go up and down together, so that their deviations add up.
        return At(means, self.share * (told - deviations**2).clip(0.0, 1.0))

    def _take(self, array: NDArray[np.generic], places: NDArray[np.int64]) -> Numbers:
        if len(array) == 0:
            return np.zeros(len(places))
        found: Numbers = array[places.clip(0, len(array) - 1)].astype(np.float64)
        return found

    def _first_not_before(
        self, begin: NDArray[np.int64], end: NDArray[np.int64], timestamps: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """In each part from begin to end the first place whose moment is not before a time, by halving."""
        low, high = begin.copy(), end.copy()
        while (unsure := low < high).any():
            middle = (low + high) // 2
            earlier = unsure & (self._take(self.moments, middle) < timestamps)
            low, high = np.where(earlier, middle + 1, low), np.where(unsure & ~earlier, middle, high)
        return low

    def of_rows(self, rows: list[int]) -> "KnownMoods":
        """Those of some rows, in this order."""
        parts = [np.arange(self.indptr[row], self.indptr[row + 1]) for row in rows]
        places = np.concatenate([np.empty(0, np.int64), *parts])
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        arrays = {name: getattr(self, name)[places] for name in ("moments", "means", "unsure")}
        return replace(self, indptr=indptr, **arrays)

    def check(self, n_users: int) -> None:
        """Raises where arrays read from a file do not belong together."""
        lengths = {len(self.moments), len(self.means), len(self.unsure)}
        whole = self.indptr.shape == (n_users + 1,) and self.indptr[0] == 0 and {int(self.indptr[-1])} == lengths
        if not whole or (np.diff(self.indptr) < 0).any() or not ((self.unsure >= 0) & (self.unsure <= 1)).all():
            raise ValueError(f"moods are not those of {n_users} users")
        if not (0 <= self.share < 1 and self.memory > 0):
            raise ValueError(f"moods are {self.share} of the noise and fade in {self.memory} seconds, which cannot be")
