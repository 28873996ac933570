"""One regression per item on all other items (EASE; Steck 2019, "Embarrassingly shallow autoencoders for sparse data").

    B = argmin ½ ‖X − XB‖² + ½ λ ‖B‖²  with diag B = 0,      score_ui = (XB)_ui

feedback="implicit"  X holds 1, the rating or a function of it where something was used (`entries.py`), 0 elsewhere
feedback="explicit"  X holds r_ui − b_ui where something was rated, b_ui from `Bias`; the prediction is b_ui + (XB)_ui

`weights.py` has the closed form (`kind="ridge"`), `neighbours.py` what stands in for it where there are too many items
(`kind="sparse"`), `raters.py` the regressions over those who rated an item (explicit feedback, `kind="logistic"`), and
`choice.py` how λ and the entries are chosen.
"""

import math
from collections.abc import Iterable
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import liked_entries
from rankfill.kernels import Rows
from rankfill.models.base.forgetting import Left
from rankfill.models.base.settings import Feedback, check_positive, check_seed, check_share, check_whole, check_word
from rankfill.models.base.training import Callback, Training
from rankfill.models.bias import Bias
from rankfill.models.regression.answers import AnswersByRows
from rankfill.models.regression.choice import choose, first_penalty
from rankfill.models.regression.entries import EntryWeighting, Scale, damp, residuals_of
from rankfill.models.regression.inputs import Inputs
from rankfill.models.regression.memory import check_memory
from rankfill.models.regression.neighbours import regress_on_neighbours
from rankfill.models.regression.people import Effects
from rankfill.models.regression.raters import Link, regress_over_raters, targets_of
from rankfill.models.regression.weights import regress
from rankfill.objectives.measures import rmse

Kind = Literal["ridge", "logistic", "sparse"]
WeightingChoice = Literal["auto", "one", "rating", "log", "square"]

_USERS_IN_REPORT = 1000
_WEIGHTS_PER_RATING = 2000


class ItemRegression(AnswersByRows):
    """Lists of what people choose: each item is predicted from all others by one regression (EASE).

    The best first choice for recommendations: nothing is iterated, and a newcomer's list needs nothing but what he or
    she has rated. With the default, implicit feedback, a prediction is a score that puts items in order, not a rating;
    it is never clipped. Cold start: an unknown user is the mean of the users learned (of explicit feedback: has no
    effects), an unknown item has the score 0 (the mean rating and the effect of the user).

    Parameters
    ----------
    penalty : float, optional
        Pull of the weights towards zero, above zero. By default chosen on ratings kept aside: by NDCG@10 of the lists,
        or by the error of predicted ratings with explicit feedback; from the number of ratings where there are too few.
    kind : {"ridge", "logistic", "sparse"}, default="ridge"
        "ridge" predicts each item from all others by least squares; in catalogues too large for that (see
        `max_items_dense`) it does as "sparse", which predicts each from the `keep` others that go with it most
        strongly. "logistic" is for ratings of two values, such as −1 and +1: it predicts how likely the higher is. Of
        more than two values, those from the mean upwards count as one and those below it as the other. With implicit
        feedback "logistic" tells what was chosen from all that was not, which takes long: n_items times the number of
        ratings in each step.
    feedback : {"implicit", "explicit"}, default="implicit"
        Whether the model learns what is chosen, or how much is liked what was chosen. Use "explicit" to predict
        ratings.
    weighting : {"auto", "one", "rating", "log", "square"}, default="auto"
        What implicit feedback counts: 1 for every rating, the rating over the largest, its logarithm or its square.
        "auto" takes the one that gives the best lists of ratings kept aside. Without effect on explicit feedback.
    damping : float, optional
        From 0 to 1. A user with n ratings counts as much as n to the power of −damping in the regressions of implicit
        feedback, so that those who rate everything do not outweigh all others. 0 is EASE as published. By default 0.5
        or 0, chosen together with the weighting; 0 where a weighting is given. Without effect on explicit feedback and
        on "logistic".
    max_items_dense : int, default=25_000
        Up to so many items, each is predicted from all others. That takes 4 bytes for each pair of items, 2.5 GB for
        25,000, and time in proportion to the cube of their number; so it needs at least one rating for 2,000 pairs.
        In larger or emptier catalogues each item is predicted from `keep` others, among as many with the most ratings.
    keep : int, default=100
        From how many items each is predicted at most in the sparse kind.
    seed : int, default=0
        Seeds the choice of ratings kept aside.
    clip : bool, default=True
        Keep predictions within the range of the ratings. Without effect on implicit feedback.

    Attributes
    ----------
    item_weights_ : ndarray or scipy.sparse.csr_array of shape (n_items, n_items)
        How much each item, by row, speaks for each other, by column; zero on the diagonal. Sparse in the sparse kind.
    penalty_ : float
        The penalty used.
    weighting_ : str
        What implicit feedback counts, as chosen.
    damping_ : float
        The damping used.
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The least and the greatest rating, without the few that stand far apart from all others.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        The one pass over the ratings. The error in training is that of at most some thousand users. With implicit
        feedback errors compare scores with what the ratings count.

    Examples
    --------
    >>> from rankfill import ItemRegression, Ratings
    >>> users, items = [1, 1, 2, 2, 3, 4, 4, 5], ["tea", "milk", "tea", "milk", "tea", "beer", "nuts", "beer"]
    >>> model = ItemRegression(penalty=1.0).fit(Ratings.from_arrays(users, items, [1.0] * 8))
    >>> model.recommend([3, 5], n=1).items
    array([['milk'],
           ['nuts']], dtype=object)
    """

    passes, tol = 1, 0.0  # one pass is all there is

    def __init__(
        self,
        *,
        penalty: float | None = None,
        kind: Kind = "ridge",
        feedback: Feedback = "implicit",
        weighting: WeightingChoice = "auto",
        damping: float | None = None,
        max_items_dense: int = 25_000,
        keep: int = 100,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.penalty = penalty
        self.kind = kind
        self.feedback = feedback
        self.weighting = weighting
        self.damping = damping
        self.max_items_dense = max_items_dense
        self.keep = keep
        self.seed = seed
        self.clip = clip

    @property
    def predicts_ratings(self) -> bool:
        """Whether predictions are ratings; with implicit feedback they are scores that only put items in order."""
        return self.feedback == "explicit"

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("kind", self.kind, Kind)
        check_word("feedback", self.feedback, Feedback)
        check_word("weighting", self.weighting, WeightingChoice)
        check_whole("max_items_dense", self.max_items_dense, 1)
        check_whole("keep", self.keep, 1)
        check_seed(self.seed)
        if self.penalty is not None:
            check_positive("penalty", self.penalty)
        if self.damping is not None:
            check_share("damping", self.damping)
        if self.kind == "logistic" and ratings.n_items > self.max_items_dense:
            raise ValueError(
                f'kind="logistic" predicts each of {ratings.n_items} items from all others, which is more than '
                f"max_items_dense={self.max_items_dense}; raise that, leave out rare items by ratings.filter, or use "
                'kind="sparse"'
            )
        check_memory(ratings.n_items, self._most(ratings), int(self.keep), sparse=self._is_sparse(ratings))

    def _most(self, ratings: Ratings) -> int:
        """The most items that may be predicted from each other: ratings limit how many weights pay off."""
        return min(int(self.max_items_dense), max(1, math.isqrt(_WEIGHTS_PER_RATING * len(ratings))))

    def _is_sparse(self, ratings: Ratings) -> bool:
        return self.kind == "sparse" or (self.kind == "ridge" and ratings.n_items > self._most(ratings))

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                self._scale, self._effects = Scale.of(ratings), None
                self._link = Link(True, 0.0, 1.0) if self.kind == "logistic" else None
                if self.feedback == "explicit":
                    bias = Bias(effects="items" if self.kind == "logistic" else "both", clip=False).fit(ratings)
                    self._effects = Effects(bias.user_factors_, bias.item_factors_)
                    self._link = self._link_of(ratings, bias)
                self._choose(ratings)
                entries = ratings.by_user._replace(values=self._entries_of(ratings, self._bias()))
                self._entries = entries.values
                objective = self._regress(entries, ratings)
                self._set_default_scores(ratings.item_indices, int((ratings.by_user.counts() > 0).sum()))
                training.report(objective, self._train_error(ratings))

    def _link_of(self, ratings: Ratings, bias: Bias) -> Link | None:
        if self.kind == "logistic":
            return Link.of_likes(ratings.values, liked_entries(ratings))
        return None if self._is_sparse(ratings) else Link.of_spread(residuals_of(ratings, bias))

    def _choose(self, ratings: Ratings) -> None:
        """Sets penalty, weighting and damping: as given, or as they do best on ratings kept aside."""
        weightings: list[EntryWeighting] = [*get_args(EntryWeighting)] if self.weighting == "auto" else [self.weighting]
        implicit = self.feedback == "implicit"
        if not implicit or ratings.values.min() == ratings.values.max():
            weightings = ["rating"]  # or all alike
        elif self.kind == "logistic" and self.weighting == "auto":
            weightings = ["one"]
        penalty = None if self.penalty is None else float(self.penalty)
        dampings = [0.0 if self.damping is None else float(self.damping)]
        if self.damping is None and self.weighting == "auto" and implicit and self.kind != "logistic":
            dampings = [0.5, 0.0]
        found = None
        if penalty is None or len(weightings) > 1:
            found = choose(ratings, weightings, dampings, penalty, self._link, implicit=implicit, seed=int(self.seed))
        self.weighting_ = found.weighting if found else weightings[0]
        self.damping_ = found.damping if found else dampings[-1]
        if penalty is None:
            n_rated = int((self._item_counts.array > 0).sum())
            penalty = found.penalty if found else first_penalty(self._entries_of(ratings, self._bias()), n_rated)
        self.penalty_ = penalty

    def _regress(self, entries: Rows, ratings: Ratings) -> float:
        """Sets the weights, and returns the value of the objective."""
        self._dense = self._neighbours = self._item_effects = None
        if self._link is not None:
            features = self._link.features(ratings.n_users)
            targets = None if self.feedback == "implicit" else targets_of(ratings, self._link, self._bias())
            logistic = self._link.logistic
            found = regress_over_raters(entries, ratings.n_items, targets, features, self.penalty_, logistic=logistic)
            self._dense, self._item_effects, objective = found
            return objective if logistic else self._link.half**2 * objective
        inputs = Inputs.of(damp(entries, self.damping_), ratings.n_items)
        if self._is_sparse(ratings):
            most, keep = self._most(ratings), int(self.keep)
            self._neighbours, objective = regress_on_neighbours(inputs, self.penalty_, most=most, keep=keep)
            self._by_source = self._neighbours.by_source()
            return objective
        self._dense, objective = regress(inputs, self.penalty_)
        return objective

    def _set_default_scores(self, rated: NDArray[np.int32], n_users: int) -> None:
        """The row of an unknown user: the mean row of X, or with explicit feedback zeros."""
        n_items = len(self.items_)
        self._default_scores = np.zeros(n_items, np.float32)
        if self.feedback == "explicit":
            return
        sums = np.bincount(rated, weights=self._entries, minlength=n_items)
        mean = (sums / max(n_users, 1)).astype(np.float32)
        items = np.arange(n_items, dtype=np.int32)
        self._default_scores = self._products(Rows.taking(np.array([0, len(items)]), items, mean))[0]

    def _forget_entries(self, left: Left) -> None:
        """The weights of the items stay; what an unknown user is taken for is the mean of those who stay."""
        super()._forget_entries(left)
        assert self._seen is not None
        self._entries = self._entries[left.entries]
        n_rated = int((self._user_counts.array[left.users] > 0).sum())
        self._set_default_scores(self._seen.all_rows()[1][left.entries], n_rated)

    def _snapshot(self) -> dict[str, object]:
        return {}  # one pass: there is nothing to go back to

    def _train_error(self, ratings: Ratings) -> float:
        """The error on some users: scores of everybody for everything would take as long as the regressions."""
        step = -(-ratings.n_users // _USERS_IN_REPORT)
        some = ratings.select(ratings.user_indices % step == 0)
        return self._error(some if len(some) else ratings)

    def _error(self, ratings: Ratings) -> float:
        """With implicit feedback, how far scores are from what the ratings count."""
        if self.feedback == "explicit":
            return super()._error(ratings)
        return rmse(self._entries_of(ratings, None), self._predict_ratings(ratings))
