"""Answers with error bars, from the spread of the samples that are kept and the noise of a single rating."""

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from rankfill.data import Ratings
from rankfill.data.checks import whole_seconds
from rankfill.models.bayesian.days import Timed
from rankfill.models.bayesian.diagnostics import Diagnosis, diagnosis
from rankfill.models.bayesian.exploring import Exploring
from rankfill.models.bayesian.moods import At

TRACES = ("rmse", "noise")
"""What is watched of every chain, sweep by sweep."""


_Asked = tuple[tuple[NDArray[np.int32], NDArray[np.int32]], At, tuple[int, ...]]


class Uncertain(Exploring):
    """Adds to a model of samples how far off a prediction may be, and whether its chains agree."""

    burn_in: int
    traces_: NDArray[np.float64]
    _timed: Timed | None

    @overload
    def predict(
        self,
        users: ArrayLike,
        items: ArrayLike,
        return_std: Literal[False] = False,
        *,
        timestamps: ArrayLike | None = None,
    ) -> NDArray[np.float32]: ...
    @overload
    def predict(
        self, users: ArrayLike, items: ArrayLike, return_std: bool, *, timestamps: ArrayLike | None = None
    ) -> NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.float32]]: ...

    def predict(
        self,
        users: ArrayLike,
        items: ArrayLike,
        return_std: bool = False,
        *,
        timestamps: ArrayLike | None = None,
    ) -> NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Predicts the rating of each pair of ids and, on request, how far off the rating may be.

        Parameters
        ----------
        users, items : array-like of ids
            As many of one as of the other; a single user goes with many items and the reverse.
        return_std : bool, default=False
            Whether to return the standard deviation of the ratings too: that of the noise of a single rating and of
            what is not known about user and item, together.
        timestamps : array-like, optional
            When each pair is to be rated, seconds since 1970 or dates, one for each pair or one for all, for a model
            with `time=True`; of a day without ratings in training the nearest that has some counts. By default the mean
            of the times at which the user has rated.

        Returns
        -------
        ndarray of float32, or two of them
            Predictions within the range of the ratings learned, unless the model has `clip=False`; standard deviations.
        """
        view = self._view()
        if timestamps is None:
            predicted = super().predict(users, items)
        else:
            rows, at, shape = view._asked(users, items, timestamps)
            predicted = view._clip(view._score_at(*rows, at)).reshape(shape)
        return (predicted, view._std(users, items, timestamps)) if return_std else predicted

    def _asked(self, users: ArrayLike, items: ArrayLike, timestamps: ArrayLike | None) -> _Asked:
        """Row numbers of pairs of ids, what is known of their times, and the shape of the question."""
        user_rows, item_rows, shape = self._pair_rows(users, items)
        if timestamps is None:
            nothing = np.zeros(len(user_rows))
            return (user_rows, item_rows), At(nothing, nothing), shape
        if self._timed is None:
            raise ValueError(
                "timestamps are for a model that has learned from them; fit with time=True, or leave them out"
            )
        given = np.asarray(timestamps)
        times = np.broadcast_to(whole_seconds(given.ravel(), given.size).reshape(given.shape), shape).ravel()
        return (user_rows, item_rows), self._timed.at(user_rows, item_rows, times), shape

    def _score_at(self, users: NDArray[np.int32], items: NDArray[np.int32], at: At) -> NDArray[np.float32]:
        """Predictions for row numbers, not clipped, at times of which that is known."""
        latents = self._as_latents()._score(users, items) + at.means.astype(np.float32)
        return self._expectation(latents, at.narrower)

    def _predict_ratings(self, ratings: Ratings) -> NDArray[np.float32]:
        if self._timed is None or ratings.timestamps is None:
            return super()._predict_ratings(ratings)
        users = self._learned_users(self._own_rows(self.users_, ratings.users))[ratings.user_indices]
        items = self._learned_items(self._own_rows(self.items_, ratings.items))[ratings.item_indices]
        return self._clip(self._score_at(users, items, self._timed.at(users, items, ratings.timestamps)))

    def interval(
        self, users: ArrayLike, items: ArrayLike, coverage: float = 0.9, *, timestamps: ArrayLike | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Says between which two numbers the rating of each pair of ids lies with a given probability.

        Parameters
        ----------
        users, items : array-like of ids
            As for `predict`.
        coverage : float, default=0.9
            The probability, between 0 and 1.
        timestamps : array-like, optional
            As for `predict`.

        Returns
        -------
        low, high : ndarray of float32
            Within the range of the ratings learned, unless the model has `clip=False`. Among stars the probability is
            met on the mean over many pairs, and less closely by intervals that are narrower than a star.
        """
        if not isinstance(coverage, int | float | np.floating) or not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, found {coverage!r}")
        view = self._view()
        rows, at, shape = view._asked(users, items, timestamps)
        middle = view._score_at(*rows, at).reshape(shape)
        reach = np.float32(ndtri(0.5 + 0.5 * float(coverage))) * view._std(users, items, timestamps)
        return view._clip(middle - reach), view._clip(middle + reach)

    def _std(self, users: ArrayLike, items: ArrayLike, timestamps: ArrayLike | None) -> NDArray[np.float32]:
        if len(self.levels_):
            chances = self.distribution(users, items, timestamps=timestamps).astype(np.float64)
            mean = chances @ self.levels_
            return np.sqrt(np.maximum(chances @ self.levels_.astype(np.float64) ** 2 - mean**2, 0.0)).astype(np.float32)
        rows, at, shape = self._asked(users, items, timestamps)
        noise = float(np.mean(1 / self._samples.noise_precisions)) * (1.0 - at.narrower)
        return (self._scale * np.sqrt(self._samples.spread(*rows) + noise)).astype(np.float32).reshape(shape)

    def distribution(
        self, users: ArrayLike, items: ArrayLike, *, timestamps: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """Says how probable each value is for the rating of each pair of ids.

        Parameters
        ----------
        users, items : array-like of ids
            As for `predict`.
        timestamps : array-like, optional
            As for `predict`.

        Returns
        -------
        ndarray of float32
            One more axis than the question: a probability for each of `levels_`; they add up to 1.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.Ratings.from_dense([[5, 4, 1], [4, None, 1], [None, 5, 2]])
        >>> model = rf.BayesianMF(rank=1, sweeps=20, likelihood="ordinal").fit(ratings)
        >>> model.levels_.tolist(), model.distribution(2, [0, 2]).shape
        ([1.0, 2.0, 4.0, 5.0], (2, 4))
        """
        view = self._view()
        if not len(view.levels_):
            raise ValueError(
                "these ratings were taken as numbers, which have no probabilities of their own; fit with "
                'likelihood="ordinal", or ask for an interval'
            )
        rows, at, shape = view._asked(users, items, timestamps)
        samples, added = view._samples, at.means / (view._scale or 1.0)
        above = np.zeros((len(added), samples.cuts.shape[1]))
        for s, predicted in enumerate(samples.predictions(*rows)):
            roots = np.sqrt(samples.noise_precisions[s] / (1.0 - at.narrower))
            above += ndtr(((predicted + added)[:, None] - samples.cuts[s]) * roots[:, None])
        ends = np.ones((len(above), 1))
        chances = -np.diff(np.hstack([ends, above / samples.count, 0.0 * ends]), axis=1)
        return chances.astype(np.float32).reshape(*shape, -1)

    def diagnostics(self) -> dict[str, Diagnosis]:
        """Says whether the chains have forgotten where they started, and how many independent draws they are worth.

        Returns
        -------
        dict of Diagnosis
            For the error on the ratings ("rmse") and the standard deviation of the noise ("noise"): `r_hat`, which is
            near 1 where the chains and their halves agree, say below 1.1, and `effective`, the number of independent
            draws that would tell the mean as well. Not a number after fewer than eight sweeps that count.

        Examples
        --------
        >>> import rankfill as rf
        >>> ratings = rf.synthetic.low_rank(60, 40, n_ratings=900, noise=0.5, seed=0)
        >>> found = rf.BayesianMF(rank=2, sweeps=40, chains=2).fit(ratings).diagnostics()
        >>> sorted(found), found["noise"].effective < 80
        (['noise', 'rmse'], True)
        """
        self._check_fitted()
        traces = self._view().traces_
        return {name: diagnosis(traces[:, min(self.burn_in, traces.shape[1]) :, k]) for k, name in enumerate(TRACES)}
