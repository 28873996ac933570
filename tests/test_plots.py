"""What is in the pictures: lines, labels, bars; how they look is for the eye."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from rankfill import Bias, EpochReport, PassiveAggressive, Ratings
from rankfill.plots import learning_curve, quality_bars, topics_plot
from rankfill.plots.topic_panels import BAR, BAR_BELOW_ZERO
from rankfill.topics import Topic, topics

PNG = b"\x89PNG\r\n\x1a\n"


def history(n: int, validation: bool = True, seconds: float = 1.0) -> list[EpochReport]:
    """Training error 1/n, validation error lowest at a third of the way."""
    return [
        EpochReport(k, k * seconds, 1.0, 1 + 1 / k, 2 + abs(k - max(n // 3, 1)) / n if validation else None)
        for k in range(1, n + 1)
    ]


def topic(factor: int, n: int = 3) -> Topic:
    return Topic(factor, tuple(range(n)), tuple(f"Film {i}" for i in range(n)), tuple(np.arange(n, 0, -1.0)), 0.25)


def words(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def draw(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("n", [1, 2, 15, 200])
def test_lines_of_training_and_validation(n: int) -> None:
    reports = history(n)
    figure = draw(learning_curve(reports))
    (axes,) = figure.axes
    validation, best, training = axes.lines
    assert validation.get_ydata().tolist() == [report.validation for report in reports]
    assert training.get_ydata().tolist() == [report.train for report in reports]
    assert best.get_xdata().tolist() == [max(n // 3, 1)]
    assert axes.get_title(loc="left") == "RMSE"
    assert axes.get_xlabel() == "pass"
    ticks = axes.get_xticks()
    assert ticks[0] == 1
    assert ticks[-1] <= n
    assert all(tick == int(tick) for tick in ticks)


def test_labels_stand_at_the_ends_and_name_the_best_pass() -> None:
    assert words(learning_curve(history(9))) == ["validation 2.6667\nbest 2.0000 at pass 3", "training 1.1111"]
    assert words(learning_curve(history(2, validation=False))) == ["training 1.5000"]


def test_the_upper_axis_tells_the_time() -> None:
    figure = draw(learning_curve(history(10, seconds=60.0)))
    (above,) = figure.axes[0].child_axes
    assert above.get_xlabel() == "learning time"
    labels = [label.get_text() for label in above.get_xticklabels()]
    assert labels == ["2 min", "4 min", "6 min", "8 min", "10 min"]
    assert above.get_xticks().tolist() == [2, 4, 6, 8, 10]  # a pass takes a minute
    assert not draw(learning_curve(history(1))).axes[0].child_axes
    assert not draw(learning_curve(history(5, seconds=0.0))).axes[0].child_axes


def test_a_pass_that_took_long_does_not_pile_up_times() -> None:
    reports = history(5)
    reports[2:] = [EpochReport(k, 1000.0 + k, 1.0, 1.0, 1.0) for k in (3, 4, 5)]
    (above,) = draw(learning_curve(reports)).axes[0].child_axes
    assert (np.diff(above.get_xticks()) > 0.3).all()


def test_baselines_are_dashed_and_labelled() -> None:
    figure = draw(learning_curve(history(9), baseline={"bias": 2.5, "mean": 2.6}))
    dashed = [line for line in figure.axes[0].lines if line.is_dashed()]
    assert [line.get_ydata()[0] for line in dashed] == [2.5, 2.6]
    assert words(figure)[-2:] == ["bias 2.5000", "mean 2.6000"]
    assert words(learning_curve(history(9), baseline=2.5))[-1] == "baseline 2.5000"


@pytest.mark.parametrize("validation", [True, False], ids=["mid-height", "at the bottom"])
def test_labels_do_not_overlap(validation: bool) -> None:
    figure = draw(learning_curve({str(k): history(9, validation) for k in range(6)}, baseline=1.1))
    boxes = sorted((text.get_window_extent() for text in figure.axes[0].texts), key=lambda box: box.y0)
    assert len(boxes) == 7
    assert all(upper.y0 >= lower.y1 - 1 for lower, upper in itertools.pairwise(boxes))
    assert boxes[0].y0 >= figure.axes[0].get_window_extent().y0 - 1


@pytest.fixture
def models() -> list[PassiveAggressive]:
    ratings = Ratings.from_dense(np.random.default_rng(0).integers(1, 6, (9, 5)))
    return [PassiveAggressive(rank=2, passes=3, C=C, tol=None).fit(ratings, validation=ratings) for C in (0.01, 0.1)]


def test_models_lists_and_mappings(models: list[PassiveAggressive]) -> None:
    one = draw(learning_curve(models[0]))
    assert one.axes[0].get_title(loc="left") == "MAE"
    assert len(one.axes[0].lines) == 3
    several = draw(learning_curve(models))
    assert [label.split(":")[0] for label in words(several)] == ["PassiveAggressive 1", "PassiveAggressive 2"]
    assert several.axes[0].get_title(loc="right") == "bold: validation, thin: training"
    named = draw(learning_curve({"careful": models[0], "bold": models[1].history_}))
    assert [label.split(":")[0] for label in words(named)] == ["careful", "bold"]


def test_errors_that_ran_away_leave_a_gap() -> None:
    reports = [*history(4), EpochReport(5, 5.0, 1.0, math.inf, math.nan)]
    figure = draw(learning_curve(reports))
    assert words(figure) == ["validation 2.7500\nbest 2.0000 at pass 1", "training 1.2500"]


def test_pictures_that_cannot_be_drawn_are_refused_in_words(models: list[PassiveAggressive]) -> None:
    with pytest.raises(ValueError, match="no passes to draw"):
        learning_curve([])
    with pytest.raises(ValueError, match="at least one fitted model"):
        learning_curve({})
    with pytest.raises(NotFittedError):
        learning_curve(PassiveAggressive())
    with pytest.raises(ValueError, match="one picture shows one measure, found mae and rmse"):
        learning_curve([models[0], Bias().fit(Ratings.from_dense([[1, 2]]))])
    with pytest.raises(ValueError, match="no topics to draw"):
        topics_plot([])


@pytest.mark.parametrize("n", [1, 2, 4, 5, 30])
def test_a_panel_a_topic_and_a_bar_an_item(n: int) -> None:
    figure = draw(topics_plot([topic(k) for k in range(n)]))
    assert len(figure.axes) == n
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"Topic {k}" for k in range(n)]
    assert figure.axes[0].get_title(loc="right") == "25.0 % of the mean prediction"
    for axes in figure.axes:
        assert [bar.get_width() for bar in axes.patches] == [3, 2, 1]
        assert [text.get_text() for text in axes.texts] == ["Film 0", "3.00", "Film 1", "2.00", "Film 2", "1.00"]
    if n > 4:
        assert figure.get_figwidth() * figure.dpi == pytest.approx(1500)


def test_long_titles_are_shortened_and_stay_off_the_numbers() -> None:
    long = Topic(0, (1, 2, 3), ("W" * 90, "Costs $5\nor $6", "i" * 300), (1.0, -0.5, 0.2), 1.0)
    figure = draw(topics_plot([long, topic(1), topic(2)]))
    texts = figure.axes[0].texts
    assert texts[0].get_text().endswith("…")
    assert texts[4].get_text().endswith("…")
    assert len(texts[4].get_text()) > 2 * len(texts[0].get_text())  # cut by width, not by letters
    assert texts[2].get_text() == "Costs $5 or $6"
    for title, number in zip(texts[::2], texts[1::2], strict=True):
        assert title.get_window_extent().x1 < number.get_window_extent().x0


def test_negative_weights_have_a_colour_of_their_own() -> None:
    figure = topics_plot([Topic(0, (1, 2), ("a", "b"), (-2.0, 1.0), 1.0)])
    assert [bar.get_width() for bar in figure.axes[0].patches] == [2, 1]
    colours = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert colours == [to_rgba(BAR_BELOW_ZERO), to_rgba(BAR)]
    assert words(figure)[1] == "−2.00"


def test_a_topic_without_items_says_so() -> None:
    assert words(draw(topics_plot([Topic(0, (), (), (), 0.0)]))) == ["no items"]


def test_topics_of_a_model_can_be_drawn(models: list[PassiveAggressive]) -> None:
    assert len(draw(topics_plot(topics(models[0]))).axes) == 2


@pytest.mark.parametrize(
    ("pairs", "panels"),
    [
        ([(0.9, 0.1), (None, 0.2)], ["RMSE", "NDCG@10"]),
        ([(None, 0.1), (None, 0.2)], ["NDCG@10"]),
        ([(0.9, None), (0.8, None)], ["RMSE"]),
        ([(None, None)], ["RMSE", "NDCG@10"]),
    ],
)
def test_bars_of_models_have_a_panel_for_each_measure_that_some_model_has(pairs, panels) -> None:
    figure = draw(quality_bars({f"model {place}": pair for place, pair in enumerate(pairs)}))
    assert [axes.get_title(loc="left").partition(",")[0] for axes in figure.axes] == panels
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [f"model {k}" for k in range(len(pairs))]


@pytest.mark.parametrize("name", ["picture.png", "picture"])
def test_a_path_gets_a_png(tmp_path: Path, name: str) -> None:
    for plot, what in ((learning_curve, history(3)), (topics_plot, [topic(0)])):
        plot(what, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(PNG)
        plot(what, str(tmp_path / name))


def test_no_global_state_is_touched() -> None:
    code = "import rankfill.plots, sys; print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
