"""Finding good settings for a model, and the model learned with them."""

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

from sklearn.base import clone

from rankfill.data import Ratings, sample_submatrix
from rankfill.data.folds import check_folds
from rankfill.data.liked import Liked
from rankfill.evaluation.cross_validation import check_arguments, check_error
from rankfill.evaluation.streaming import Stream, check_incremental
from rankfill.models import Auto, Model
from rankfill.models.base.training import TimeBudget, asked_to_stop
from rankfill.tuning.candidates import Params, Space, candidates
from rankfill.tuning.live import LiveTable
from rankfill.tuning.natural import natural_search
from rankfill.tuning.result import Trial, Tuning, best_of
from rankfill.tuning.search import Progress, Search
from rankfill.tuning.stream_search import StreamSearch

On = Literal["all", "sample"]


class _Enough(Exception):  # noqa: N818
    """A callback asked to stop, or the time is up."""


def tune(
    model: Model,
    ratings: Stream,
    grid: Space | None = None,
    *,
    distributions: Space | None = None,
    trials: int = 20,
    folds: int = 5,
    budget: float | None = None,
    passes: int | None = None,
    halving: bool = True,
    on: On = "all",
    ratio: float = 0.3,
    measure: str | None = None,
    liked: Liked = "above-mean",
    refit: bool = True,
    seed: int = 0,
    progress: bool = False,
    callbacks: Iterable[Callable[[Progress], Any]] = (),
) -> Tuning:
    """Tries settings of a model by cross-validation, and learns the best from everything.

    What to try is a `grid`, of which all combinations are tried, or `distributions`, from which settings are drawn.

    Over `Ratings` every fold is learned by `fit`. Settings that differ in regularisation alone (`penalty`, `trace`,
    `C`, `shrinkage`) form a path. Along a path each fit starts from the one before, where a fit is a solution rather
    than so many passes.

    With `passes`, or with a file or batches instead of `Ratings`, all settings learn side by side by `partial_fit`, as
    in `cross_validate_stream`.

    Ctrl-C ends the search, and what was found until then counts. Without a budget, the result depends on the ratings,
    the settings and the seed alone.

    Parameters
    ----------
    model : Model
        The model; parameters that are not searched for keep their values.
    ratings : Ratings, path, or iterable of Ratings
        Ratings in memory, the path of a file that is read in batches, or batches of your own.
    grid : mapping, optional
        Lists of values by the names of the parameters. Either this or `distributions` has to be given, but for `Auto`:
        there the model is chosen that does best, and searched around its own settings.
    distributions : mapping, optional
        What to draw from by the names of the parameters: a range (low, high), which is log-uniform, with whole numbers
        between whole numbers; a list of values; or a distribution of `scipy.stats`.
    trials : int, default=20
        Number of settings to draw from `distributions`; a grid is tried as a whole.
    folds : int, default=5
        Number of parts of the ratings, each of which is held out in turn; at least 2.
    budget : float, optional
        Seconds after which the search ends with the best so far. By default there is no limit.
    passes : int, optional
        How often to read the ratings as a stream. By default `Ratings` are learned by `fit`, and streams read once.
    halving : bool, default=True
        Whether to give all paths few passes first and only the best third thrice as many, and so on. It has no effect
        with fewer than three paths.
    on : {"all", "sample"}, default="all"
        Whether to search on all ratings or on a part of the users and items (`sample_submatrix`). The best setting is
        learned from everything either way. "sample" is refused for parameters whose best value depends on the size of
        the data: the `penalty` of a trace norm, the `C` of passive-aggressive passes.
    ratio : float, default=0.3
        The share of users and of items in the sample; above 0 and up to 1.
    measure : str, optional
        The error or the measure of lists to go by: "rmse", "mae", "nmae", "top5", or one that `evaluate` has for lists,
        such as "ndcg@10" (lists of 10 without @). By default the model's own `measure`.
    liked : {"above-mean", "above-user-mean", "all"} or float, default="above-mean"
        Which held-out ratings make an item relevant, as in `evaluate`; for measures of lists.
    refit : bool, default=True
        Whether to learn the best setting from everything at the end.
    seed : int, default=0
        Seed of the folds, the draws and the sample.
    progress : bool, default=False
        Whether to show a live table, where there is a terminal.
    callbacks : iterable of callable, default=()
        Each is called with the `Progress` after every fit (in a stream, every batch), and ends the search by returning
        True.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(80, 50, n_ratings=1500, rank=2, seed=0)
    >>> found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [0.0, 3.0, 1000.0]})
    >>> found.best_params
    {'shrinkage': 3.0}
    >>> found.best_model.n_ratings_
    1500
    """
    if isinstance(model, Auto) and grid is None and distributions is None:
        model, grid = natural_search(model, ratings, measure)
    measure = check_arguments(model, measure, liked)
    check_folds(folds)
    _check_options(on, passes, budget)
    found = candidates(model, grid, distributions, trials, seed)
    started = time.perf_counter()
    searched = _sample(model, ratings, found, ratio, seed) if on == "sample" else ratings
    stops: list[Callable[[Any], Any]] = [*callbacks, *([] if budget is None else [TimeBudget(budget)])]
    with LiveTable(shown=progress) as live:

        def report(state: Progress) -> None:
            live.show(state)
            if asked_to_stop(stops, state) and any(trial.n_folds for trial in state.trials):
                raise _Enough

        how = {"folds": folds, "measure": measure, "liked": liked, "halving": halving, "seed": seed, "report": report}
        search = _search(model, searched, found, passes, how)
        interrupted = _run(search)
    best = best_of(search.trials)
    learned = _learn_best(model, ratings, search, best) if refit else None
    return Tuning(search.trials, best, learned, measure, time.perf_counter() - started, interrupted)


def _check_options(on: On, passes: int | None, budget: float | None) -> None:
    if on not in get_args(On):
        raise ValueError(f"on must be one of {', '.join(get_args(On))}, found {on!r}")
    if on == "sample" and passes is not None:
        raise ValueError(f'on="sample" searches in memory, found passes={passes} over a stream; leave one of them out')
    if budget is not None and not budget > 0:
        raise ValueError(f"budget must be a positive number of seconds, found {budget!r}")


def _sample(model: Model, ratings: Stream, found: list[Params], ratio: float, seed: int) -> Ratings:
    """A sub-matrix to search on, unless it could not tell what is searched for."""
    if not isinstance(ratings, Ratings):
        raise TypeError(
            f'on="sample" needs Ratings in memory, found {type(ratings).__name__}; read them, or stream them all'
        )
    for params in found:
        setting = clone(model).set_params(**params)
        for name in params:
            if setting._depends_on_size(name):
                raise ValueError(
                    f"the best {name} of {setting} depends on how many ratings there are, so a sample cannot tell it; "
                    'search on="all", or search for other parameters'
                )
    return sample_submatrix(ratings, ratio, seed=seed)


def _search(
    model: Model, ratings: Stream, found: list[Params], passes: int | None, how: dict[str, Any]
) -> Search | StreamSearch:
    """Reads ratings into memory, unless a stream is given or asked for by a number of passes."""
    if isinstance(ratings, Ratings) and passes is None:
        return Search(model, ratings, found, **how)
    check_incremental(model)
    how["measure"] = check_error(how["measure"])
    del how["liked"]
    return StreamSearch(model, ratings, found, passes=passes or 1, **how)


def _run(search: Search | StreamSearch) -> bool:
    """Whether Ctrl-C ended it; if nothing was found by then, that is an interruption like any other."""
    try:
        search.run()
    except _Enough:
        return False
    except KeyboardInterrupt:
        if not any(trial.n_folds for trial in search.trials):
            raise
        warnings.warn("interrupted; the best of what was found so far is taken", stacklevel=3)
        return True
    return False


def _learn_best(model: Model, ratings: Stream, search: Search | StreamSearch, best: Trial) -> Model | None:
    """The model with the best setting: a stream has taught it already, `Ratings` teach it now."""
    learned: Model | None = None
    if isinstance(search, StreamSearch):
        learned = search.models[next(place for place, trial in enumerate(search.trials) if trial is best)]
    elif isinstance(ratings, Ratings):
        learned = clone(model).set_params(**best.params).fit(ratings)
    return learned
