"""One regression for each user on known features of the items, one for each item on those of the users, or both.

    r̂_ui = μ + b_u + b_i + θ_u·x_i + φ_i·z_u

x_i are the features of the items, θ_u what a user makes of them; z_u are those of the users, φ_i what they make of an
item. First the items are solved, then the users on what is left over:

    items   min over φ_i, b_i:  Σ_u ℓ(r_ui − μ, φ_i·z_u + b_i) + ½ (penalty ‖φ_i‖² + shrinkage b_i²)
    users   min over θ_u, b_u:  Σ_i ℓ(r_ui − μ − b_i − φ_i·z_u, θ_u·x_i + b_u) + ½ (penalty ‖θ_u‖² + shrinkage b_u²)

side="users" leaves φ out, side="items" leaves θ out. Ratings are seen in units of their standard deviation. The
logistic loss is for ratings of −1 and +1; there each side is solved by itself, side="users" without b_i, side="items"
without b_u, and side="both" takes the mean of the two margins. The solvers are those of `rankfill.linear`, the bias
being the coefficient of a constant column; ridge regression by "exact" goes by the kernel of ALS.
"""

from collections.abc import Iterable
from typing import ClassVar, Literal, Self, get_args

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rankfill.data import Features, Ratings, Vocabulary
from rankfill.data.ratings.passing import Side
from rankfill.kernels import Ridge, Rows, padded, solve_rows
from rankfill.linear.solvers import Problem, Solver, solve
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.feature_map import FeatureMap
from rankfill.models.base.settings import check_positive, check_seed, check_signs, check_word
from rankfill.models.base.training import Callback, Training
from rankfill.models.base.units import check_size

FeatureSide = Literal["users", "items", "both"]
FeatureLoss = Literal["squared", "logistic"]
Floats = NDArray[np.float32]

_MOST_NUMBERS = 2**30
_PASSES, _TOLERANCE = 1000, 1e-6
_UNBOUNDED = 1e300


class FeatureRidge(FactorModel):
    """A regression for each user on the features of the items, for each item on those of the users, or both.

    Give `fit` the features: ``fit(ratings, item_features=…)``. Every parameter has a meaning that can be read, such as
    how much a user likes comedies, and an item that nobody has rated is predicted as well as its features allow.
    Without features it is `Bias`. Cold start: an unknown user is the mean of the users learned, an unknown
    item the mean of the items learned, and for a pair of both the answer is the mean rating.

    Parameters
    ----------
    side : {"users", "items", "both"}, default="users"
        Who has parameters: users for the features of the items, items for those of the users, or both.
    loss : {"squared", "logistic"}, default="squared"
        What an error costs. "logistic" is for ratings of -1 and +1; predictions are then log-odds.
    solver : {"exact", "sgd", "asgd", "sag", "saga", "svrg"}, default="exact"
        How each regression is solved, as in `rankfill.linear.SparseRegression`. All but "sgd" and "asgd" find the same.
    penalty : float, default=10.0
        Pull of the parameters towards zero; a positive number.
    shrinkage : float, default=5.0
        How many ratings of the average person a bias is mixed with, zero or more, as in `Bias`.
    seed : int, default=0
        Draws the order in which stochastic solvers meet ratings.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    factor_names_ : list of str
        What the columns of the factors are: the names of the features of the items, then of those of the users.
    user_factors_ : ndarray of shape (n_users, rank_)
        Parameters of each user for the features of items, then the features of the user.
    item_factors_ : ndarray of shape (n_items, rank_)
        The features of each item, then its parameters for the features of users.
    user_biases_, item_biases_ : ndarray of shape (n_users,) and (n_items,)
        How far each user and item is above the mean rating.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The smallest and the largest rating.
    n_ratings_ : int
        The number of ratings learned from.
    rank_ : int
        The number of columns of the factors; 0 without features.
    biased_ : bool
        Whether there are biases beside the factors: True.
    offset_ : float
        What is added to the product of the factors: the mean rating, 0 for the logistic loss.
    history_ : list of EpochReport
        The one pass over the ratings.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.Ratings.from_dense([[5, 5, 1, None], [1, None, 5, 4], [4, 5, None, 1], [2, 1, 5, 5]])
    >>> genres = rf.Features.from_table([0, 1, 2, 3, 4], {"genre": ["comedy", "comedy", "drama", "drama", "comedy"]})
    >>> model = rf.FeatureRidge(penalty=1).fit(ratings, item_features=genres)
    >>> model.predict([0, 1], 4).round(1)  # a comedy that nobody has rated
    array([4.4, 2.2], dtype=float32)
    >>> model.factor_names_
    ['genre=comedy', 'genre=drama']
    """

    readable_factors: ClassVar[bool] = False
    features_shape_all: ClassVar[bool] = True
    passes, tol = 1, 0.0  # one pass is all there is

    _learned: ClassVar[tuple[str, ...]] = ("factor_names_", "_split")

    factor_names_: list[str]
    _split: int

    def __init__(
        self,
        *,
        side: FeatureSide = "users",
        loss: FeatureLoss = "squared",
        solver: Solver = "exact",
        penalty: float = 10.0,
        shrinkage: float = 5.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.side = side
        self.loss = loss
        self.solver = solver
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.seed = seed
        self.clip = clip

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        for name, allowed in (("side", FeatureSide), ("loss", FeatureLoss), ("solver", Solver)):
            check_word(name, getattr(self, name), allowed)
        check_positive("penalty", self.penalty)
        check_positive("shrinkage", self.shrinkage, or_zero=True)
        check_seed(self.seed)
        check_size(ratings)
        if self.loss == "logistic":
            check_signs(ratings)

    def _check_features(self, side: Side, features: Features, ids: Vocabulary, counts: NDArray[np.integer]) -> None:
        super()._check_features(side, features, ids, counts)
        n_rows = len(ids) + len(features)
        if n_rows * len(features.names) > _MOST_NUMBERS:
            raise ValueError(
                f"{len(features.names):,} features of {n_rows:,} {side}s would take "
                f"{4e-9 * n_rows * len(features.names):.0f} GB as full rows; leave rare categories out, or use a model "
                "with factors, such as ALS"
            )

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._begin_rows(ratings)
                self._solve_items(ratings)
                self._users.array[:, : self._width] = self._fold_in(ratings)
                train = self._error(ratings)
                training.report(train**2 * len(ratings), train)

    def _begin_rows(self, ratings: Ratings) -> None:
        """Rows (θ, z, b, 1) and (x, φ, 1, b) with the features in their places and zeros elsewhere."""
        of_items = self._features.get("item") if self.side != "items" else None
        of_users = self._features.get("user") if self.side != "users" else None
        self.factor_names_ = [*(of_items.names if of_items else []), *(of_users.names if of_users else [])]
        self._split, rank = len(of_items.names) if of_items else 0, len(self.factor_names_)
        users, items = padded(ratings.n_users, rank + 2), padded(ratings.n_items, rank + 2)
        if of_items is not None:
            items[:, : self._split] = of_items.aligned(ratings.items).toarray()
        if of_users is not None:
            users[:, self._split : rank] = of_users.aligned(ratings.users).toarray()
        users[:, rank + 1] = items[:, rank] = 1.0
        offset = 0.0 if self.loss == "logistic" else self.mean_
        self._set_factors(users, items, rank, biased=True, offset=offset)

    def _solve_items(self, ratings: Ratings) -> None:
        """φ and b of every item."""
        if self.loss == "logistic" and self.side == "users":
            return
        users, rank = self._users.array[:, self._split : self.rank_], self.rank_
        entries = ratings.by_item
        solved = self._solve(entries, entries.values - np.float32(self.offset_), users)
        self._items.array[:, self._split : rank] = solved[:, :-1]
        self._items.array[:, rank + 1] = solved[:, -1]

    def _fold_in(self, known: Ratings) -> Floats:
        """θ and b of every user; the features of a user are those of the row of the same number, if it has one."""
        rank, split = self.rank_, self._split
        rows = np.zeros((known.n_users, self._width), np.float32)
        rows[:, rank + 1] = 1.0
        if known.users.is_same(self.users_):
            rows[:, split:rank] = self._users.array[:, split:rank]
        if self.loss == "logistic" and self.side == "items":
            return rows
        items, entries = self._items.array, known.by_user
        targets = entries.values - np.float32(self.offset_)
        if self.loss == "squared":
            by_features = rows[known.user_indices, split:rank] * items[entries.indices, split:rank]
            targets = targets - items[entries.indices, rank + 1] - by_features.sum(axis=1)
        solved = self._solve(entries, targets, items[:, :split])
        rows[:, :split], rows[:, rank] = solved[:, :-1], solved[:, -1]
        return rows

    def _solve(self, entries: Rows, targets: Floats, inputs: Floats) -> Floats:
        """The parameters of every row for the inputs of its entries, and its bias; zeros where there are none."""
        counts, rank = entries.counts(), inputs.shape[1]
        share = 0.5 if self.loss == "logistic" and self.side == "both" else 1.0
        spread = float(np.std(targets, dtype=np.float64)) if len(targets) and self.loss == "squared" else 1.0
        unit = np.float32(spread if spread > np.finfo(np.float32).tiny else 1.0)
        solved = np.zeros((len(counts), rank + 1), np.float32)
        rows = Rows.taking(entries.indptr, entries.indices, (targets / unit).astype(np.float32))
        if self.loss == "logistic" or (self.solver != "exact" and rank):
            for row in np.flatnonzero(counts):
                here = slice(rows.indptr[row], rows.indptr[row + 1])
                solved[row] = self._solve_one(inputs[rows.indices[here]], rows.values[here], int(row))
        elif rank:
            fixed, moving = padded(len(inputs), rank + 2), padded(len(counts), rank + 2)
            fixed[:, :rank], fixed[:, rank] = inputs, 1.0
            solve_rows(rows, moving, fixed, Ridge(rank, self.penalty, bias_penalty=self.shrinkage).of_users())
            solved = moving[:, : rank + 1]
        else:
            row_of = np.repeat(np.arange(len(counts)), counts)
            sums = np.bincount(row_of, rows.values, minlength=len(counts))
            np.divide(sums, counts + self.shrinkage, out=solved[:, 0], where=counts > 0, casting="same_kind")
        scaled: Floats = solved * (np.float32(share) * unit)
        return scaled

    def _solve_one(self, inputs: Floats, targets: Floats, row: int) -> NDArray[np.float64]:
        constant = np.sqrt(self.penalty / self.shrinkage) if self.shrinkage else 0.0
        design = np.column_stack([inputs, np.full(len(inputs), constant)]).astype(np.float64)
        features, free = scipy.sparse.csr_array(design), not self.shrinkage
        problem = Problem(features, targets.astype(np.float64), self.loss, self.penalty, intercept=free)
        found = solve(problem, self.solver, passes=_PASSES, tol=_TOLERANCE, seed=(self.seed + row) % 2**63)
        return np.append(found.coefficients[:-1], constant * found.coefficients[-1] + found.intercept)

    def _learn_map(self, side: Side, features: Features) -> FeatureMap:
        """Features that are part of the rows are put there as they are; what else a row holds is guessed from them."""
        found = super()._learn_map(side, features)
        if side not in _SIDES_WITH_FEATURES[self.side]:
            return found
        own = slice(0, self._split) if side == "item" else slice(self._split, self.rank_)
        found.coefficients[:, own], found.intercept[own] = np.eye(len(features.names)), 0.0
        found.low[own], found.high[own] = -_UNBOUNDED, _UNBOUNDED
        return found


_SIDES_WITH_FEATURES: dict[str, tuple[Side, ...]] = {"users": ("item",), "items": ("user",), "both": get_args(Side)}
