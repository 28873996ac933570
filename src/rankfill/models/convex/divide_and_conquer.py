"""Divide and conquer: blocks of items completed side by side, then combined (Mackey, Talwalkar, Jordan 2011).

L. Mackey, A. Talwalkar, M. I. Jordan, *Divide-and-Conquer Matrix Factorization*, NIPS 2011. The items are divided at
random into t blocks, and the ratings of each block are completed by a model of their own: Ĉ₁, …, Ĉ_t, all of them with
one row per user. With Q_j an orthonormal basis of the column space of Ĉ_j,

    combine="project"   W = Q_j Q_jᵀ [Ĉ₁ … Ĉ_t],  j the block with the most ratings   (DFC-Proj)
    combine="average"   W = 1/t Σ_j Q_j Q_jᵀ [Ĉ₁ … Ĉ_t]                                (DFC-Proj, ensemble)

The offset of the model is learned from all ratings first, so that a block completes what that leaves over. Neither
matrix is ever made: with Ĉ_k = L_k R_kᵀ, the rows of the items of block k are R_k (L_kᵀ Q_j).

A block sees few of a user's ratings, so that W is worse than the undivided solution. It is mended on all of them: from
W = U √S (V √S)ᵀ on, first every row of the items, then every row of the users solves its ridge regression on the other
side, `refit` times, with the penalty of the model. At the undivided solution that changes nothing (it is a minimum of
½ Σ e² + ½ λ (‖P‖² + ‖Q‖²), too).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfill.data import Ratings
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Ridge, Rows, padded_copy, solve_rows, squared_errors
from rankfill.linalg import LowRank, balance, one_blas_thread, orthonormal
from rankfill.linalg.tall import tall_gram, tall_times
from rankfill.models.base.settings import check_seed, check_whole, check_word, without_hints
from rankfill.models.base.state import Parts
from rankfill.models.base.training import Callback, Training
from rankfill.models.base.units import exponent_of, rows_in_units
from rankfill.models.convex.jaggi_sulovsky import JaggiSulovsky
from rankfill.models.convex.model import TraceNormModel
from rankfill.models.convex.offset import Offset, OffsetModel, Offsets
from rankfill.models.convex.primal_dual import PrimalDual
from rankfill.models.convex.problem import Rated
from rankfill.models.convex.soft_impute import SoftImpute
from rankfill.models.convex.trace_bounded import TraceBounded
from rankfill.models.convex.trace_tradeoff import TraceTradeoff

Combine = Literal["project", "average"]

_CLASSES = {cls.__name__: cls for cls in (TraceTradeoff, SoftImpute, PrimalDual, TraceBounded, JaggiSulovsky)}
"""What a block can be completed by, under the names that stand in a model file."""
_ROUNDING = 1e-6
"""Singular values, relative to the largest, up to which single precision makes them up."""
GAP = 0.02
"""The proved gap at which blocks end that are fitted to all ratings afterwards, where their model names none. Smaller
ones took longer on MovieLens 100K and latest-small, and the test error was no better."""


class CompletedBlock(NamedTuple):
    """The items of a block, by row number, their completed matrix, and what is behind it: penalty and ratings."""

    items: NDArray[np.intp]
    solution: LowRank
    penalty: float
    n_ratings: int
    largest: float
    """The largest of what the offset leaves over of a rating, without its sign."""


class DivideAndConquer(OffsetModel):
    """Convex completion of blocks of items side by side, combined into one matrix of low rank.

    For matrices whose completion under the trace norm takes too long, or does not fit: each block is a problem of its
    own, on a thread of its own. The price is accuracy, the more blocks the more.

    Cold start: an unknown user is the mean user, an unknown item the mean item, a pair of both the mean rating.

    Parameters
    ----------
    model : TraceTradeoff, SoftImpute, PrimalDual, TraceBounded or JaggiSulovsky, optional
        What completes each block, with its settings; it is copied, not changed. By default ``TraceTradeoff()``. A
        penalty or a trace that is given holds for every block. Where blocks are refitted, one without a `gap` ends
        within 2 % of its best objective.
    blocks : int, default=4
        Number of blocks of items, at least 1; no more than there are items with ratings.
    combine : {"project", "average"}, default="project"
        How blocks become one matrix. "project" projects all of them on the column space of the one with the most
        ratings. "average" does so with the space of each and takes the mean: a little more accurate, and of a rank so
        much higher that a refit costs more than dividing saves.
    refit : int, default=1
        How often rows of items, then of users, are fitted to all ratings after the blocks are combined, zero or more.
        Once brings back what dividing has cost; more follow the ratings closer.
    seed : int, default=0
        Seed of the division of the items.
    clip : bool, default=True
        Whether predictions are kept within the range of the ratings learned from.

    Attributes
    ----------
    user_factors_ : ndarray of shape (n_users, rank_)
        One row per user, in the order of `users_`.
    item_factors_ : ndarray of shape (n_items, rank_)
        One row per item, in the order of `items_`.
    user_biases_ : ndarray of shape (n_users,)
        How far each user is above the offset; zeros unless the model has offset="bias".
    item_biases_ : ndarray of shape (n_items,)
        How far each item is above the offset; zeros unless the model has offset="bias".
    rank_ : int
        Number of factors.
    biased_ : bool
        Whether there are biases: with offset="bias".
    offset_ : float
        Part of every prediction: the mean rating, or 0 with offset="none".
    users_ : Vocabulary
        Ids of the users.
    items_ : Vocabulary
        Ids of the items.
    n_ratings_ : int
        Number of ratings learned from.
    mean_ : float
        Mean rating.
    range_ : tuple of float
        The least and the greatest rating, without the few that stand far apart from all others.
    history_ : list of EpochReport
        The one pass that all blocks and their combination are counted as; its objective is half the squared error.
    penalty_ : float
        The mean over the ratings of the penalties of the blocks; `fold_in` finds rows with it.

    Examples
    --------
    >>> import rankfill as rf
    >>> train, test = rf.split(rf.synthetic.low_rank(200, 100, n_ratings=6000, seed=0), test=0.2)
    >>> model = rf.DivideAndConquer(model=rf.SoftImpute(penalty=3.0), blocks=2).fit(train)
    >>> rf.evaluate(model, test)["rmse"] < rf.evaluate(rf.Bias().fit(train), test)["rmse"]
    True
    """

    passes, tol = 1, 0.0  # all blocks and their combination are one pass

    def __init__(
        self,
        *,
        model: TraceNormModel[Any] | None = None,
        blocks: int = 4,
        combine: Combine = "project",
        refit: int = 1,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.model = model
        self.blocks = blocks
        self.combine: Combine = combine
        self.refit = refit
        self.seed = seed
        self.clip = clip

    @property
    def offset(self) -> Offset:  # type: ignore[override]
        """What is taken off the ratings first: that of the model."""
        return self._block_model().offset

    @property
    def weighting(self) -> Any:  # type: ignore[override]
        """Whether rows with few ratings are held back less: as the model says."""
        return self._block_model().weighting

    def _block_model(self) -> TraceNormModel[Any]:
        """A copy of the model that completes a block; from a file it comes as its name and settings."""
        if self.model is None:
            return TraceTradeoff()
        if isinstance(self.model, dict) and self.model.get("name") in _CLASSES:
            return _CLASSES[self.model["name"]](**self.model["parameters"])
        if type(self.model) not in _CLASSES.values():
            raise TypeError(f"model must be one of {', '.join(_CLASSES)}, found {type(self.model).__name__}")
        part: TraceNormModel[Any] = clone(self.model)
        if isinstance(part, PrimalDual) and (part.nonnegative or part.loss != "squared"):
            raise ValueError(
                f"blocks are combined by projection, which keeps neither signs nor other losses than the squared one; "
                f"found nonnegative={part.nonnegative}, loss={part.loss!r}; use PrimalDual() without them"
            )
        return part

    def _check(self, ratings: Ratings) -> None:
        self._block_model()._check(ratings)
        check_whole("blocks", self.blocks, 1)
        check_word("combine", self.combine, Combine)
        check_whole("refit", self.refit, 0)
        check_seed(self.seed)
        super()._check(ratings)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._set_offset(ratings)
                completion = Completion(self._part_of_block(), self._offsets())
                with one_blas_thread():
                    blocks = ratings.each_block_of_items(self._divide(ratings), completion)
                    self._conquer(ratings, blocks)
                ridge = Ridge(rank=max(self.rank_, 1), penalty=self.penalty_, offset=self.offset_)
                square = ratings.half_pass("user", Measure(ridge), self._users.array, self._items.array)[0]
                training.report(0.5 * square, (square / len(ratings)) ** 0.5)

    def _part_of_block(self) -> TraceNormModel[Any]:
        """What completes a block of what the offset leaves over."""
        part: TraceNormModel[Any] = self._block_model().set_params(offset="none", clip=False)
        if self.refit and part.gap is None:
            part.set_params(gap=GAP)
        return part

    def _divide(self, ratings: Ratings) -> list[NDArray[np.intp]]:
        """The rated items in blocks of equal size, at random."""
        shuffled = np.random.default_rng(self.seed).permutation(np.flatnonzero(ratings.by_item.counts()))
        return [np.sort(block) for block in np.array_split(shuffled, min(int(self.blocks), len(shuffled)))]

    def _conquer(self, ratings: Ratings, blocks: Sequence[CompletedBlock]) -> None:
        """Makes the blocks one matrix and takes its factors."""
        whole = combine_blocks(blocks, ratings.n_users, ratings.n_items, self.combine)
        self.penalty_ = float(np.average([b.penalty for b in blocks], weights=[b.n_ratings for b in blocks]))
        if whole.rank and self.refit:
            whole = self._refit(whole, ratings, exponent_of(max(block.largest for block in blocks)))
        rated = Rated.of(ratings.by_user.counts(), ratings.by_item.counts(), by_count=False)
        self._keep(rated, LowRank(whole.left[rated.users], whole.right[rated.items]))

    def _refit(self, whole: LowRank, ratings: Ratings, exponent: int) -> LowRank:
        """Rows of items, then of users, fitted to all ratings; empty rows stay as they are."""
        users, items = (rows_in_units(padded_copy(side), whole.rank, exponent) for side in whole)
        user_ridge, item_ridge = (
            self._ridge(rows.counts(), whole.rank, exponent) for rows in (ratings.by_user, ratings.by_item)
        )
        item_step = Refit(item_ridge, self._offsets(), "item", exponent)
        user_step = Refit(user_ridge, self._offsets(), "user", exponent)
        for _ in range(int(self.refit)):
            ratings.half_pass("item", item_step, items, users)
            ratings.half_pass("user", user_step, users, items)
        users, items = (rows_in_units(rows, whole.rank, -exponent)[:, : whole.rank] for rows in (users, items))
        return LowRank(users.astype(np.float64), items.astype(np.float64))

    def _ridge(self, counts: NDArray[np.int64], rank: int, exponent: int) -> Ridge:
        """What a row solves; by count the penalty has its usual size for rows with the mean number of ratings."""
        by_count = self.weighting == "count"
        share = np.count_nonzero(counts) / max(self.n_ratings_, 1) if by_count else 1.0
        return Ridge(rank=rank, penalty=math.ldexp(self.penalty_ * share, -exponent), by_count=by_count)

    def _pack(self, history: bool) -> Parts:
        parts = super()._pack(history)
        if self.model is not None:
            name, settings = type(self.model).__name__, self.model.get_params(deep=False)
            parts.words["parameters"]["model"] = {"name": name, "parameters": settings}
        return parts

    def _unpack(self, parts: Parts) -> None:
        if self.model is not None:
            self.model = self._block_model()
        super()._unpack(parts)


@dataclass(frozen=True)
class Completion:
    """What is done with a block; its ratings have rows for all users and items, of which only its own have ratings."""

    part: TraceNormModel[Any]
    offsets: Offsets

    def __call__(self, ratings: Ratings, items: NDArray[np.intp]) -> CompletedBlock:
        offsets = self.offsets.of(ratings.user_indices, ratings.item_indices)
        left_over = ratings.with_values(lambda values: values - offsets)
        with without_hints():
            fitted = clone(self.part).fit(left_over)
        left, right = (side.astype(np.float64) for side in (fitted.user_factors_, fitted.item_factors_[items]))
        solution = _drop_rounding(balance(LowRank(left, right)))
        return CompletedBlock(items, solution, fitted.penalty_, len(ratings), max(map(abs, left_over.bounds())))


@dataclass(frozen=True)
class Refit:
    """A half pass: every row solved on what the offset leaves over, in units of 2 to the power of `exponent`."""

    ridge: Ridge
    offsets: Offsets
    side: Side
    exponent: int

    goes_on: ClassVar[bool] = True

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        pair = rows.row_of_entry() + first, rows.indices
        offsets = self.offsets.of(*(pair if self.side == "user" else pair[::-1]))
        values = (rows.values - offsets).astype(np.float32)
        solve_rows(rows._replace(values=values).in_units(self.exponent), moving, fixed, self.ridge)
        return ()


@dataclass(frozen=True)
class Measure:
    """A half pass that moves nothing; its sums are those of `SquaredErrors`."""

    ridge: Ridge

    goes_on: ClassVar[bool] = True

    def __call__(
        self, rows: Rows, moving: NDArray[np.float32], fixed: NDArray[np.float32], first: int
    ) -> tuple[float, ...]:
        return tuple(squared_errors(rows, moving, fixed, self.ridge))


def _drop_rounding(solution: LowRank) -> LowRank:
    """Without directions that are there because factors are kept in single precision: a projection would heed them."""
    values = np.linalg.norm(solution.left, axis=0) ** 2
    kept = values > _ROUNDING * values.max(initial=0.0)
    return LowRank(solution.left[:, kept], solution.right[:, kept])


def combine_blocks(blocks: Sequence[CompletedBlock], n_users: int, n_items: int, combine: Combine) -> LowRank:
    """The blocks projected on the column space of the one with the most ratings, or the mean over all of these."""
    largest = max(blocks, key=lambda block: block.n_ratings)
    bases = [orthonormal(block.solution.left)[0] for block in (blocks if combine == "average" else [largest])]
    basis = np.concatenate(bases, axis=1)
    right = np.zeros((n_items, basis.shape[1]))
    for block in blocks:
        right[block.items] = tall_times(block.solution.right, tall_gram(block.solution.left, basis))
    return balance(LowRank(basis / len(bases), right)) if basis.shape[1] else LowRank.zero(n_users, n_items)
