"""What was tried, and what was chosen for which job."""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """One model that was tried: one row of the table `choices_`.

    Attributes
    ----------
    model : str
        The model with its settings.
    learns : str
        From which ratings it learns: "all", or those that were liked by a rule of `rankfill.data.liked`.
    error : float or None
        Root mean squared error of its predictions on ratings kept aside; None where it predicts no ratings.
    ndcg : float or None
        NDCG@10 of its lists on ratings kept aside; None where that was not asked for.
    seconds : float
        What its trials took.
    chosen : str
        What it was chosen for: "predict", "recommend", "predict, recommend" or nothing.
    note : str
        Why it was not tried, with how much less work, or what went wrong.

    Examples
    --------
    >>> import rankfill as rf
    >>> model = rf.Auto().fit(rf.synthetic.low_rank(60, 40, n_ratings=900, seed=0))
    >>> model.choices_[0].model
    'Popularity()'
    """

    model: str
    learns: str = "all"
    error: float | None = None
    ndcg: float | None = None
    seconds: float = 0.0
    chosen: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """The model, and what it learns from where that is not everything."""
        return self.model if self.learns == "all" else f"{self.model} on ratings {self.learns}"


class Choices(list[Choice]):
    """The table of what was tried; prints as such."""

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text, the head first."""
        head = ("model", "learns from", "rmse", "ndcg@10", "seconds", "chosen to")
        return [
            head,
            *(
                (
                    each.model,
                    each.learns,
                    _cell(each.error),
                    _cell(each.ndcg),
                    "" if each.note and not each.seconds else f"{each.seconds:.2f}",
                    "; ".join(filter(None, (each.chosen, each.note))),
                )
                for each in self
            ),
        ]

    def chosen(self, job: str) -> Choice | None:
        """What was chosen to "predict" or to "recommend"."""
        return next((each for each in self if job in each.chosen.split(", ")), None)

    def why(self) -> list[str]:
        """The choice in words, a line for each job."""
        lines = []
        for job, measure, value, sign in _JOBS:
            best = self.chosen(job)
            if best is None or value(best) is None:
                continue
            tried = [each for each in self if value(each) is not None and each is not best]
            others = sorted(tried, key=lambda each: sign * (value(each) or 0.0))
            beside = ""
            if others:
                next_one, next_value = others[0].label, value(others[0]) or 0.0
                behind = sign * (next_value - (value(best) or 0.0)) >= 0
                beside = f", then {next_one} with {next_value:.4f}"
                if not behind:  # it learns from fewer ratings, and a difference by chance does not count
                    beside = f"; {next_one} with {next_value:.4f} is better by no more than chance"
            lines.append(f"To {job}: {best.label}, {measure} {value(best):.4f} on ratings kept aside{beside}.")
        return lines

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict per row."""
        return [asdict(each) for each in self]

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        cells = [f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows]
        return f"<table><tr>{''.join(f'<th>{each}</th>' for each in head)}</tr>{''.join(cells)}</table>"


_JOBS: Sequence[tuple[str, str, Callable[[Choice], float | None], int]] = (
    ("predict", "rmse", lambda choice: choice.error, 1),
    ("recommend", "ndcg@10", lambda choice: choice.ndcg, -1),
)
"""What a model is chosen for, by which measure, where that stands, and which way is better: 1 for less."""


def _cell(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.4f}"
