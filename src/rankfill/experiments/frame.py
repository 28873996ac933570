"""The arguments and the result of an experiment."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rankfill.experiments.material import Material, find_material

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Any_ = TypeVar("Any_")
Records = Sequence[dict[str, Any]]
"""One row per dictionary, all with the same keys."""


@dataclass(frozen=True)
class Asked:
    """The arguments of an experiment.

    Attributes
    ----------
    data : Path, optional
        The folder of the data sets; by default the one that RANKFILL_DATA names.
    dataset : str, optional
        Which data set; by default MovieLens 1M where it is, else made-up ratings of that shape.
    quick : bool
        Whether little data and few repetitions are enough: a few seconds, to see that all works.
    say : callable
        Told in a few words what is being done.
    """

    data: Path | None = None
    dataset: str | None = None
    quick: bool = False
    say: Callable[[str], object] = field(default=lambda _: None, repr=False)

    def choose(self, usual: Any_, quick: Any_) -> Any_:
        """One setting for a whole run, another for a quick one."""
        return quick if self.quick else usual

    def material(self, *, genres: bool = False) -> Material:
        """The ratings to work on; with genres where the experiment needs those of the items."""
        return find_material(self.data, self.dataset, quick=self.quick, genres=genres)


@dataclass(frozen=True)
class Line:
    """A line of the table that sets our figures beside the published ones."""

    what: str
    paper: str
    ours: str
    remark: str = ""


@dataclass(frozen=True)
class Result:
    """The result of an experiment.

    Attributes
    ----------
    data : str
        What it was measured on: the first line of the report.
    lines : sequence of Line
        Ours beside the paper's.
    records : dict
        Tables by name, each written as a CSV.
    figures : dict
        Pictures by name, each written as a PNG.
    notes : str
        What else has to be known, as Markdown.
    """

    data: str
    lines: Sequence[Line]
    records: dict[str, Records]
    figures: dict[str, "Figure"] = field(default_factory=dict)
    notes: str = ""


def mean_and_spread(values: Iterable[float], digits: int = 2) -> str:
    """Formats numbers as in 20.61 ± 0.01: the mean and the standard deviation over runs."""
    import numpy as np

    numbers = np.array(list(values), dtype=np.float64)
    return f"{numbers.mean():.{digits}f} ± {numbers.std():.{digits}f}"
