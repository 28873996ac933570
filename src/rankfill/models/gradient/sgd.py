"""Factors and biases by stochastic gradient descent, one rating at a time.

    min Σ_Ω s² ℓ((r_ui − r̂_ui)/s) + ½ Σ_u (λ n_u + κ)(s ‖p_u‖² + β b_u²) + ½ Σ_i (λ n_i + κ)(s ‖q_i‖² + β b_i²)
    r̂_ui = μ + b_u + b_i + p_u·q_i

ℓ is a loss of `objectives/losses.py`; a row with n ratings is held by λ = `penalty` for each and κ = `shrinkage` once,
a bias by the share β = min(1, 5/κ) of it: what keeps noise out of the factors would take too much of the biases.
s is the power of 4 nearest to the standard deviation of the ratings (1 for stars from 1 to 5, 1 for the logistic loss):
rates and penalties mean the same for ratings of any size. shrinkage=None tries a few on ratings kept aside
(`shrinkage_`), because noise needs more than signal. With `biases=False`, r̂ = p_u·q_i; for logistic loss, μ = 0.

A round looks at one rating and moves p_u, q_i, b_u, b_i down the gradient of its term, in which a row is held by
λ + κ/n, by a step η (`step`):

    constant      rate                          inverse   rate / (1 + rate λ t), which tends to 1/(λ t)
    sqrt          rate / √(1 + t/n)             power     rate · (1 + t/n)^−power
    adagrad       rate / √G of each row, G = 1 + Σ ‖gradient of the row‖²/rank
    line-search   the first of rate, rate/2, … with f(θ − η∇f) ≤ f(θ) − ½ η ‖∇f‖², f the term of this rating

t is the number of rounds before, n the number of ratings, so that t/n counts passes. Factors that `nonnegative` names
are put back to zero when a round makes them negative (biases are free).

A pass makes a round for every rating. The ratings are put once into a grid of blocks, at most 32 × 32, that depends
on the ratings and the seed alone (12 bytes a rating); blocks that share no row are worked on at the same time. So the
result is the same to the bit for any number of threads. The objective in `history_` has each loss before its round and
the penalty after the pass. `averaging` gives means of the iterates (Polyak and Ruppert) instead of the last: of those
after each pass, or of each row over all the rounds that moved it; rounds go on from the last.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.store.on_disk import OnDisk
from rankfill.kernels import RowPair, padded
from rankfill.kernels.gradients import (
    NO_MEANS,
    GradientRule,
    Grid,
    LossName,
    RoundSums,
    RowMeans,
    StepName,
    gradient_online,
    gradient_pass,
    grid_of,
)
from rankfill.models.base.model import WarmPath
from rankfill.models.base.settings import Nonnegative, check_positive, check_word
from rankfill.models.base.training import Callback, Training, order_seed
from rankfill.models.gradient.rounds_online import RoundsOnline
from rankfill.models.gradient.stream_units import units_after
from rankfill.objectives.measures import Measure

Averaging = Literal["none", "pass", "step"]


class SGD(RoundsOnline):
    """Stochastic gradient descent on factors and biases, for any loss, in batch and online.

    Fast on many ratings, and the one to choose for a loss other than the squared one. `partial_fit` and `learn_one`
    learn from a stream, whose first ratings need not be typical. An unknown user is answered with the mean user, an
    unknown item with the mean item, a pair of both with the mean rating.

    Parameters
    ----------
    rank : int, default=30
        Number of factors. Two biases share their rows of sixteens: 14, 30 and 62 fill them.
    loss : {"squared", "absolute", "epsilon-insensitive", "huber", "logistic"}, default="squared"
        What an error costs. "logistic" is for ratings of -1 and +1.
    step : {"adagrad", "constant", "inverse", "sqrt", "power", "line-search"}, default="adagrad"
        How the step follows from the rate. "adagrad" gives each row its own, which falls as it learns.
    rate : float, default=0.1
        The first step. Too large a rate makes factors grow without end, which is refused.
    power : float, default=0.5
        How fast steps fall with step="power".
    penalty : float, default=0.04
        Pull of factors and biases towards zero for each rating of a row, in units in which ratings deviate by about 1.
        Larger values follow single ratings less.
    shrinkage : float, optional
        Pull of every row towards zero that does not grow with its ratings: rows with few ratings stay near zero. By
        default the best of a few on ratings kept aside. Biases are held by at most 5 of it.
    averaging : {"none", "pass", "step"}, default="none"
        Answer with a mean of the factors instead of the last ones: smoother where steps do not fall. "pass" takes the
        mean of those after each pass, "step" of those after each rating of a row, from the first. A stream takes none.
    nonnegative : {"both", "items", "users", "none"}, default="none"
        Which factors must not be negative, so that they can be read as topics. Biases are free. "both" needs ratings
        of zero and above.
    biases : bool, default=True
        Learn the mean rating and what each user and item adds to it, beside the factors.
    epsilon : float, default=0.5
        Width of the loss: errors up to it cost nothing ("epsilon-insensitive") or their square ("huber").
    passes : int, default=30
        The most passes over the ratings.
    tol : float or None, default=0.0
        Stops when the objective, or the error on validation ratings, has not fallen by more than this share for three
        passes. None makes every pass.
    seed : int, default=0
        Seeds the start and the order of the ratings. The same seed gives the same bits.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    user_factors_ : ndarray of shape (n_users, rank)
        One row per user, in the order of `users_`.
    item_factors_ : ndarray of shape (n_items, rank)
        One row per item, in the order of `items_`.
    user_biases_ : ndarray of shape (n_users,)
        What each user adds to the offset; zeros without biases.
    item_biases_ : ndarray of shape (n_items,)
        What each item adds to the offset; zeros without biases.
    offset_ : float
        What every prediction starts from: the mean rating (in a stream the running mean), or 0 without biases and with
        the logistic loss.
    shrinkage_ : float
        The shrinkage in use, given or chosen.
    rank_ : int
        The number of factors learned.
    biased_ : bool
        Whether biases were learned.
    users_ : Vocabulary
        The ids of the users, in the order of the rows.
    items_ : Vocabulary
        The ids of the items, in the order of the rows.
    n_ratings_ : int
        How many ratings were learned from.
    mean_ : float
        The mean of those ratings.
    range_ : tuple of float
        The least and the greatest rating, without the few that stand far apart from all others.
    history_ : list of EpochReport
        One report per pass of the last fit; a stream has none.

    Examples
    --------
    >>> from rankfill import SGD, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, None], [None, 4, 1], [5, None, 1]])
    >>> model = SGD(rank=2, shrinkage=0.0, passes=100, tol=None).fit(ratings)
    >>> model.predict(0, [2]) < 2.5  # nobody likes the last one
    array([ True])
    """

    warm_path: ClassVar[WarmPath] = "none"
    learns_from_store: ClassVar[bool] = True

    def __init__(
        self,
        *,
        rank: int = 30,
        loss: LossName = "squared",
        step: StepName = "adagrad",
        rate: float = 0.1,
        power: float = 0.5,
        penalty: float = 0.04,
        shrinkage: float | None = None,
        averaging: Averaging = "none",
        nonnegative: Nonnegative = "none",
        biases: bool = True,
        epsilon: float = 0.5,
        passes: int = 30,
        tol: float | None = 0.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.rank = rank
        self.loss: LossName = loss
        self.step: StepName = step
        self.rate = rate
        self.power = power
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.averaging: Averaging = averaging
        self.nonnegative: Nonnegative = nonnegative
        self.biases = biases
        self.epsilon = epsilon
        self.passes = passes
        self.tol = tol
        self.seed = seed
        self.clip = clip

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """The history is kept in the mean absolute error for the losses that grow with it, else in RMSE."""
        return "mae" if self.loss in ("absolute", "epsilon-insensitive") else "rmse"

    def _fold_in(self, known: Ratings) -> NDArray[np.float32]:
        """Rows (p_u, b_u, 1) of people not in training: `passes` passes over their ratings, the items as they are."""
        rated, items = np.unique(known.item_indices, return_inverse=True)
        fixed = self._units(self._items.array[rated], 1, 1 / self._scale)
        rows = padded(known.n_users, self._width)
        rows[:, self.rank_ + 1 : self._width] = 1
        rule = replace(self._rule(), step="adagrad")
        still = np.full(len(rated), np.inf, np.float32)  # a row with an infinite sum of gradients takes no step
        memory, targets = np.ones(known.n_users, np.float32), self._targets(known.values)
        held = self._round_penalties(known.by_user.counts())[known.user_indices]
        none = np.zeros(len(known), np.float32)
        for _ in range(self.passes):
            gradient_online(
                known.user_indices, items.astype(np.int32), targets, 0, rows, fixed, memory, still, held, none, rule
            )
        return self._in_ratings(rows, 0)[:, : self._width]

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("step", self.step, StepName)
        check_word("averaging", self.averaging, Averaging)
        check_positive("rate", self.rate)
        check_positive("power", self.power, or_zero=True)
        check_positive("epsilon", self.epsilon, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        self._begin_fit(ratings, init)
        self._begin_rounds(len(ratings))
        self._stream, self._recent = units_after(ratings, self.offset_ * len(ratings), self._scale)
        of_each = ratings.by_user.counts(), ratings._item_counts()
        grid = grid_of(lambda: self._entries(ratings), of_each, self.seed, on_disk=isinstance(ratings, OnDisk))
        apart = self.averaging != "none" or self._scale != 1
        moving = self._to_units() if apart else (self._users.array, self._items.array)
        with Training(self, validation, callbacks) as training:
            means = (
                (RowMeans.of(moving[0]), RowMeans.of(moving[1])) if self.averaging == "step" else (NO_MEANS, NO_MEANS)
            )
            if apart:
                own = {"user_means": means[0].rows, "item_means": means[1].rows}
                counts = {"user_rounds": means[0].met, "item_rounds": means[1].met}
                training.carry(users=moving[0], items=moving[1], **own, **counts)
            for epoch in training.epochs():
                sums = self._pass(grid, moving, epoch, means)
                self._publish_pass(moving, epoch, means)
                training.report(
                    self._scale**2 * sums.loss + self._penalty_term(), self._train_error(sums, len(ratings))
                )

    def _entries(self, ratings: Ratings) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]]:
        """Row numbers of users and items and the targets of all ratings, piece by piece."""
        for piece in ratings.pieces():
            yield piece.user_indices, piece.item_indices, self._targets(piece.values)

    def _pass(self, grid: Grid, moving: RowPair, epoch: int, means: tuple[RowMeans, RowMeans]) -> RoundSums:
        rng = np.random.default_rng(order_seed(self.seed, epoch))
        strata = rng.permutation(grid.groups).astype(np.int32)
        memory = self._user_memory.array, self._item_memory.array
        held = self._round_penalties(self._user_counts.array), self._round_penalties(self._item_counts.array)
        sums = gradient_pass(grid, strata, *moving, *memory, *held, self._rule(), self._rounds, means)
        self._rounds += len(grid.values)
        self._refuse_divergence(moving)
        return sums

    def _publish_pass(self, moving: RowPair, epoch: int, means: tuple[RowMeans, RowMeans]) -> None:
        """Shows the rows after a pass: the last ones, or the mean that `averaging` asks for."""
        if self.averaging == "none" and self._scale == 1:
            return
        for side, own in enumerate((self._users, self._items)):
            rows = moving[side]
            if self.averaging == "step":  # a row that no round has moved stays as it is
                rows = np.where(means[side].met[:, None] > 0, means[side].rows, rows)
            shown = self._in_ratings(rows, side)
            if self.averaging == "pass" and epoch > 1:
                shown = own.array + (shown - own.array) / np.float32(epoch)
            own.array[:] = shown

    def _train_error(self, sums: RoundSums, n: int) -> float:
        total = sums.absolute / n if self.measure == "mae" else float(np.sqrt(sums.squared / n))
        return self._scale * total

    def _rule(self) -> GradientRule:
        return GradientRule(
            rank=self.rank_,
            loss=self.loss,
            width=self.epsilon / self._scale,
            step=self.step,
            rate=self.rate,
            power=self.power,
            penalty=self.penalty,
            bias_share=self._bias_share,
            period=self._period,
            nonnegative_users=self._is_nonnegative(0),
            nonnegative_items=self._is_nonnegative(1),
            biased=self.biased_,
        )
