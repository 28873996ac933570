"""The search: its errors are those of cross-validation, its shortcuts do not change what is found, it can be ended."""

import io
import itertools

import numpy as np
import pytest
from rich.console import Console
from sklearn.base import clone

import rankfill as rf
from rankfill.tuning import live
from rankfill.tuning.search import Progress


@pytest.fixture(scope="module")
def ratings():
    return rf.synthetic.low_rank(80, 50, n_ratings=1600, rank=2, noise=0.4, seed=1)


@pytest.fixture(scope="module")
def batches(ratings):
    """The same as five batches of a stream."""
    bounds = np.linspace(0, len(ratings), 6).astype(int)
    places = np.empty(len(ratings), dtype=int)
    places[ratings.stream_order()] = np.arange(len(ratings))
    return [ratings.select((places >= a) & (places < b)) for a, b in itertools.pairwise(bounds)]


def state_of(model):
    users, items = model.users_.ids(), model.items_.ids()
    return model.predict(users[:, None], items[None, :]).tobytes()


def test_errors_are_those_of_cross_validation_and_the_model_that_of_fit(ratings):
    model = rf.SGD(rank=2, passes=4)
    found = rf.tune(model, ratings, grid={"penalty": [0.01, 0.1, 1.0], "rate": [0.05, 0.2]}, folds=4, seed=3)
    assert len(found.trials) == 6
    for trial in found.trials:
        alone = rf.cross_validate(clone(model).set_params(**trial.params), ratings, folds=4, seed=3)
        assert trial.errors.tobytes() == alone.errors.tobytes()
        assert (trial.passes, trial.learned) == (4, 16)
    assert found.best is min(found.trials, key=lambda trial: trial.error)
    assert state_of(found.best_model) == state_of(clone(model).set_params(**found.best_params).fit(ratings))
    assert not hasattr(model, "users_")


def test_a_memoriser_is_not_better_than_chance(memoriser, unpredictable):
    found = rf.tune(memoriser(), unpredictable, grid={"clip": [True, False]})
    streamed = rf.tune(memoriser(), unpredictable, grid={"clip": [True, False]}, passes=2)
    for trial in (*found.trials, *streamed.trials):
        assert trial.error == pytest.approx(np.std(unpredictable.values), rel=0.03)
    assert found.best_model._error(unpredictable) == streamed.best_model._error(unpredictable) == 0


WARM = [
    name for name, cls in rf.MODELS.items() if cls.warm_path != "none" and {"penalty", "tol"} <= set(cls().get_params())
]


def test_some_models_follow_a_path():
    assert {"als", "coordinate-descent", "gradient-descent"} <= set(WARM)


@pytest.mark.parametrize("name", WARM)
def test_a_warm_path_ends_where_cold_fits_end_in_fewer_passes(name, ratings):
    settings = {"rank": 3, "passes": 900, "tol": 1e-7, "biases": False, "shrinkage": 0.0}
    cls = rf.MODELS[name]
    known = cls().get_params()
    model = cls(**{key: value for key, value in settings.items() if key in known})
    scaled = type(model).__mro__[1].__name__ == "ScaledFactorModel"
    penalties = [0.03 * 1.2**k for k in range(4)] if scaled else [2.0 * 1.2**k for k in range(4)]
    found = rf.tune(model, ratings, grid={"penalty": penalties}, folds=2, refit=False)
    cold, passes = {}, 0
    for trial in found.trials:
        errors = []
        for fold in range(2):
            train, test = _fold(ratings, fold)
            alone = clone(model).set_params(**trial.params).fit(train)
            errors.append(alone._error(test))
            passes += len(alone.history_)
        np.testing.assert_allclose(trial.errors, errors, rtol=5e-3)
        cold[trial.params["penalty"]] = np.mean(errors)
    assert found.best_params["penalty"] == min(cold, key=cold.__getitem__)
    share = 0.95 if name == "trace-tradeoff" else 0.8  # its passes are few and long: six a fit from cold
    assert sum(trial.learned for trial in found.trials) < share * passes


def _fold(ratings, fold):
    own = rf.data.folds.stratified_folds(ratings, 2, 0) == fold
    return ratings.select(~own), ratings.select(own)


def test_halving_spends_passes_on_what_is_promising(ratings):
    grid = {"rate": [1e-4, 1e-3, 1e-2, 0.1, 0.2], "rank": [1, 2], "penalty": [0.02, 0.1]}
    model = rf.SGD(passes=9, tol=None)
    quick, slow = (rf.tune(model, ratings, grid, folds=3, halving=halving) for halving in (True, False))
    assert quick.best_params == slow.best_params
    assert quick.best.error == slow.best.error
    assert sum(trial.learned for trial in quick.trials) < 0.45 * sum(trial.learned for trial in slow.trials)
    by_passes = {p: [trial for trial in quick.trials if trial.passes == p] for p in (1, 3, 9)}
    assert [len(group) for group in by_passes.values()] == [12, 4, 4]  # ten paths, four, two; two penalties on each
    assert [trial.dropped for trial in quick.trials] == [trial.passes < 9 for trial in quick.trials]
    for trial in by_passes[1]:
        alone = rf.cross_validate(rf.SGD(passes=1, tol=None).set_params(**trial.params), ratings, folds=3)
        assert trial.errors.tobytes() == alone.errors.tobytes()


def test_settings_with_passes_of_their_own_are_not_halved(ratings):
    found = rf.tune(rf.SGD(rank=2, tol=None), ratings, grid={"passes": [1, 3, 12], "rate": [0.1]}, folds=2)
    assert [trial.passes for trial in found.trials] == [1, 3, 12]
    assert not any(trial.dropped for trial in found.trials)
    assert found.best.error == min(trial.error for trial in found.trials)


def test_a_stream_gives_the_errors_of_streams_and_a_model_that_has_seen_all(ratings, batches):
    model, grid = rf.SGD(rank=2), {"penalty": [0.01, 0.3], "rate": [0.05, 0.1]}
    found = rf.tune(model, batches, grid, folds=3, passes=2, seed=4)
    for trial in found.trials:
        setting = clone(model).set_params(**trial.params)
        alone = rf.cross_validate_stream(setting, batches, folds=3, passes=2, seed=4)
        assert trial.errors.tobytes() == alone.errors.tobytes()
    whole = clone(model).set_params(**found.best_params).partial_fit(ratings).partial_fit(ratings)
    assert state_of(found.best_model) == state_of(whole)


def test_a_stream_from_batches_is_gone_through_once(ratings, batches):
    stream = iter(batches)
    found = rf.tune(rf.PassiveAggressive(rank=2), stream, grid={"C": [0.01, 0.1]})
    assert found.measure == "mae"
    assert found.best_model.n_ratings_ == len(ratings)
    assert next(stream, None) is None


def test_streamed_settings_are_dropped_between_passes(batches):
    grid = {"rate": [1e-4, 0.05, 0.2], "penalty": [0.02, 0.1]}
    found = rf.tune(rf.SGD(rank=2), batches, grid, passes=3)
    assert sorted(trial.passes for trial in found.trials) == [1, 1, 1, 1, 3, 3]
    assert all(trial.dropped == (trial.passes == 1) for trial in found.trials)
    assert not found.best.dropped


@pytest.mark.parametrize("streamed", [False, True], ids=["batch", "stream"])
def test_the_same_bits_on_any_number_of_threads(ratings, batches, streamed):
    before = rf.get_threads()
    try:
        results = []
        for threads in (1, 3):
            rf.set_threads(threads)
            found = rf.tune(
                rf.SGD(passes=3),
                batches if streamed else ratings,
                distributions={"penalty": (0.01, 1.0), "rank": (1, 8)},
                trials=4,
            )
            results.append([trial.errors.tobytes() for trial in found.trials] + [state_of(found.best_model)])
    finally:
        rf.set_threads(before)
    assert results[0] == results[1]


def test_a_sample_tells_what_does_not_depend_on_size(ratings):
    model, grid = rf.SGD(rank=2, passes=4), {"penalty": [0.01, 0.1, 1.0]}
    found = rf.tune(model, ratings, grid, folds=3, on="sample", ratio=0.8, seed=2)
    small = rf.sample_submatrix(ratings, 0.8, seed=2)
    assert len(small) < 0.7 * len(ratings)
    there = rf.tune(model, small, grid, folds=3, seed=2)
    assert [trial.errors.tobytes() for trial in found.trials] == [trial.errors.tobytes() for trial in there.trials]
    assert state_of(found.best_model) == state_of(clone(model).set_params(**found.best_params).fit(ratings))


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (rf.ALS(), {"penalty": [1.0]}),
        (rf.ALS(weighting="count"), {"weighting": ["constant"], "penalty": [1.0]}),
        (rf.PassiveAggressive(), {"C": [0.1]}),
    ],
)
def test_a_sample_is_not_asked_what_it_cannot_tell(ratings, model, grid):
    name = list(grid)[-1]
    with pytest.raises(ValueError, match=rf"the best {name} of {type(model).__name__}.* depends on how many ratings"):
        rf.tune(model, ratings, grid, on="sample")
    by_count = rf.ALS(weighting="count", rank=2, passes=2)
    rf.tune(by_count, ratings, {"penalty": [0.1]}, on="sample", ratio=0.9, folds=2)


def interrupt_after(n):
    def callback(progress):
        if progress.done >= n:
            raise KeyboardInterrupt

    return callback


def test_interruption_keeps_what_was_found(ratings):
    grid = {"shrinkage": [1000.0, 3.0, 0.0]}
    with pytest.warns(UserWarning, match="interrupted; the best of what was found so far is taken"):
        found = rf.tune(rf.Bias(), ratings, grid, callbacks=[interrupt_after(5)])
    assert found.interrupted
    assert [trial.n_folds for trial in found.trials] == [2, 2, 1]
    first = [trial.errors[0] for trial in found.trials]
    assert found.best is found.trials[int(np.argmin(first))]
    assert found.best_model.n_ratings_ == len(ratings)


def test_interruption_within_a_fit_ends_the_search(ratings):
    class Impatient(rf.Bias):
        def fit(self, ratings, validation=None, callbacks=(), init=None):
            def interrupt(report):
                if self.shrinkage == 7:
                    raise KeyboardInterrupt

            return super().fit(ratings, validation, [interrupt], init)

    with pytest.warns(UserWarning, match="interrupted"):
        found = rf.tune(Impatient(), ratings, grid={"shrinkage": [9.0, 7.0, 5.0]}, refit=False)
    assert [trial.n_folds for trial in found.trials] == [1, 0, 0]
    with pytest.raises(KeyboardInterrupt):
        rf.tune(Impatient(), ratings, grid={"shrinkage": [7.0]})
    with pytest.raises(KeyboardInterrupt):
        rf.cross_validate(Impatient(shrinkage=7), ratings)


def test_a_budget_and_a_callback_end_the_search(ratings):
    found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [1.0, 2.0]}, budget=1e-9)
    assert [trial.n_folds for trial in found.trials] == [0, 1]
    assert not found.interrupted
    found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [1.0, 2.0]}, callbacks=[lambda progress: progress.done == 3])
    assert [trial.n_folds for trial in found.trials] == [1, 2]
    streamed = rf.tune(rf.SGD(rank=2), ratings, grid={"rate": [0.1]}, passes=1, budget=1e-9)
    assert streamed.best.n_folds


def test_settings_that_fail_do_not_end_the_search(ratings):
    grid = {"solver": ["cholesky", "conjugate-gradient"], "nonnegative": ["none", "both"]}
    found = rf.tune(rf.ALS(rank=2, passes=2), ratings, grid, folds=2)
    failed = [trial for trial in found.trials if trial.failed]
    assert [trial.params for trial in failed] == [{"solver": "conjugate-gradient", "nonnegative": "both"}]
    assert "cannot keep nonnegative" in failed[0].failed
    assert repr(found).splitlines()[-1].endswith("failed")
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1, found 0"):
        rf.tune(rf.ALS(), ratings, grid={"rank": [0]})


def test_the_result_prints_as_a_table_best_first(ratings):
    found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [1000.0, 3.0], "effects": ["both"]}, measure="mae")
    header, first, second = repr(found).splitlines()
    assert header.split()[:4] == ["shrinkage", "effects", "passes", "mae"]
    assert first.split()[:2] == ["3", "both"]
    assert first.endswith("best")
    assert f"{found.best.error:.4f}" in first
    assert second.split()[0] == "1000"
    assert found.at_edge == {"shrinkage": "smallest"}
    assert repr(found.best).startswith("shrinkage=3.0, effects='both': mae 0.")
    many = rf.tune(rf.Bias(), ratings, grid={"shrinkage": list(range(30))}, folds=2, refit=False)
    assert "10 more" in repr(many).splitlines()[-1]
    assert many.best_model is None


def test_the_picture_has_a_panel_for_each_parameter_that_varies(ratings, tmp_path):
    found = rf.tune(
        rf.SGD(passes=3),
        ratings,
        grid={"penalty": [0.01, 0.1, 1.0], "loss": ["squared", "huber"], "rank": [2]},
        folds=3,
    )
    figure = found.plot(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert [axes.get_xlabel() for axes in figure.axes] == ["penalty", "loss"]
    assert figure.axes[0].get_xscale() == "log"
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["squared", "huber"]
    line = figure.axes[0].lines[0]
    lowest = [
        min(trial.error for trial in found.trials if trial.params["penalty"] == penalty) for penalty in (0.01, 0.1, 1.0)
    ]
    assert line.get_ydata().tolist() == lowest
    (bars,) = figure.axes[0].containers
    assert len(bars.lines[0].get_ydata()) == 6
    assert f"best {found.best.error:.4f}\nat {found.best_params['penalty']:g}" in [
        text.get_text() for text in figure.axes[0].texts
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_the_live_table_is_silent_without_a_terminal(terminal, monkeypatch, ratings):
    found = rf.tune(rf.Bias(), ratings, grid={"shrinkage": [1.0, 2.0]}, refit=False)
    screen = io.StringIO()
    monkeypatch.setattr(live, "Console", lambda **_: Console(file=screen, force_terminal=terminal, width=100))
    with live.LiveTable(shown=True) as table:
        table.show(Progress(list(found.trials), 4, 10, 60.0))
    if terminal:
        assert "fit 4 of 10, 1:00 gone, about 1:30 left" in screen.getvalue()
        assert f"{found.best.error:.4f}" in screen.getvalue()
    else:
        assert screen.getvalue() == ""


def test_what_cannot_be_is_refused_in_words(ratings):
    with pytest.raises(ValueError, match="budget must be a positive number of seconds, found 0"):
        rf.tune(rf.Bias(), ratings, {"shrinkage": [1.0]}, budget=0)
    with pytest.raises(TypeError, match="Bias has no partial_fit, so it cannot learn from a stream"):
        rf.tune(rf.Bias(), [ratings], {"shrinkage": [1.0]})
    with pytest.raises(ValueError, match="on must be one of all, sample, found 'half'"):
        rf.tune(rf.SGD(), ratings, {"rate": [0.1]}, on="half")
    with pytest.raises(ValueError, match="searches in memory, found passes=2 over a stream"):
        rf.tune(rf.SGD(), ratings, {"rate": [0.1]}, on="sample", passes=2)
    with pytest.raises(TypeError, match="needs Ratings in memory, found list"):
        rf.tune(rf.SGD(), [ratings], {"rate": [0.1]}, on="sample")
    with pytest.raises(ValueError, match="nothing could be scored: the ratings are too few; give more"):
        rf.tune(rf.SGD(), [ratings], {"rate": [0.1]})


@pytest.mark.parametrize("measure", ["ndcg@5", "hit_rate", "rare_share@3"])
@pytest.mark.parametrize("halving", [False, True])
def test_the_best_by_a_measure_of_lists_has_its_best_value(ratings, measure, halving, tmp_path):
    model = rf.SGD(rank=2, passes=4)
    found = rf.tune(
        model, ratings, grid={"rank": [1, 2, 4], "rate": [0.001, 0.2]}, folds=2, measure=measure, halving=halving
    )
    running = [trial for trial in found.trials if not trial.dropped]
    values = [trial.error for trial in running]
    assert found.best.error == (min(values) if measure == "rare_share@3" else max(values))
    alone = rf.cross_validate(clone(model).set_params(**found.best_params), ratings, folds=2, measure=measure)
    assert found.best.errors.tolist() == alone.errors.tolist()
    assert found.measure == alone.measure
    lines = repr(found).splitlines()
    assert ("shorter" if measure == "rare_share@3" else "longer") in lines[0]
    assert lines[1].endswith("best")
    found.plot(tmp_path / "tuning.png")


def test_a_setting_that_fails_is_not_the_best_by_a_measure_of_lists(ratings):
    found = rf.tune(rf.ALS(passes=2), ratings, grid={"rank": [2, -1]}, folds=2, measure="ndcg@5", refit=False)
    assert found.best_params == {"rank": 2}
    assert found.trials[1].failed


def test_a_stream_cannot_be_searched_by_lists(ratings):
    with pytest.raises(ValueError, match="give Ratings and no passes"):
        rf.tune(rf.SGD(rank=2), ratings, grid={"rate": [0.1]}, passes=1, measure="ndcg@5")
