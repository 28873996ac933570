"""Finding good settings for a model, and the model learned with them."""

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

from sklearn.base import clone

from rankfill.data import Ratings, sample_submatrix
from rankfill.data.folds import check_folds
from rankfill.evaluation.cross_validation import check_arguments
from rankfill.evaluation.streaming import Stream, check_incremental
from rankfill.models import Model
from rankfill.models.training import TimeBudget, asked_to_stop
from rankfill.objectives.measures import Measure
from rankfill.tuning.candidates import Params, Space, candidates
from rankfill.tuning.live import LiveTable
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
    measure: Measure | None = None,
    refit: bool = True,
    seed: int = 0,
    progress: bool = False,
    callbacks: Iterable[Callable[[Progress], Any]] = (),
) -> Tuning:
    """Tries settings by cross-validation and learns the best from everything.

    `grid` lists the values of each parameter, and all combinations are tried; or `trials` settings are drawn from
    `distributions`: a (low, high) range, log-uniform, whole numbers between whole numbers; a list; or a distribution of
    `scipy.stats`.

    Over `Ratings` every fold is learned by `fit`. Settings that differ in regularisation alone (`penalty`, `trace`,
    `C`, `shrinkage`) form a path; where a fit is a solution rather than so many passes, each starts from the one
    before. Of at least three paths all get few passes, the best third thrice as many, and so on (`halving`).

    With `passes`, or with a file or batches instead of `Ratings`, all settings learn side by side by `partial_fit` from
    a stream that is read `passes` times (once), as in `cross_validate_stream`.

    With `on="sample"` the search goes over a sub-matrix of the share `ratio` of users and items (`sample_submatrix`),
    and only the best setting is learned from everything. That is refused for parameters whose best value depends on the
    size of the data: the `penalty` of a trace norm, the `C` of passive-aggressive passes.

    `budget` is in seconds; it ends the search, and so does Ctrl-C or a callback that returns True. What was found until
    then counts. `progress` shows a live table on a terminal. Without a budget, the result depends on the
    ratings, the settings and the `seed` alone.

    >>> import rankfill as rf
    >>> ratings = rf.synthetic.low_rank(80, 50, n_ratings=1500, rank=2, seed=0)
    >>> found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [0.0, 3.0, 1000.0]})
    >>> found.best_params
    {'shrinkage': 3.0}
    >>> found.best_model.n_ratings_
    1500
    """
    check_arguments(model, measure)
    check_folds(folds)
    _check_options(on, passes, budget)
    found = candidates(model, grid, distributions, trials, seed)
    measure, started = measure or model.measure, time.perf_counter()
    searched = _sample(model, ratings, found, ratio, seed) if on == "sample" else ratings
    stops: list[Callable[[Any], Any]] = [*callbacks, *([] if budget is None else [TimeBudget(budget)])]
    with LiveTable(shown=progress) as live:

        def report(state: Progress) -> None:
            live.show(state)
            if asked_to_stop(stops, state) and any(trial.n_folds for trial in state.trials):
                raise _Enough

        how: dict[str, Any] = {"folds": folds, "measure": measure, "halving": halving, "seed": seed, "report": report}
        search: Search | StreamSearch
        if isinstance(searched, Ratings) and passes is None:
            search = Search(model, searched, found, **how)
        else:
            check_incremental(model)
            search = StreamSearch(model, searched, found, passes=passes or 1, **how)
        interrupted = _run(search)
    best = best_of(search.trials)
    learned = _learned(model, ratings, search, best) if refit else None
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


def _learned(model: Model, ratings: Stream, search: Search | StreamSearch, best: Trial) -> Model | None:
    """The model with the best setting: a stream has taught it already, `Ratings` teach it now."""
    learned: Model | None = None
    if isinstance(search, StreamSearch):
        learned = search.models[next(place for place, trial in enumerate(search.trials) if trial is best)]
    elif isinstance(ratings, Ratings):
        learned = clone(model).set_params(**best.params).fit(ratings)
    return learned
