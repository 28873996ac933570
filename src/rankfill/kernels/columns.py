"""Steps on one column at a time: Broyden's, by stochastic gradients, and columns solved with the dictionary fixed."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import _native
from rankfill.kernels.factors import LANES
from rankfill.kernels.least_squares import Ridge
from rankfill.kernels.rows import Rows
from rankfill.kernels.threads import get_threads, instruction_set


@dataclass(frozen=True)
class ColumnRule:
    """What a step does with a column y, of which some rows are observed; alternately, `inner` times, over those rows

        x ← argmin ‖y − C x‖² + shrinkage ‖x − x̄‖²        C ← C_before + (y − C_before x) xᵀ / (penalty + ‖x‖²)

    with the least change of x̄ where that leaves a choice: x̄ is the column's row if `from_row`, else zero. A gradient
    step moves x one step down the gradient of the same problem and then C by rate / (unit + ‖x‖²) · (y − C x) xᵀ.
    The shrinkage is the penalty of `ridge`. A bias of C moves as a factor would that has √unit beside it in x.
    """

    ridge: Ridge
    penalty: float = 1.0
    rate: float = 0.0
    unit: float = 1.0
    inner: int = 2
    from_row: bool = False

    def in_units(self, exponent: int) -> "ColumnRule":
        """The same rule for ratings divided by 2 to the power of that even number."""
        scale = 2.0**exponent
        ridge = replace(self.ridge, penalty=self.ridge.penalty / scale, offset=self.ridge.offset / scale)
        return replace(self, ridge=ridge, penalty=self.penalty / scale, unit=self.unit / scale)

    def native(self) -> _native.ColumnRule:
        return _native.ColumnRule(
            ridge=self.ridge.native(),
            penalty=self.penalty,
            rate=self.rate,
            unit=self.unit,
            inner=self.inner,
            from_row=self.from_row,
        )


@dataclass
class DictionaryGram:
    """CᵀC in the unknowns of a column over so many rows; `age` steps ago it was summed up, −1 if it never was."""

    sums: NDArray[np.float64]
    age: NDArray[np.int64]
    n_rows: int

    @classmethod
    def of_unknowns(cls, unknowns: int, n_rows: int) -> "DictionaryGram":
        return cls(np.zeros((unknowns, unknowns // LANES * LANES + LANES)), np.array([-1], np.int64), n_rows)

    def copy(self) -> "DictionaryGram":
        return DictionaryGram(self.sums.copy(), self.age.copy(), self.n_rows)

    def forget(self) -> None:
        self.age[:] = -1

    def of_rows(self, n_rows: int) -> None:
        """Forgets it where the dictionary has grown."""
        if n_rows != self.n_rows:
            self.n_rows = n_rows
            self.forget()


class ColumnSums(NamedTuple):
    """`objective`: ‖y − C x‖² + penalty ‖C − C_before‖² + shrinkage ‖x − x̄‖²; `squared`: ‖y − C_before x‖²."""

    objective: float
    squared: float


def broyden_columns(
    columns: Rows,
    order: NDArray[np.int32],
    moving: NDArray[np.float32],
    dictionary: NDArray[np.float32],
    rule: ColumnRule,
    gram: DictionaryGram,
    batch: int = 1,
) -> ColumnSums:
    """A Broyden step on each column in that order, or on `batch` columns together; the rows they observe ascend."""
    return ColumnSums(
        *_native.broyden_columns(
            columns.pattern,
            columns.values,
            order,
            moving,
            dictionary,
            rule.native(),
            gram.sums,
            gram.age,
            batch,
            get_threads(),
            instruction_set(),
        )
    )


def gradient_columns(
    columns: Rows,
    order: NDArray[np.int32],
    moving: NDArray[np.float32],
    dictionary: NDArray[np.float32],
    rule: ColumnRule,
) -> ColumnSums:
    """A gradient step on each column in that order; both sums are the squared errors before the steps of C."""
    return ColumnSums(
        *_native.gradient_columns(
            columns.pattern, columns.values, order, moving, dictionary, rule.native(), instruction_set()
        )
    )


def solve_columns(
    columns: Rows, moving: NDArray[np.float32], dictionary: NDArray[np.float32], rule: ColumnRule
) -> None:
    """Sets the row of every column that has entries to its x, the dictionary fixed."""
    order = np.arange(columns.n_rows, dtype=np.int32)
    _native.solve_columns(
        columns.pattern, columns.values, order, moving, dictionary, rule.native(), get_threads(), instruction_set()
    )
