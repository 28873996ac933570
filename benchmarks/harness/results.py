"""What a comparison measured, before it becomes tables, JSON and a picture."""

from dataclasses import dataclass, field

from benchmarks.harness.child import Result
from benchmarks.harness.datasets import About
from benchmarks.harness.summary import Spread, paired_ratio, spreads
from benchmarks.rivals import REFERENCE, RIVALS
from benchmarks.rivals.base import Plan, Settings, Task


@dataclass
class Measurement:
    """One system at one task and number of passes, one result per repetition; `shown` ones are rows of the tables."""

    rival: str
    task: Task
    plan: Plan
    settings: Settings
    shown: bool = True
    tuned: bool = False
    runs: list[Result] = field(default_factory=list)
    failed: str = ""

    @property
    def name(self) -> str:
        return RIVALS[self.rival].name

    def spreads(self) -> dict[str, Spread]:
        return spreads(self.runs)


@dataclass
class Comparison:
    """Everything one run found out; `loads` are the load averages of the machine before and after."""

    about: About
    plan: Plan
    measure: str
    repetitions: int
    measurements: list[Measurement]
    skipped: dict[str, str]
    loads: tuple[float, float]

    def rows(self, task: Task) -> list[Measurement]:
        """The measurements that a table shows."""
        return [each for each in self.measurements if each.task == task and each.shown and each.runs]

    def curves(self) -> dict[str, list[Measurement]]:
        """The measurements of every system that fits, by number of passes."""
        curves: dict[str, list[Measurement]] = {}
        for each in sorted(self.measurements, key=lambda each: each.plan.passes):
            if each.task == "fit" and each.runs:
                curves.setdefault(each.rival, []).append(each)
        return curves

    def ratio(self, row: Measurement, quantity: str) -> Spread | None:
        """The row's quantity over rankfill's, repetition by repetition; None where rankfill was not measured."""
        base = next((each for each in self.rows(row.task) if each.rival == REFERENCE[row.task]), None)
        if base is None or len(base.runs) != len(row.runs):
            return None
        return paired_ratio([run[quantity] for run in row.runs], [run[quantity] for run in base.runs])
