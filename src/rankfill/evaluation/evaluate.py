"""Every measure of a fitted model on test ratings, in one table."""

import warnings
from collections.abc import Collection

import numpy as np

from rankfill.data import RatingsLike, as_ratings
from rankfill.data.liked import Liked, check_liked
from rankfill.models import Model
from rankfill.models.base.judging import scores_of
from rankfill.models.base.lists import learned_entries
from rankfill.models.base.settings import check_whole
from rankfill.objectives.scores import PREDICTION, Score, parse_score
from rankfill.shown import html_table

USUAL_SCORES = ("rmse", "mae", "nmae", "top5", "ndcg", "precision", "recall", "coverage")


class Scores(dict[str, float]):
    """The values of measures by their names: a dict that is a table in a notebook."""

    def _repr_html_(self) -> str:
        return html_table([(name, f"{value:.4f}") for name, value in self.items()], header=("measure", "value"))


def evaluate(
    model: Model,
    test: RatingsLike,
    *,
    n: int = 10,
    liked: Liked = "above-mean",
    scores: Collection[str] | None = None,
) -> dict[str, float]:
    """Measures how well a fitted model predicts and ranks test ratings.

    Users and items that the model has not learned get its cold-start answer and count like any other. Relevant items
    that cannot be recommended, being new or rated by the same user in training, count as missed; so does a place
    that stays empty because fewer items are left. Ratings that the model has learned from are told in a warning, for
    on them it shows its memory.

    Parameters
    ----------
    model : Model
        A fitted model.
    test : Ratings, or whatever `as_ratings` makes some of
        Ratings that the model has not learned from.
    n : int, default=10
        Length of the lists of recommendations that are judged by measures without a length of their own; at least 1.
    liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
        Which test ratings make an item relevant to a user: those of at least the mean rating in training; those of
        at least the mean rating of this user in training; all; or those of at least that number.
    scores : collection of str, optional
        Names of the measures wanted, such as "rmse", "ndcg" or, for lists of 50, "recall@50". By default rmse, mae,
        nmae, top5, ndcg, precision, recall and coverage, or the last four alone where the model predicts no ratings;
        without those of lists, most of the time is saved.

    Returns
    -------
    dict of str to float
        The value of each measure by its name, as asked for; NaN where no rating or user qualifies:

        - rmse, mae, nmae: how far predictions are from ratings, over all test ratings (`objectives.measures`).
        - top5: the share of a user's five best rated test items that are among the five predicted best of all test
          items of this user; mean over the users with at least five. With exactly five the share is always 1. Equal
          ratings are as good as each other, equal predictions count with the mean over their orders.
        - ndcg, precision, capped_precision, recall, map, mrr, hit_rate, auc: judge the items recommended to a user,
          out of all items with a rating in training that this user has not rated there. Precision divides the hits
          by the length of the list, capped_precision by the most hits there can be, recall by the number of relevant
          items; `objectives.ranking` has all formulas. Mean over the users with at least one relevant test item.
        - coverage, novelty, rare_share: what is on these lists. Coverage is the share of the items with a rating in
          training that are on at least one; novelty the mean of −log₂ of the share of users who have rated an item;
          rare_share the share of places that go to items with at most 20 ratings in training.

    Examples
    --------
    >>> import rankfill as rf
    >>> train = rf.Ratings.from_arrays(["ann", "ann", "bob", "cat"], ["tea", "milk", "tea", "beer"], [5, 3, 5, 1])
    >>> test = rf.Ratings.from_arrays(["bob", "cat", "dan"], ["milk", "tea", "tea"], [4, 4, 5])
    >>> model = rf.Bias(shrinkage=0).fit(train)
    >>> result = rf.evaluate(model, test, n=1)
    >>> {name: round(value, 2) for name, value in result.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'rmse': 0.82, 'mae': 0.67, 'nmae': 15.38, 'top5': nan, 'ndcg': 1.0, 'precision': 1.0, 'recall': 1.0,
     'coverage': 0.67}
    >>> rf.evaluate(model, test, liked=5, scores=["recall@1", "mrr@2"])
    {'recall@1': 1.0, 'mrr@2': 1.0}
    """
    wanted, test = check_scores(model, n, liked, scores), as_ratings(test)
    learned = learned_entries(model, test)
    if learned.any():
        warn_of_learned(int(np.count_nonzero(learned)), len(test), stacklevel=3)
    values = scores_of(model, test, list(wanted.values()), liked, learned)
    return Scores({name: values[score] for name, score in wanted.items()})


def warn_of_learned(n_learned: int, n_test: int, stacklevel: int) -> None:
    """Says that test ratings are not new to the model."""
    warnings.warn(
        f"the model has learned from {n_learned:,} of the {n_test:,} test ratings: measures of predictions look better "
        "than they are, and what a user has rated is never recommended; evaluate on ratings held out, such as "
        "rankfill.split makes them",
        stacklevel=stacklevel,
    )


def check_scores(model: Model, n: int, liked: Liked, scores: Collection[str] | None) -> dict[str, Score]:
    """The measures asked for, by their names."""
    if not isinstance(model, Model):
        raise TypeError(f"evaluate needs a rankfill model, found {type(model).__name__}")
    model._check_fitted()
    check_whole("n", n, 1)
    check_liked(liked)
    if isinstance(scores, str):
        raise TypeError(f"scores must be a list of names, found {scores!r}; write [{scores!r}]")
    return {name: parse_score(name, int(n)) for name in (_usual_scores(model) if scores is None else scores)}


def _usual_scores(model: Model) -> list[str]:
    """The default measures: scores that are no ratings have no distance from ratings."""
    return [name for name in USUAL_SCORES if model.predicts_ratings or name not in PREDICTION]
