"""Many models on one split of the ratings: errors, lists, times and sizes side by side, and what they say."""

import html
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from rankfill.data import Ratings, RatingsLike, as_ratings, split
from rankfill.data.frames import Library, make_frame
from rankfill.data.liked import Liked
from rankfill.data.splits import By
from rankfill.data.submatrix import some_users
from rankfill.evaluation import evaluate
from rankfill.models import MODELS, Auto, Model, TimeBudget
from rankfill.models.auto.candidates import CANDIDATES
from rankfill.models.auto.kinds import kind_of
from rankfill.models.base.settings import check_positive
from rankfill.models.base.training import ended_by_interruption
from rankfill.shown import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SAMPLE = 20
"""The time of a fit is estimated on one in this many ratings."""
_ASKED = 200
"""The time of an answer is the mean over so many lists."""
_FAILURES = (ValueError, TypeError, MemoryError, ArithmeticError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Compared:
    """One model of a comparison.

    Attributes
    ----------
    model : str
        The model with its settings.
    error : float or None
        Root mean squared error of its predictions; None where it predicts no ratings, or was not fitted.
    ndcg : float or None
        NDCG@10 of its lists.
    fit_seconds : float or None
        How long it learned.
    list_milliseconds : float or None
        How long it takes to make a list of ten, many at a time.
    megabytes : float or None
        What its file would take.
    note : str
        Why it was not fitted, or what went wrong.

    Examples
    --------
    >>> Compared("Bias()", error=0.94, ndcg=0.08).error
    0.94
    """

    model: str
    error: float | None = None
    ndcg: float | None = None
    fit_seconds: float | None = None
    list_milliseconds: float | None = None
    megabytes: float | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`; prints as a table with advice.

    Attributes
    ----------
    models : list of Compared
        One for each model, the best lists first, then those that were not fitted.
    n_train, n_test : int
        How many ratings were learned from and how many were kept for the test.

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(200, 100, n_ratings=6000)
    >>> found = rf.compare(ratings, [rf.Bias(), rf.Popularity()])
    >>> sorted(each.model for each in found.models)
    ['Bias()', 'Popularity()']
    """

    models: list[Compared]
    n_train: int
    n_test: int

    def best(self, what: str) -> Compared | None:
        """Finds the model that is best.

        Parameters
        ----------
        what : {"error", "ndcg"}
            By what.

        Returns
        -------
        Compared or None
            None where no model has it.
        """
        sign = 1.0 if what == "error" else -1.0
        known = [each for each in self.models if _is_number(getattr(each, what))]
        return min(known, key=lambda each: sign * getattr(each, what), default=None)

    def advice(self) -> list[str]:
        """Says in words what to take.

        Returns
        -------
        list of str
            One sentence each.
        """
        lines = []
        if (predictor := self.best("error")) is not None:
            beside = _beside(predictor, self._find("Bias()"), "error", "of Bias()")
            lines.append(f"To predict ratings: {predictor.model}, rmse {predictor.error:.4f}{beside}.")
        if (recommender := self.best("ndcg")) is not None:
            beside = _beside(recommender, self._find("Popularity()"), "ndcg", "of bestsellers")
            lines.append(f"To recommend: {recommender.model}, ndcg@10 {recommender.ndcg:.4f}{beside}.")
        if predictor and recommender and predictor is not recommender:
            lines.append("No model does both best; Auto() holds one for each.")
        return lines

    def plot(self, path: Any = None) -> "Figure":
        """Draws errors and qualities as bars.

        Parameters
        ----------
        path : path, optional
            File to save the picture in; its ending says the format. By default it is not saved.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from rankfill.plots import quality_bars

        return quality_bars({each.model: (each.error, each.ndcg) for each in self.models if not each.note}, path)

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame of one model per row.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame. By default that of the first of the three that is installed.

        Returns
        -------
        DataFrame or Table
            With the attributes of `Compared` as columns, NaN where there is no number.
        """
        names = list(Compared.__dataclass_fields__)
        columns = {name: [getattr(each, name) for each in self.models] for name in names}
        words = {"model", "note"}
        return make_frame(
            {name: np.array(values, dtype=object if name in words else np.float64) for name, values in columns.items()},
            library,
        )

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text.

        Returns
        -------
        list of tuple of str
            The head, then one row per model.
        """
        head = ("model", "rmse", "ndcg@10", "fit s", "list ms", "MB", "")
        return [
            head,
            *(
                (
                    each.model,
                    *(_text(value, ".4f") for value in (each.error, each.ndcg)),
                    *(_size(value) for value in (each.fit_seconds, each.list_milliseconds, each.megabytes)),
                    each.note,
                )
                for each in self.models
            ),
        ]

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*table, "", *self.advice()])

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        cells = [f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows]
        table = f"<table><tr>{''.join(f'<th>{each}</th>' for each in head)}</tr>{''.join(cells)}</table>"
        return table + "".join(f"<p>{html.escape(line)}</p>" for line in self.advice())

    def _find(self, name: str) -> Compared | None:
        return next((each for each in self.models if each.model == name), None)


def compare(
    ratings: RatingsLike,
    models: Sequence[Model] | None = None,
    *,
    seconds: float = 120.0,
    test: float = 0.2,
    by: By = "user",
    liked: Liked = "above-mean",
    seed: int = 0,
    progress: Callable[[str], Any] | None = None,
) -> Comparison:
    """Fits many models to one part of the ratings, and measures them on the rest.

    What a fit costs is first found out on a twentieth of the ratings; the quickest models are fitted first, and those
    for which the time does not suffice are left out by name. Ctrl-C ends the comparison with what has been measured.

    Parameters
    ----------
    ratings : Ratings, or whatever `as_ratings` makes some of
        What to compare on.
    models : sequence of Model, optional
        What to compare, by their settings. By default every model that suits the ratings, with nothing set.
    seconds : float, default=120.0
        About how long it may take.
    test : float or int, default=0.2
        The size of the test part, as in `split`.
    by : {"user", "entry", "time", "last", "cold-users", "cold-items"}, default="user"
        Which ratings are tested, as in `split`.
    liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
        Which test ratings make an item relevant, as in `evaluate`. Counts and marks are all of liking by default.
    seed : int, default=0
        Decides the split, and seeds the models that are not given.
    progress : callable, optional
        Called with a line of text before each fit.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import rankfill as rf
    >>> found = rf.compare(rf.synthetic.low_rank(200, 100, n_ratings=6000), [rf.Bias(), rf.SGD()])
    >>> found.best("error").model
    'SGD()'
    """
    ratings = as_ratings(ratings)
    check_positive("seconds", seconds)
    if models is not None and not all(isinstance(each, Model) for each in models):
        raise TypeError(f"models must be rankfill models, found {shown(models)}")
    tell = progress or (lambda text: None)
    train, rest = split(ratings, test=test, by=by, seed=seed)
    kind = kind_of(train)
    rule: Liked = "all" if kind != "ratings" and liked == "above-mean" else liked
    began, found = time.perf_counter(), list[Compared]()
    waiting = list(_suitable(train, kind, seed) if models is None else models)
    try:
        with ended_by_interruption():
            costs = _costs(waiting, train, tell)
            waiting.sort(key=lambda model: costs[id(model)])
            for model in waiting:
                left = seconds - (time.perf_counter() - began)
                if costs[id(model)] > left:
                    found.append(Compared(repr(model), note=f"no time: about {costs[id(model)]:.0f} s"))
                    continue
                tell(f"{len(found) + 1} of {len(waiting)}: {model!r}")
                found.append(_measure(model, train, rest, rule, left))
    except KeyboardInterrupt:
        done = {each.model for each in found}
        found += [Compared(repr(each), note="interrupted") for each in waiting if repr(each) not in done]
        warnings.warn("interrupted; the comparison is of what was measured before", UserWarning, stacklevel=2)
    found.sort(key=lambda each: (bool(each.note), -(each.ndcg or 0.0)))
    return Comparison(found, len(train), len(rest))


def _suitable(ratings: Ratings, kind: str, seed: int) -> list[Model]:
    """The models that Auto tries and all others with nothing set, as far as they can learn from such ratings."""
    every = [each.model for each in CANDIDATES] + [cls() for cls in MODELS.values() if cls is not Auto]
    by_name = {repr(model): model for model in every}
    negative = bool((ratings.values < 0).any())
    return [
        clone(model).set_params(**({"seed": seed} if seed and "seed" in model.get_params() else {}))
        for model in by_name.values()
        if not (negative and model.needs_nonnegative) and (kind == "ratings" or not model.predicts_ratings)
    ]


def _costs(models: Sequence[Model], train: Ratings, tell: Callable[[str], Any]) -> dict[int, float]:
    """Estimates the time of each fit by a fit to a twentieth of the ratings; leaves out models where that fails."""
    some = some_users(train, max(len(train) // _SAMPLE, 1000))
    costs = {}
    for number, model in enumerate(models, start=1):
        tell(f"how long will it take? {number} of {len(models)}: {model!r}")
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                clone(model).fit(some)
        except _FAILURES:
            pass  # what goes wrong is told when it is fitted to everything
        costs[id(model)] = (time.perf_counter() - began) * len(train) / len(some)
    return costs


def _measure(model: Model, train: Ratings, rest: Ratings, liked: Liked, left: float) -> Compared:
    result = Compared(repr(model))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            began = time.perf_counter()
            fitted = clone(model).fit(train, callbacks=[TimeBudget(left)])
            result = replace(result, fit_seconds=time.perf_counter() - began)
            names = ["rmse", "ndcg@10"] if fitted.predicts_ratings else ["ndcg@10"]
            scores = evaluate(fitted, rest, liked=liked, scores=names)
    except _FAILURES as error:
        return replace(result, note=f"failed: {error}")
    users = train.users.ids(np.flatnonzero(train.by_user.counts())[:_ASKED])
    began = time.perf_counter()
    fitted.recommend(users)
    return replace(
        result,
        error=scores.get("rmse"),
        ndcg=scores["ndcg@10"],
        list_milliseconds=1000 * (time.perf_counter() - began) / max(len(users), 1),
        megabytes=sum(each.nbytes for each in fitted._pack(history=True).tensors.values()) / 1e6,
    )


def _is_number(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _text(value: float | None, form: str) -> str:
    return "" if value is None or math.isnan(value) else f"{value:{form}}"


def _size(value: float | None) -> str:
    """Two decimals, and more where a number is so small that they would hide it: 12.35, 0.0041."""
    places = 1 - math.floor(math.log10(value)) if value else 2
    return _text(value, f".{max(places, 2)}f")


def _beside(best: Compared, baseline: Compared | None, what: str, name: str) -> str:
    """Compares the best model with a baseline, in words."""
    if baseline is None or baseline is best or not getattr(baseline, what):
        return ""
    value, base = getattr(best, what), getattr(baseline, what)
    if what == "error":
        return f", {1 - value / base:.1%} below that {name}"
    return f", {value / base:.1f} times that {name}"
