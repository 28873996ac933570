"""The contest among the candidates: trials on ratings kept aside, then a fit of the winners to everything."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rankfill.data import Ratings
from rankfill.data.liked import LikedWord
from rankfill.models.auto.candidates import BASELINES, CANDIDATES, Candidate, select_learned
from rankfill.models.auto.choices import Choice, Choices
from rankfill.models.auto.plan import Parts, keep_parts, plan
from rankfill.models.auto.trials import Jobs, Trial, try_out
from rankfill.models.base.model import Model
from rankfill.models.base.training import InterruptedWarning, ended_by_interruption

_GRACE = 6.0
"""Trials end after so many times the seconds given, in CPU time: three times what two cores can do in them.

CPU time, because that of the clock depends on what else a machine does.
"""

Notes = dict[Candidate, str]


class Result(NamedTuple):
    """The models chosen, which ratings the recommender learned from, and the table of what was tried."""

    predictor: Model
    recommender: Model
    learns: LikedWord
    choices: Choices


def hold(
    ratings: Ratings, validation: Ratings | None, jobs: Jobs, seconds: float, seed: int, callbacks: Sequence[Any]
) -> Result:
    """Tries what there is time for, and fits the best for each job to everything.

    Where validation ratings are given they judge, and the models that they have judged are kept.
    """
    parts = keep_parts(ratings, seed) if validation is None else [(ratings, validation)]
    suitable = [each for each in CANDIDATES if each.suits(ratings) and _has_job(each, jobs)]
    planned = plan(suitable, ratings, parts, seconds, refits=validation is None)
    notes = {each: f"no time: about {cost:.0f} s" for each, cost in planned.left_out}
    trials = []
    if parts:
        trials = _try_all(planned.tried, parts, jobs, seconds, seed, validation is not None, callbacks, notes)
    else:
        notes |= dict.fromkeys(planned.tried, "not tried: too few ratings")
    if validation is None:
        notes |= {trial.candidate: trial.candidate.less_work() for trial in trials}
    winners = {job: _rank(trials, suitable, job)[0] for job, asked in zip(_BADNESS, jobs, strict=False) if asked}
    fitted: dict[Candidate, Model] = {}
    for trial in winners.values():
        if validation is not None and trial.model is not None:
            fitted[trial.candidate] = trial.model
        elif trial.candidate not in fitted:
            _tell(callbacks, "fitting", trial.candidate.name)
            fitted[trial.candidate] = _fit(trial, ratings, seed, notes)
    predictor, recommender = (winners.get(job, next(iter(winners.values()))).candidate for job in _BADNESS)
    table = _table(suitable, trials, winners, notes)
    return Result(fitted[predictor], fitted[recommender], recommender.learns, table)


def _has_job(candidate: Candidate, jobs: Jobs) -> bool:
    """Counts and marks are not to be predicted, and what ranks by predictions of them is no good."""
    return jobs.predict if candidate.model.predicts_ratings else jobs.recommend


def _try_all(
    candidates: Sequence[Candidate],
    parts: Parts,
    jobs: Jobs,
    seconds: float,
    seed: int,
    stop: bool,
    callbacks: Sequence[Any],
    notes: Notes,
) -> list[Trial]:
    """Tries one after the other. Ctrl-C, or a machine that is far too slow, ends that with the best so far."""
    began, trials = time.process_time(), list[Trial]()
    try:
        for number, candidate in enumerate(candidates):
            if time.process_time() - began > _GRACE * seconds and candidate not in BASELINES:
                notes[candidate] = "not tried: three times the seconds given were over"
                continue
            _tell(callbacks, "trying", candidate.name, number, len(candidates))
            try:
                with _quiet():
                    trials.append(try_out(candidate, parts, jobs, seed, stop=stop))
            except Exception as error:  # whatever is wrong with one of them, the others can be tried
                notes[candidate] = f"failed: {error or type(error).__name__}"
            best = {id(ranked[0]) for ranked in (_rank(trials, (), job) for job in _BADNESS) if ranked}
            trials = [trial if id(trial) in best else trial._replace(model=None) for trial in trials]
    except KeyboardInterrupt:
        done = f"interrupted after {len(trials)} of {len(candidates)} trials; the best so far is kept"
        warnings.warn(done, InterruptedWarning, stacklevel=2)
        tried = {trial.candidate for trial in trials}
        notes |= dict.fromkeys((each for each in candidates if each not in {*tried, *notes}), "not tried: interrupted")
    return trials


def _tell(callbacks: Sequence[Any], event: str, *about: Any) -> None:
    """Callbacks that show progress have a method for what comes before a report."""
    for callback in callbacks:
        if hasattr(callback, event):
            getattr(callback, event)(*about)


@contextmanager
def _quiet() -> Iterator[None]:
    """What a candidate has to say about the ratings need not be heard of every one; an interruption ends all trials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ended_by_interruption():
            yield


_BADNESS: dict[str, Callable[[Trial], float | None]] = {
    "predict": lambda trial: trial.error,
    "recommend": lambda trial: None if trial.ndcg is None else -trial.ndcg,
}
"""How bad a candidate is at each job."""


def _rank(trials: Sequence[Trial], suitable: Sequence[Candidate], job: str) -> list[Trial]:
    """Those that can do the job, the best first, then the baselines among the suitable, as good as anybody knows."""
    bad = _BADNESS[job]
    able = [trial for trial in trials if bad(trial) is not None and not math.isnan(bad(trial) or 0.0)]
    ranked = sorted(able, key=lambda trial: bad(trial) or 0.0)
    if job == "recommend":
        ranked = _all_ratings_first(ranked)
    predicts = job == "predict"
    return [
        *ranked,
        *(
            Trial(each, None, None, 0.0, None)
            for each in BASELINES
            if each in suitable and each.model.predicts_ratings == predicts
        ),
    ]


_CHANCE = 2.0
"""Mean differences of lists up to this many standard errors are chance."""


def _all_ratings_first(ranked: list[Trial]) -> list[Trial]:
    """Puts the same model on all ratings first where the best learns from some and gains no more than chance by it.

    The winner learns from more ratings than it did in its trial, and who uses every rating gains more by that: with few
    ratings a user it can be a quarter of the quality of the lists.
    """
    if not ranked or ranked[0].candidate.learns == "all":
        return ranked
    best = ranked[0]
    same = [each for each in ranked if (each.candidate.name, each.candidate.learns) == (best.candidate.name, "all")]
    alike = [each for each in same if not _is_better(best, each)]
    return [*alike, *(each for each in ranked if not any(each is one for one in alike))]


def _is_better(one: Trial, other: Trial) -> bool:
    """Whether its lists are better than those of the other by more than chance."""
    if one.lists is None or other.lists is None or len(one.lists) < 2:
        return False
    gains = one.lists - other.lists
    return bool(gains.mean() > _CHANCE * gains.std(ddof=1) / math.sqrt(len(gains)))


def _fit(trial: Trial, ratings: Ratings, seed: int, notes: Notes) -> Model:
    """Fits a winner to everything; Ctrl-C before it has learned anything keeps what the trial has learned."""
    candidate = trial.candidate
    try:
        return candidate.make(seed).fit(select_learned(ratings, candidate.learns, ratings.mean()))
    except KeyboardInterrupt:
        if trial.model is None:
            raise
        warnings.warn("interrupted; the model has learned from part of the ratings", InterruptedWarning, stacklevel=2)
        notes[candidate] = "interrupted: learned from part of the ratings"
        return trial.model


def _table(suitable: Sequence[Candidate], trials: Sequence[Trial], winners: dict[str, Trial], notes: Notes) -> Choices:
    """Those tried in the order of the trials, then the others."""
    found = {trial.candidate: trial for trial in trials}
    order = [*found, *(each for each in suitable if each not in found)]
    table = Choices()
    for each in order:
        trial = found.get(each, Trial(each, None, None, 0.0, None))
        chosen = ", ".join(job for job, winner in winners.items() if winner.candidate is each)
        table.append(
            Choice(each.name, each.learns, trial.error, trial.ndcg, trial.seconds, chosen, notes.get(each, ""))
        )
    return table
