"""Bayesian factorisation: the mean of the predictions of many factorisations, drawn by Gibbs sampling.

    r_ui ~ N(μ + b_u + b_i + p_u·q_i, 1/α),   α ~ Gamma(1, 1)
    (p_u, b_u) ~ N(m_U + B_Uᵀ x_u, Λ_U⁻¹),   (q_i, b_i) ~ N(m_I + B_Iᵀ x_i, Λ_I⁻¹)

with Normal–Wishart priors on (m, Λ) and N(0, (λΛ)⁻¹) on the rows of B, λ ~ Gamma(1, 1), all learned (Salakhutdinov,
Mnih 2008; Simm et al. 2017). links="rated": x_u is 1/√n_u in the places of the n_u items that u has rated, x_i likewise
of the users who rated i, which is SVD++ in both directions. Ratings are less their mean μ and in units of their
standard deviation. Features given to `fit` are more columns of x. What time=True adds is in `days.py`, the sweeps
in `sampler.py`, the mean of predictions in `averages.py`, what is kept in `samples.py`.
"""

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Rows, padded
from rankfill.linalg.blas import one_blas_thread
from rankfill.models.base.forgetting import Left
from rankfill.models.base.model import WarmPath
from rankfill.models.base.settings import check_seed, check_whole, check_word
from rankfill.models.base.state import Parts
from rankfill.models.base.training import Callback, Training
from rankfill.models.base.units import check_size
from rankfill.models.bayesian.chains import Arrays, Chains, Numbers
from rankfill.models.bayesian.days import numbered_days
from rankfill.models.bayesian.links import Block, feature_block
from rankfill.models.bayesian.ordered import curve_of
from rankfill.models.bayesian.sampler import Chain
from rankfill.models.bayesian.samples import Samples, Sizes
from rankfill.models.bayesian.stars import MOST_LEVELS
from rankfill.models.bayesian.stopping import MOST_SWEEPS
from rankfill.models.bayesian.uncertain import Uncertain

_ENOUGH_TO_LINK = 3
"""Ratings for each user and item: with fewer, of samples of MovieLens 100K, links to what was rated did harm."""
_FEW, _RATINGS_FOR_A_LEVEL = range(3, 11), 100
"""How many values are few, and how many ratings each wants, for ratings to count as ordered when nothing is said."""
LinksChoice = Literal["auto", "none", "rated"]
Likelihood = Literal["auto", "gaussian", "ordinal", "probit"]
SweepsChoice = Literal["auto"]


class BayesianMF(Uncertain):
    """Bayesian factorisation by Gibbs sampling: accurate with nothing set, and it knows how sure it is.

    Many factorisations are drawn, each as probable as the ratings make it, and their predictions are averaged. There is
    no penalty to choose: how strongly factors are held back is learned, and so is the noise of the ratings. It takes
    longer than `ALS` and predicts better. Cold start: an unknown user is the mean user, an unknown item the mean item,
    and for a pair of both the answer is the mean rating.

    Parameters
    ----------
    rank : int, default=32
        Number of factors of every sample, at least 1. More of them fit finer tastes; the time of a sweep grows with the
        square of the rank. Too many do little harm.
    sweeps : int or "auto", default="auto"
        How often everything is drawn, at least 1. With "auto" sampling ends when the mean of the predictions no longer
        moves, after 300 sweeps at the latest.
    burn_in : int, default=2
        The first sweeps, which are on the way from the start and are left out.
    chains : int, default=1
        How many chains are drawn side by side, at least 1, each from another start. All their samples are averaged:
        two chains take twice the time, predict a little better, and show by `diagnostics` whether they agree.
    links : {"auto", "none", "rated"}, default="auto"
        What moves the mean that a row is drawn around. With "rated" what a user has rated, whatever the rating, tells
        about the user, and who has rated an item tells about the item. "auto" takes "rated" where there are three
        ratings and more for each user and item. Features given to `fit` move that mean in any case.
    time : bool, default=False
        Whether it matters when a rating was given: every day has factors and a bias, which meet those of users and
        items, and every user has moods that come and go. Needs ratings with timestamps, also for what is predicted:
        `predict(…, timestamps=…)`, likewise `interval` and `distribution`, and `evaluate` on ratings that have some.
        Whatever else is asked is answered at the mean of the times at which the user has rated, and for who has not
        been in training at the mean time of all ratings; lists are. What comes after the fit, by `partial_fit`, counts
        without its time.
    likelihood : {"auto", "gaussian", "ordinal", "probit"}, default="auto"
        What a rating is: a number with noise; one of a few ordered values, such as stars, whose cut points are learned
        and whose probabilities `distribution` tells; or one of two. "auto" takes ordered values where there are three
        to ten of them, and a hundred ratings and more for each; that is a little more accurate for stars, and a sweep
        takes up to 1.7 times as long. Predictions are what is expected to be seen.
    samples : int, default=16
        How many samples are kept for error bars and for people who were not in training, at least 2. Each takes as much
        room as the factors.
    seed : int, default=0
        Seed of all that is drawn.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, rank_) and (n_items, rank_)
        The factors of the mean of the predictions, one row per user and per item in the order of `users_` and `items_`;
        read-only.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        How far each user and each item is above the mean rating, in the mean of the samples.
    noise_ : float
        The standard deviation of a rating around its prediction without a time, in the mean of the samples kept.
    lost_ : float
        What the factors above leave out of the mean of the predictions, as a share of the squares of all its entries.
    n_sweeps_ : int
        How many sweeps there were.
    levels_ : ndarray of shape (n_levels,)
        The values of ordered ratings, ascending; none where ratings were taken as numbers.
    traces_ : ndarray of shape (chains, n_sweeps_, 2)
        Of every chain and sweep the error on the ratings and the standard deviation of the noise.
    rank_ : int
        The number of factors of the mean of the predictions: twice `rank`.
    biased_ : bool
        Whether biases were learned: True.
    offset_ : float
        What is added to biases and factors: the mean rating.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The smallest and the largest rating.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        One report per sweep: seconds, the negative logarithm of the likelihood of the sample, its error.

    Examples
    --------
    >>> from rankfill import BayesianMF, split, synthetic
    >>> train, test = split(synthetic.low_rank(80, 60, n_ratings=1500, noise=0.5, seed=0), test=0.2, seed=0)
    >>> model = BayesianMF(rank=4, sweeps=30).fit(train)
    >>> users, items = test.users.ids(test.user_indices), test.items.ids(test.item_indices)
    >>> low, high = model.interval(users, items, coverage=0.9)
    >>> bool(0.8 < ((low <= test.values) & (test.values <= high)).mean() < 1.0)
    True
    """

    warm_path: ClassVar[WarmPath] = "none"
    features_shape_all: ClassVar[bool] = True
    tol = None

    _learned: ClassVar[tuple[str, ...]] = ("noise_", "lost_", "n_sweeps_", "traces_")
    _learned += ("_timed",)

    noise_: float
    lost_: float
    n_sweeps_: int

    def __init__(
        self,
        *,
        rank: int = 32,
        sweeps: int | SweepsChoice = "auto",
        burn_in: int = 2,
        chains: int = 1,
        links: LinksChoice = "auto",
        time: bool = False,
        likelihood: Likelihood = "auto",
        samples: int = 16,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.sweeps = sweeps
        self.burn_in = burn_in
        self.chains = chains
        self.links: LinksChoice = links
        self.time = time
        self.likelihood: Likelihood = likelihood
        self.samples = samples
        self.seed = seed
        self.clip = clip

    @property
    def passes(self) -> int:
        """The most sweeps that a fit makes."""
        return MOST_SWEEPS if self.sweeps == "auto" else int(self.sweeps)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_whole("rank", self.rank, 1)
        if self.sweeps != "auto":
            check_whole("sweeps", self.sweeps, 1)
        check_whole("burn_in", self.burn_in, 0)
        check_whole("chains", self.chains, 1)
        check_word("links", self.links, LinksChoice)
        check_word("likelihood", self.likelihood, Likelihood)
        if self.likelihood in ("ordinal", "probit"):
            self._check_levels(ratings)
        check_whole("samples", self.samples, 2)
        check_seed(self.seed)
        check_size(ratings)

    def _hint(self, ratings: Ratings) -> None:
        """A fit needs times where these are to matter; what comes after it does not."""
        super()._hint(ratings)
        if self.time and ratings.timestamps is None:
            raise ValueError(
                "time=True needs to know when ratings were given, but these have no timestamps; give them, or leave "
                "time out"
            )

    def _check_levels(self, ratings: Ratings) -> None:
        """Raises in words where ratings are not of a few values."""
        n, most = len(np.unique(ratings.values)), 2 if self.likelihood == "probit" else MOST_LEVELS
        if n > most:
            raise ValueError(
                f"likelihood={self.likelihood!r} is for ratings of at most {most} different values, found {n}; "
                'round them, or take likelihood="gaussian"'
            )

    def _levels_of(self, ratings: Ratings) -> NDArray[np.float32]:
        """The values of ratings that count as ordered; none where they count as numbers."""
        none = np.empty(0, np.float32)
        if self.likelihood == "gaussian":
            return none
        levels = np.unique(ratings.values)
        few = len(levels) in _FEW and len(ratings) >= _RATINGS_FOR_A_LEVEL * len(levels)
        return levels if few or self.likelihood != "auto" else none

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self.offset_ = self.mean_
        rated, targets = self._prepare(ratings)
        rank, links = int(self.rank), self._links_rated(targets, len(rated[1]))
        self.levels_ = self._levels_of(ratings)
        ordered = len(self.levels_) > 0
        n_cuts = max(len(self.levels_) - 1, 0)
        sizes = Sizes(ratings.n_users, ratings.n_items, *(side in self._features for side in ("user", "item")))
        samples = Samples.room_for(int(self.samples), sizes, rank + 1, links, n_cuts)
        if init is not None:
            self._check_init(init)
        self._entries, self._turn, self._user_rest, self._item_rest = None, None, None, None
        with one_blas_thread():
            features, seed = self._feature_blocks(rated), int(self.seed)
            times = ratings.timestamps if self.time else None
            dates, days = (None, None) if times is None else numbered_days(times)
            each = [
                Chain(targets, len(rated[1]), rank, links, seed, number, features, ordered, days, times)
                for number in range(int(self.chains))
            ]
            if init is not None:
                for number, chain in enumerate(each):
                    self._go_on_from(init, number, chain, rated)
            chains = Chains(each, samples, rated, self.passes, self._scale)
            with Training(self, validation, callbacks) as training:
                kept = self._resume(training, chains)
                for sweep in training.epochs():
                    chains.sweep(sweep, int(self.burn_in))
                    for name, array in chains.state().items() if kept else ():
                        kept[name][...] = array
                    self._take_over(chains, sweep)
                    self._timed = None if dates is None else chains.times(dates, len(self.users_), len(self.items_))
                    training.report(self._objective(chains), self._scale * chains.error)
                    if self.sweeps == "auto" and chains.enough(sweep):
                        break
        self._keep_entries(ratings)

    def _initial_state(self, samples: Samples) -> dict[str, Any]:
        none = {"noise_": 0.0, "lost_": 0.0, "n_sweeps_": 0, "traces_": np.zeros((int(self.chains), 0, 2))}
        return super()._initial_state(samples) | none | {"_curve": None, "_timed": None}

    def _resume(self, training: Training, chains: Chains) -> Arrays:
        """What checkpoints keep of the chains, which go on from there; nothing without any."""
        if self._checkpoint is None:
            return {}
        kept = {name: array.copy() for name, array in chains.state().items()}
        training.carry(**kept)
        if training.has_begun:
            done = len(self.history_)
            chains.go_on_from(kept, done)
            chains.traces[:, :done] = self.traces_
        return kept

    def _prepare(self, ratings: Ratings) -> tuple[Numbers, Rows]:
        """The numbers of users and items that have ratings, and the ratings by these, with mean 0 and variance 1."""
        self._scale = float(np.std(ratings.values, dtype=np.float64))
        by_user, item_counts = ratings.by_user, self._item_counts.array
        users, items = (np.flatnonzero(counts > 0) for counts in (by_user.counts(), item_counts))
        column = np.zeros(len(item_counts), np.int32)
        column[items] = np.arange(len(items))
        indptr = np.concatenate([[0], np.cumsum(by_user.counts()[users])])
        return (users, items), Rows.taking(indptr, column[by_user.indices], self._standardise(ratings.values))

    def _check_checkpoints(self) -> None:
        """A chain goes on from what it was."""

    def _links_rated(self, targets: Rows, n_items: int) -> bool:
        """Whether what was rated is linked."""
        if self.links != "auto":
            return self.links == "rated"
        return len(targets.values) >= _ENOUGH_TO_LINK * (targets.n_rows + n_items)

    def _feature_blocks(self, rated: Numbers) -> tuple[list[Block], list[Block]]:
        """The features of the users and of the items that have ratings."""
        found: tuple[list[Block], list[Block]] = [], []
        sides: tuple[Side, Side] = ("user", "item")
        for place, (side, numbers) in enumerate(zip(sides, rated, strict=True)):
            features = self._features.get(side)
            if features is not None:
                ids = self._ids(side)
                found[place].append(feature_block(features.aligned(ids)[numbers], features.known(ids)[numbers]))
        return found

    def _take_over(self, chains: Chains, sweep: int) -> None:
        """Makes what was sampled up to now the model."""
        width, root, mean, rated = 2 * int(self.rank), math.sqrt(self._scale), chains.mean, chains.rated
        users, items = (padded(len(ids), width + 2) for ids in (self.users_, self.items_))
        users[rated[0], :width], items[rated[1], :width] = root * mean.users, root * mean.items
        users[rated[0], width], items[rated[1], width + 1] = (
            self._scale * mean.user_biases,
            self._scale * mean.item_biases,
        )
        users[:, width + 1] = items[:, width] = 1
        self._set_factors(users, items, width, biased=True, offset=self.mean_)
        self._samples = chains.samples.compact()
        self.noise_ = self._scale * float(np.mean(1 / self._samples.noise_precisions)) ** 0.5
        self.lost_, self.n_sweeps_ = mean.lost, sweep
        self._curve = curve_of(self._samples, *chains.some_pairs()) if len(self.levels_) else None
        self.traces_ = chains.traces[:, :sweep].copy()

    def _objective(self, chains: Chains) -> float:
        """The negative logarithm of the likelihood of the ratings, the mean over the chains."""
        of_one = math.fsum(chain.loss for chain in chains.each) / len(chains.each)
        unit = 0.0 if len(self.levels_) else math.log(self._scale or 1.0)
        return self.n_ratings_ * (of_one + unit)

    def _check_init(self, init: Self) -> None:
        init._check_fitted()
        rank = init._samples.users.shape[2] - 1
        if rank != self.rank:
            raise ValueError(f"init has rank {rank}, this model {self.rank}; give both the same settings")

    def _go_on_from(self, init: Self, number: int, chain: Chain, rated: Numbers) -> None:
        """Starts from one of the last samples of another model, where that knows the ids."""
        theirs = init._samples
        s = theirs.count - 1 - number % theirs.count
        for side, rows, own_ids, their_ids, numbers in (
            (chain.users, theirs.users[s], self.users_, init.users_, rated[0]),
            (chain.items, theirs.items[s], self.items_, init.items_, rated[1]),
        ):
            known = self._own_rows(their_ids, own_ids)[numbers]
            side.set_unknowns(np.where(known[:, None] >= 0, rows[known], np.float32(0)))
        if chain.stars is None:
            chain.noise_precision = float(theirs.noise_precisions[s])
        else:
            chain.see(chain.random(0, 3))

    def _forget_entries(self, left: Left) -> None:
        """The samples keep the rows of those who stay, and the one that stands for whoever has no ratings."""
        super()._forget_entries(left)
        self._samples = self._samples.of_users(left.users[left.users < self._samples.users.shape[1] - 1])
        if self._timed is not None:
            last = len(self._timed.users) - 1
            rows = [*left.users[left.users < last], last]
            self._timed = self._timed.of_users(rows)

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        samples = self._samples
        samples.check(max(len(self.levels_) - 1, 0))
        n_users, n_items, order = samples.users.shape[1] - 1, samples.items.shape[1] - 1, samples.users.shape[2]
        if n_users > len(self.users_) or n_items > len(self.items_):
            raise ValueError("samples have more rows than there are ids")
        if self.rank_ != 2 * (order - 1):
            raise ValueError(f"samples of rank {order - 1} do not belong to {self.rank_} factors")
        if self.traces_.ndim != 3 or self.traces_.shape[1:] != (self.n_sweeps_, 2):
            raise ValueError(
                f"traces_ has the shape {self.traces_.shape}, which is not that of {self.n_sweeps_} sweeps"
            )
        if self._timed is not None:
            self._timed.check(n_users, n_items)
