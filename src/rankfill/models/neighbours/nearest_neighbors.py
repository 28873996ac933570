"""k nearest neighbours among items, or among users.

    r̂_ui = b_ui + Σ_{j ∈ N(i, u)} w_ij (r_uj − b_uj),   N(i, u) the k items most similar to i among those that u rated

(with the users in the place of the items for side="users"). Similarities s_ij are taken over the n_ij entries that two
rows have in common, and multiplied by n_ij / (n_ij + shrinkage):

similarity="pearson"            Σ x y / √(Σ x² Σ y²), x and y the deviations of the ratings from their `centre`
similarity="cosine"             the same of the ratings as they are
similarity="inverse-euclidean"  1 / (1 + √Σ (r − r')²)

weights="similarity"  w_ij = s_ij / (penalty + Σ_{j' ∈ N(i, u)} s_ij')
weights="equal"       w_ij = 1 / (penalty + |N(i, u)|)
weights="learned"     w_i· = argmin Σ_u (e_ui − Σ_{j ∈ N(i, u)} w_j e_uj)² + penalty σ² ‖w‖²,  e = r − b, σ² = mean e²

Only rows with a similarity above zero are neighbours. With penalty=0 these are the definitions of the literature, and
KNNBasic (baseline="none"), KNNWithMeans ("means") and KNNBaseline ("effects") of scikit-surprise.
"""

import copy
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.kernels import Rows
from rankfill.kernels.neighbours import Near, Similarity, Weighing, neighbour_weights
from rankfill.models.base.forgetting import Left
from rankfill.models.base.held_out import Predict, choose_held_out
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.settings import SideOption, check_positive, check_seed, check_whole, check_word
from rankfill.models.base.state import Parts
from rankfill.models.base.training import Callback, Training
from rankfill.models.neighbours.answers import NeighbourAnswers
from rankfill.models.neighbours.entries import (
    EMPTY,
    Baseline,
    Centre,
    Sides,
    baseline_of,
    deviations,
    less_baseline,
    merge,
    sides_of,
)

_CANDIDATES: dict[Weighing, tuple[float, ...]] = {
    "similarity": (0.1, 0.3, 1.0, 3.0, 10.0),
    "equal": (3.0, 10.0, 30.0, 100.0, 300.0),
    "learned": (30.0, 100.0, 300.0, 1000.0, 3000.0),
}
"""Penalties to choose from. The middle one holds in a stream, where there is nothing to choose on."""
_SAMPLE = 200_000


class NearestNeighbors(NeighbourAnswers):
    """Nearest neighbours: an item is rated as similar items were by the same user, or as similar users rated it.

    Simple, quick to learn, and every prediction has reasons that can be read. Nothing is assumed of the ratings but
    that similar things are rated alike. Cold start: an unknown user or item has no neighbours, and the prediction is
    the baseline. With side="items" a newcomer needs nothing but the ratings given so far.

    Parameters
    ----------
    side : {"items", "users"}, default="items"
        What is compared: items by their users, or users by their items. There are usually fewer items, and they change
        less.
    similarity : {"pearson", "cosine", "inverse-euclidean"}, default="pearson"
        How alike two rows are, over the entries that both have.
    centre : {"baseline", "vector", "common"}, default="baseline"
        What Pearson's correlation takes deviations from: the effects of user and item, the mean of each row, or its
        mean over the entries that both rows have. Without effect on other similarities.
    weights : {"similarity", "equal", "learned"}, default="similarity"
        How much each neighbour counts: as much as it is similar, all alike, or as much as predicts the known ratings
        best, by a small regression for every row.
    k : int, default=20
        How many neighbours a prediction asks at most.
    keep : int, default=200
        How many neighbours of every row are kept. The k nearest with a rating are found among them. Takes 8 bytes for
        each, or 12 with learned weights.
    min_support : int, default=2
        Fewest entries in common of two rows that are neighbours.
    shrinkage : float, default=200.0
        A similarity over n entries is multiplied by n / (n + shrinkage), since few say little.
    baseline : {"effects", "means", "none"}, default="effects"
        What neighbours are measured from: the effects of user and item (see `Bias`), the plain mean of each row of the
        side, or nothing. Without a baseline the mean rating stands in where there are no neighbours.
    penalty : float, optional
        Pull of the weights towards zero, so that few or faint neighbours say little; 0 is none. For similarities a sum
        of similarities, for equal weights a number of neighbours, for learned ones a number of ratings. By default
        chosen on ratings kept aside; 0 without a baseline, unless weights are learned.
    seed : int, default=0
        Seeds the choice of ratings kept aside.
    clip : bool, default=True
        Keep predictions within the range of the ratings.

    Attributes
    ----------
    neighbours_ : ndarray of shape (n_items, keep), or (n_users, keep) with side="users"
        Row numbers of the neighbours of each row, nearest first; −1 where there are fewer.
    similarities_ : ndarray of the same shape
        How similar they are; zero where there are fewer.
    weights_ : ndarray of the same shape
        What they count: learned weights, or the similarities.
    penalty_ : float
        The penalty used.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The smallest and the largest rating.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        The one pass over the ratings.

    Examples
    --------
    >>> from rankfill import NearestNeighbors, Ratings
    >>> ratings = Ratings.from_dense([[5, 4, 1, None], [4, 5, 2, 1], [1, 2, 5, 4], [2, None, 4, 5], [5, None, 1, 2]])
    >>> model = NearestNeighbors(shrinkage=0, penalty=0).fit(ratings)
    >>> model.similar_items(0, n=1).ids
    array([[1]])
    >>> float(model.predict(4, 1))  # as item 0, which is like it
    5.0
    """

    passes, tol = 1, 0.0  # one pass is all there is

    def __init__(
        self,
        *,
        side: SideOption = "items",
        similarity: Similarity = "pearson",
        centre: Centre = "baseline",
        weights: Weighing = "similarity",
        k: int = 20,
        keep: int = 200,
        min_support: int = 2,
        shrinkage: float = 200.0,
        baseline: Baseline = "effects",
        penalty: float | None = None,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.side = side
        self.similarity = similarity
        self.centre = centre
        self.weights = weights
        self.k = k
        self.keep = keep
        self.min_support = min_support
        self.shrinkage = shrinkage
        self.baseline = baseline
        self.penalty = penalty
        self.seed = seed
        self.clip = clip

    @property
    def neighbours_(self) -> NDArray[np.int32]:
        """Row numbers of the neighbours of each row, nearest first; −1 where there are fewer."""
        self._check_fitted()
        return self._near.indices.copy()

    @property
    def similarities_(self) -> NDArray[np.float32]:
        """How similar the neighbours are; zero where there are fewer."""
        self._check_fitted()
        return self._near.weights.copy()

    @property
    def weights_(self) -> NDArray[np.float32]:
        """What the neighbours count."""
        self._check_fitted()
        return self._heard.weights.copy()

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        for name, words in (
            ("side", SideOption),
            ("similarity", Similarity),
            ("centre", Centre),
            ("weights", Weighing),
            ("baseline", Baseline),
        ):
            check_word(name, getattr(self, name), words)
        for name in ("k", "keep", "min_support"):
            check_whole(name, getattr(self, name), 1)
        check_positive("shrinkage", self.shrinkage, or_zero=True)
        check_seed(self.seed)
        if self.penalty is not None:
            check_positive("penalty", self.penalty, or_zero=True)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self.penalty_ = self._chosen_penalty(ratings)
                self._set_entries(ratings)
                self._near = self._compare(ratings, np.arange(self._n_own, dtype=np.int32))
                self._set_weights()
                train = self._error(ratings)
                training.report(train**2 * len(ratings), train)

    def _chosen_penalty(self, ratings: Ratings) -> float:
        """The penalty that was given, or the best on ratings kept aside."""
        if self.penalty is not None or not self._draws_to_baseline:
            return float(self.penalty or 0.0)
        candidates, fitted = _CANDIDATES[self.weights], {}

        def learn(penalty: float, part: Ratings) -> Predict:
            if id(part) not in fitted:  # similarities do not depend on the penalty
                fitted[id(part)] = type(self)(**self.get_params() | {"penalty": candidates[0]}).fit(part)
            model = copy.copy(fitted[id(part)])
            model.penalty_ = penalty
            model._set_weights()
            return model._predict_ratings

        found = choose_held_out(
            ratings,
            candidates,
            learn,
            baseline=lambda part: baseline_of(part, self.baseline, self.side)._predict_ratings,
            sample=_SAMPLE,
            seed=int(self.seed),
        )
        return candidates[len(candidates) // 2] if found is None else found

    @property
    def _draws_to_baseline(self) -> bool:
        """Whether a weight of zero is a sensible place to be drawn to; a mean of ratings must not be drawn to zero."""
        return self.baseline != "none" or self.weights == "learned"

    def _set_entries(self, ratings: Ratings) -> None:
        """Sets the baseline, and the ratings as they are and less the baseline."""
        bias = baseline_of(ratings, self.baseline, self.side)
        self._ratings, self._level = ratings.values, bias.mean_
        self._user_effects, self._item_effects, self._baseline_model = bias.user_factors_, bias.item_factors_, None
        self._sides = sides_of(less_baseline(ratings, bias, self.baseline), ratings.n_items, self.side)

    def _compare(self, ratings: Ratings, rows: NDArray[np.int32]) -> Near:
        """The neighbours of some rows."""
        if self.similarity == "pearson" and (self.centre, self.baseline) == ("baseline", "effects"):
            sides = self._sides  # the deviations are what neighbours are asked for
        else:
            pearson = self.similarity == "pearson"
            by_user = deviations(ratings, self.centre, self.side) if pearson else ratings.by_user
            sides = sides_of(by_user, ratings.n_items, self.side)
        return self._neighbours_among(sides, rows, int(self.keep))

    def _set_weights(self) -> None:
        """Sets what neighbours count."""
        self._weights = self._turned = None
        if self.weights == "learned":
            penalty = self.penalty_ * self._mean_square
            self._weights = neighbour_weights(*self._sides, self._near, int(self.k), penalty)

    @property
    def _n_own(self) -> int:
        return len(self.items_ if self.side == "items" else self.users_)

    def _begin_stream(self, ratings: Ratings) -> None:
        candidates = _CANDIDATES[self.weights] if self._draws_to_baseline else (0.0,)
        self.penalty_ = candidates[len(candidates) // 2] if self.penalty is None else float(self.penalty)
        self._ratings, self._sides = EMPTY.values, Sides(EMPTY, EMPTY)
        self._near = Near(np.empty((0, int(self.keep)), np.int32), np.empty((0, int(self.keep)), np.float32))

    def _check_unchanged(self) -> None:
        """A stream goes on from all ratings before it, with neighbours of the same number."""
        if self._seen is None:
            raise ValueError(
                "this model was saved without what users have rated and cannot go on; save it with history=True"
            )
        if self.keep != self._near.indices.shape[1]:
            raise ValueError(
                f"keep is {self.keep}, what was learned has {self._near.indices.shape[1]}; fit anew, or set keep back"
            )

    def _note_seen(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        """Restores the seen items from the ratings."""

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """Ratings with more of them: neighbours are found again where a similarity has changed."""
        rows = merge(self._all_ratings().by_user, users, items, values, len(self.users_))
        ratings = Ratings(self.users_, self.items_, rows)
        self._seen = SeenItems.of(rows)
        self._set_entries(ratings)
        changed = self._changed_rows(*((items, users) if self.side == "items" else (users, items)))
        near = Near(
            np.full((self._n_own, int(self.keep)), -1, np.int32), np.zeros((self._n_own, int(self.keep)), np.float32)
        )
        for new, old, found in zip(near, self._near, self._compare(ratings, changed), strict=True):
            new[: len(old)] = old
            new[changed] = found
        self._near = near
        self._set_weights()

    def _forget_entries(self, left: Left) -> None:
        super()._forget_entries(left)
        self._ratings = self._ratings[left.entries]

    def _forget(self, rows: NDArray[np.int32]) -> None:
        """All ratings are at hand, so that neighbours can be found again among those who stay."""
        super()._forget(rows)
        assert self._seen is not None
        ratings = Ratings(self.users_, self.items_, Rows.taking(*self._seen.all_rows(), self._ratings))
        self._set_entries(ratings)
        self._near = self._compare(ratings, np.arange(self._n_own, dtype=np.int32))
        self._set_weights()

    def _changed_rows(self, own: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.int32]:
        """Rows with a similarity that depends on some entries, given by row and column.

        One entry changes similarities between rows that share its column; where a row is centred by its mean, all
        similarities of the row; where it is centred by the baseline, all similarities there are.
        """
        if self.similarity == "pearson" and self.centre == "baseline":
            return np.arange(self._n_own, dtype=np.int32)
        if self.similarity == "pearson" and self.centre == "vector":
            other = self._sides.by_own.of_rows(np.unique(own)).indices
        return np.unique(self._sides.by_other.of_rows(np.unique(other)).indices)

    def _pack(self, history: bool) -> Parts:
        """Without history leaves out the ratings: of users only effects are left; newcomers still get lists."""
        parts = super()._pack(history)
        if not history or self._seen is None:
            parts.tensors["ratings"] = self._ratings[:0]
        return parts

    def _unpack(self, parts: Parts) -> None:
        super()._unpack(parts)
        n_users, n_items = len(self.users_), len(self.items_)
        indptr, items = (np.zeros(1, np.int64), EMPTY.indices) if self._seen is None else self._seen.all_rows()
        if len(self._ratings) != len(items):
            raise ValueError(f"ratings has the length {len(self._ratings)} instead of {len(items)}")
        shapes = (self._user_effects.shape, self._item_effects.shape)
        if shapes != ((n_users, 2), (n_items, 2)):
            raise ValueError(
                f"the effects have the shapes {shapes} instead of those of {n_users} users, {n_items} items"
            )
        shape = self._n_own, int(self.keep)
        for each in (*self._near, self._heard.weights):
            if each.shape != shape:
                raise ValueError(f"the neighbours have the shape {each.shape} instead of {shape}")
        if not -1 <= self._near.indices.min(initial=-1) <= self._near.indices.max(initial=-1) < max(self._n_own, 1):
            raise ValueError("near.indices holds rows that are not there")
        indptr = np.append(indptr, np.full(n_users + 1 - len(indptr), indptr[-1]))
        ratings = Ratings(self.users_, self.items_, Rows.taking(indptr, items, self._ratings))
        self._turned = self._baseline_model = None
        self._sides = sides_of(less_baseline(ratings, self._bias(), self.baseline), n_items, self.side)
        self._renew_view()
