"""Two models behind one: a predictor with the least error, and a recommender with the best lists.

Candidates (`candidates.py`) learn from one part of the ratings and are judged on the rest: predictions by the root mean
squared error, lists by NDCG@10 (`trials.py`). The best of each learns from everything. What is tried within a time
follows from the sizes of the data (`plan.py`), so that the same ratings and seed give the same model. CPU time only
ends the trials where they take three times as long as they should.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.liked import Liked, LikedWord
from rankfill.models.auto.candidates import select_learned
from rankfill.models.auto.choices import Choice, Choices
from rankfill.models.auto.contest import hold
from rankfill.models.auto.described import DescribedParts, items_in, users_in
from rankfill.models.auto.file_parts import pack_part, unpack_part
from rankfill.models.auto.kinds import Kind, kind_of
from rankfill.models.auto.trials import Jobs
from rankfill.models.base.forgetting import Left
from rankfill.models.base.model import Model
from rankfill.models.base.reasons import OwnRatings, Reading
from rankfill.models.base.settings import check_positive, check_seed, check_word
from rankfill.models.base.state import Parts, record_from
from rankfill.models.base.training import Callback, Training
from rankfill.models.popularity import Popularity
from rankfill.objectives.ranking import find_hits

Goal = Literal["both", "predict", "recommend"]

_LEARNING_ON = ("partial_fit", "learn_one", "learn_many")
_FOLLOWED = ("users_", "items_", "n_ratings_", "mean_", "range_", "_user_counts", "_user_sums", "_item_counts", "_seen")
"""What a model knows of users and items as it goes on learning."""


class Auto(DescribedParts):
    """The model to begin with: finds out by itself what predicts and what recommends best.

    It holds a predictor, which has the least error on ratings kept aside, and a recommender, which has the best lists.
    Both are chosen among many models, the baselines `Bias` and `Popularity` always among them, and then learn from
    everything. `predict` answers from the predictor; `recommend` ranks by the recommender and tells the predicted
    rating of each item beside it (`Recommendations.ratings`). Where the ratings are counts, or all equal, there is no
    rating to predict: one model then does both, and predictions are its scores. `fit` takes the rule of what is liked,
    and with validation ratings the choice is made on them. Cold start is that of the model that answers.
    `partial_fit` and `learn_one` are there where the models within have them. Features of items or users (`fit`) let
    those without ratings have predictions and places in lists.

    Parameters
    ----------
    goal : {"both", "predict", "recommend"}, default="both"
        What the model is for. With "predict" lists go by the predicted ratings, with "recommend" predictions are the
        scores of the recommender.
    seconds : float, default=60.0
        About how long a fit may take, on two cores. What is tried follows from an estimate, not from the clock, so that
        the same ratings give the same model.
    seed : int, default=0
        Decides what is kept aside, and seeds all models.
    clip : bool, default=True
        Keep predicted ratings within the range of the ratings.

    Attributes
    ----------
    predictor_ : Model
        The model that predicts.
    recommender_ : Model
        The model that recommends; the same one where one does both.
    choices_ : list of Choice
        What was tried, with error, NDCG@10 and seconds, and what was chosen. Prints as a table.
    kind_ : str
        What the ratings were taken for: "ratings", "counts" or "positives".
    users_, items_ : Vocabulary
        The ids, in the order of the rows.
    mean_ : float
        The mean rating.
    range_ : tuple of two floats
        The smallest and the largest rating.
    n_ratings_ : int
        The number of ratings learned from.
    history_ : list of EpochReport
        The one pass that trials and fits are counted as.

    Examples
    --------
    >>> import rankfill as rf
    >>> train, test = rf.split(rf.synthetic.low_rank(200, 100, n_ratings=6000), test=0.2)
    >>> model = rf.Auto().fit(train)
    >>> rf.evaluate(model, test, scores=["rmse"])["rmse"] < rf.evaluate(rf.Bias().fit(train), test)["rmse"]
    True
    >>> model.recommend(0, n=3).ratings.shape
    (1, 3)
    """

    passes, tol = 1, 0.0  # trials and fits are one pass
    _learned: ClassVar[tuple[str, ...]] = ("kind_", "_learns")

    kind_: Kind
    choices_: Choices
    predictor_: Model
    recommender_: Model
    _learns: LikedWord

    def __init__(
        self,
        *,
        goal: Goal = "both",
        seconds: float = 60.0,
        seed: int = 0,
        clip: bool = True,
    ) -> None:
        self.goal = goal
        self.seconds = seconds
        self.seed = seed
        self.clip = clip

    @property
    def predicts_ratings(self) -> bool:
        """Whether predictions are ratings; those of a recommender are scores."""
        return self.predictor_.predicts_ratings if hasattr(self, "predictor_") else self.goal != "recommend"

    def _hint(self, ratings: Ratings) -> None:
        """No ratings are wrong for it: there are models for every kind among its candidates."""

    @property
    def ranks_by_prediction(self) -> bool:
        """Whether lists go by the predictions: not where there is a recommender beside the predictor."""
        return not hasattr(self, "predictor_") or self.predictor_ is self.recommender_

    def __getattr__(self, name: str) -> Any:
        """What only some models can do, go on learning, is offered where the models within can."""
        parts = [self.__dict__.get(each) for each in ("predictor_", "recommender_")]
        if name in _LEARNING_ON and all(hasattr(part, name) for part in parts):
            return partial(self._learn_on, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _learn_on(self, how: str, *arguments: Any, **options: Any) -> Self:
        """Lets the models within go on learning, and takes over what they know of users and items."""
        with self._writing:
            for part in self._within():
                getattr(part, how)(*arguments, **options)
            self.__dict__ |= {name: self.predictor_.__dict__[name] for name in _FOLLOWED}
            self._owns_vocabularies = False
            self._renew_view()
        return self

    def fold_in(self, new_user_ratings: Ratings) -> NDArray[np.float32]:
        """Learns about people not in training, as the predictor does; the model itself stays unchanged.

        Parameters
        ----------
        new_user_ratings : Ratings
            What they rated. Ratings of items that the model does not know are left out.

        Returns
        -------
        ndarray
            One row per person, in the order of `new_user_ratings.users`: what `predictor_.fold_in` gives.
        """
        view = self._view()
        return view.predictor_.fold_in(view._ratings_for(view.predictor_, new_user_ratings))

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_word("goal", self.goal, Goal)
        check_positive("seconds", self.seconds)
        check_seed(self.seed)

    def _learn(
        self, ratings: Ratings, validation: Ratings | None, callbacks: Iterable[Callback], init: Self | None
    ) -> None:
        callbacks = tuple(callbacks)
        with Training(self, validation, callbacks) as training:
            for _ in training.epochs():
                kind = kind_of(ratings)
                predict = self.goal != "recommend" and kind == "ratings"
                # Counts and marks are all of liking, unless the caller has another rule than the usual one.
                liked: Liked = "all" if kind != "ratings" and self._liked == "above-mean" else self._liked
                jobs = Jobs(predict, self.goal != "predict" or not predict, liked)
                contest = hold(ratings, validation, jobs, float(self.seconds), int(self.seed), callbacks)
                self.kind_, self.choices_ = kind, contest.choices
                self.predictor_, self.recommender_ = contest.predictor, contest.recommender
                self._learns = contest.learns
                train = self._error(ratings)
                training.report(train, train)

    def _snapshot(self) -> dict[str, Any]:
        return {}  # one pass: there is nothing to go back to

    def _error(self, ratings: Ratings) -> float:
        return super()._error(ratings) if self.predicts_ratings else self.predictor_._error(ratings)

    def _forget_entries(self, left: Left) -> None:
        """The models within forget the same users."""
        super()._forget_entries(left)
        gone = self.users_.ids(np.setdiff1d(np.arange(left.n_before), left.users))
        for part in self._within():
            part.forget(gone)

    def _renew_view(self) -> None:
        """A view holds views of the models, so that they belong together."""
        super()._renew_view()
        if hasattr(self, "predictor_"):
            view = self._view()
            view.predictor_, view.recommender_ = self.predictor_._view(), self.recommender_._view()

    def _score(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        part = self.predictor_
        return part._score(users_in(part, users), items_in(part, items))

    def _score_one(self, user: int, item: int) -> float:
        users, items = np.array([user], np.int32), np.array([item], np.int32)
        return float(self._clip(self._score(self._learned_users(users), self._learned_items(items)))[0])

    def _score_all_folded(self, ratings: Ratings) -> NDArray[np.float32]:
        scores = self.predictor_._score_all_folded(self._ratings_for(self.predictor_, ratings))
        return np.pad(scores, ((0, 0), (0, len(self.items_) - scores.shape[1])))

    def _best_items(
        self,
        users: NDArray[np.int32],
        n: int,
        allowed: NDArray[np.bool_],
        seen_indptr: NDArray[np.int64],
        seen_items: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return self._list(users, n, allowed, (seen_indptr, seen_items))

    def _best_items_folded(
        self, ratings: Ratings, n: int, allowed: NDArray[np.bool_], exclude_seen: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        known = self._ratings_for(self.recommender_, ratings)
        if len(known) == len(ratings) or not exclude_seen:
            return self._list_folded(known, n, allowed, exclude_seen)
        # What the recommender did not learn from is on longer lists, and taken out of them.
        rated = self._in_own_items(ratings)
        longer = min(n + int(rated.by_user.counts().max(initial=0)), len(self.items_))
        items, scores = self._list_folded(known, longer, allowed, exclude_seen)
        seen = find_hits(items, rated.by_user)
        order = np.argsort(seen | (items < 0), axis=1, kind="stable")[:, :n]
        gone = np.take_along_axis(seen, order, axis=1)
        items, scores = np.take_along_axis(items, order, axis=1), np.take_along_axis(scores, order, axis=1)
        return np.where(gone, np.int32(-1), items), np.where(gone, np.float32(np.nan), scores)

    def _usual_items(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """Only a recommender that goes by predicted ratings has to beware of rarely rated items."""
        return super()._usual_items() if self.recommender_.predicts_ratings else (self._item_counts.array > 0, None)

    def _item_vectors(self, items: NDArray[np.int32]) -> NDArray[np.float32]:
        """Items that the recommender does not know are like no others."""
        part = self.recommender_
        known = items < len(part.items_)
        found = part._item_vectors(items[known])
        vectors = np.zeros((len(items), found.shape[1]), found.dtype)
        vectors[known] = found
        return vectors

    def _most_similar(
        self, side: str, rows: NDArray[np.int32], n: int, learned: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """By the model that knows tastes: the recommender, unless it is one of bestsellers."""
        part = self.predictor_ if isinstance(self.recommender_, Popularity) else self.recommender_
        n_known = len(part.items_ if side == "items" else part.users_)
        found, similarities = part._most_similar(side, rows, min(n, n_known), learned[:n_known])
        empty = ((0, 0), (0, n - found.shape[1]))
        return np.pad(found, empty, constant_values=-1), np.pad(similarities, empty, constant_values=np.nan)

    def _reading(self, user: int, item: int, own: OwnRatings | None) -> Reading:
        part = self.predictor_
        users, items = users_in(part, np.array([user], np.int32)), items_in(part, np.array([item], np.int32))
        return part._reading(int(users[0]), int(items[0]), own)

    def _ratings_of_lists(
        self, people: NDArray[np.int32] | Ratings, items: NDArray[np.int32]
    ) -> NDArray[np.float32] | None:
        if self.ranks_by_prediction or not self.predicts_ratings:
            return None
        rows, columns = np.nonzero(items >= 0)
        part, found = self.predictor_, np.full(items.shape, np.nan, np.float32)
        listed = items[rows, columns]
        if isinstance(people, Ratings):
            found[rows, columns] = part._score_folded(people, rows, listed)
        else:
            found[rows, columns] = self._score(people[rows], listed)
        return self._clip(found)

    def _ratings_for(self, part: Model, ratings: Ratings) -> Ratings:
        """Those ratings of newcomers that the model learns from."""
        return select_learned(ratings, self._learns, self.mean_) if part is self.recommender_ else ratings

    def _pack(self, history: bool) -> Parts:
        parts = super()._pack(history)
        parts.words["choices"] = self.choices_.as_dicts()
        pack_part("recommender", self.recommender_, history, parts)
        if self.predictor_ is self.recommender_:
            parts.words["predictor"] = None
        else:
            pack_part("predictor", self.predictor_, history, parts)
        return parts

    def _unpack(self, parts: Parts) -> None:
        choices = parts.word("choices", list[dict[str, Any]])
        self.choices_ = Choices(record_from("choices", Choice, each) for each in choices)
        self.recommender_ = unpack_part("recommender", parts)
        alone = parts.words["predictor"] is None
        self.predictor_ = self.recommender_ if alone else unpack_part("predictor", parts)
        sizes = len(parts.tensor("user_counts")), len(parts.tensor("item_counts"))
        for part in self._within():
            own = len(part.users_), len(part.items_)
            if own != sizes and (part.takes_features or own > sizes):
                raise ValueError("predictor and recommender are not of the same users and items as the whole")
        super()._unpack(parts)
        if self._guessed is not None and len(self._guessed.known) > len(self.items_):
            raise ValueError("guessed holds features of more items than there are")
