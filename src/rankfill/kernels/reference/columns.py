"""NumPy twins of the steps on columns: the same signatures, the same results to the bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels.columns import ColumnRule, ColumnSums, DictionaryGram
from rankfill.kernels.factors import LANES
from rankfill.kernels.reference.lanes import dot
from rankfill.kernels.reference.least_squares import chunked_products, eliminate, solve_system
from rankfill.kernels.rows import Rows

GRAM_LASTS = 1024
FEW_ROWS = 256
SWEEPS = 40
SMALLEST_SHARE = 1e-6

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]


class _Step:
    """One step on one column. Unknowns of x are in the order of `places`, those columns of its row."""

    def __init__(
        self,
        columns: Rows,
        column: int,
        moving: Floats,
        dictionary: Floats,
        rule: ColumnRule,
        gram: DictionaryGram | None,
    ) -> None:
        ridge = rule.ridge
        entries = slice(int(columns.indptr[column]), int(columns.indptr[column + 1]))
        self.rule, self.ridge, self.gram = rule, ridge, gram
        self.row, self.dictionary = moving[column], dictionary
        self.indices, self.values = columns.indices[entries], columns.values[entries]
        self.places = [*range(ridge.rank), *([ridge.bias_column] if ridge.bias_column >= 0 else [])]
        self.weight = rule.unit if ridge.bias_column >= 0 else 0.0
        self.shrinkage = np.array([ridge.penalty] * ridge.rank + [ridge.bias_penalty] * (ridge.bias_column >= 0))
        self.stride = ridge.order // LANES * LANES + LANES
        self.few = not (self.shrinkage > 0).all() and len(self.indices) < ridge.order
        self.centre = self._pad(self.row[self.places] if rule.from_row else np.zeros(ridge.order))
        c = dictionary[self.indices]
        self.targets = self.values - np.float32(ridge.offset)
        if ridge.held_column >= 0:
            self.targets = self.targets - c[:, ridge.held_column]
        self.x = self._pad(np.zeros(ridge.order))

    @property
    def takes_missing_out(self) -> bool:
        n, n_rows = len(self.indices), len(self.dictionary)
        return self.gram is not None and n_rows >= FEW_ROWS and 2 * n > n_rows and not self.few

    def solve(self, inner: int) -> None:
        if self.few:
            self._solve_few(inner)
        else:
            self._collect()
            for iteration in range(inner):
                if iteration:
                    self._describe()
                self._solve_normal_equations(after=iteration > 0)
        self.row[self.places] = self.x[: self.ridge.order]

    def move(self) -> ColumnSums:
        self.x[: self.ridge.order] = self.row[self.places]
        gain = self._gain()
        squared = 0.0
        for index, value in zip(self.indices, self.values, strict=True):
            c = self.dictionary[index]
            error = (value - np.float32(self.ridge.offset)) - dot(c, self.row)
            c += (np.float32(gain) * error) * direction_of(self.rule, self.row)
            squared += float(error) * float(error)
        if self.gram is not None and self.gram.age[0] >= 0:
            if self.few:
                self.gram.forget()
            else:
                self._describe()
                self.gram.sums[:, : self.ridge.order] += self._change_of_gram()
                self.gram.age += 1
        cost = 0.0
        for change, strength in zip(self.x - self.centre, self.shrinkage, strict=False):
            cost += strength * change * change
        return ColumnSums(self.rule.penalty * gain * squared + cost, squared)

    def sum_gram(self) -> None:
        assert self.gram is not None
        self.gram.sums[:, : self.ridge.order] = self._of_unknowns(chunked_products(self.dictionary, self.dictionary))
        self.gram.age[:] = 0

    def _collect(self) -> None:
        c = self.dictionary[self.indices]
        self.products = np.zeros((self.ridge.order, self.stride))
        if self.gram is not None and self.takes_missing_out and self.gram.age[0] >= 0:
            missing = np.delete(self.dictionary, self.indices, axis=0)
            self.products[:, : self.ridge.order] = self.gram.sums[:, : self.ridge.order] - self._of_unknowns(
                chunked_products(missing, missing)
            )
        else:
            self.products[:, : self.ridge.order] = self._of_unknowns(chunked_products(c, c))
        self.side = chunked_products(self.targets[:, None], c)[0, self.places]
        self.squared_targets = sum((float(target) * float(target) for target in self.targets), 0.0)

    def _of_unknowns(self, products: Doubles) -> Doubles:
        chosen = np.triu(products[np.ix_(self.places, self.places)])
        both: Doubles = chosen + np.triu(chosen, 1).T
        return both

    def _pad(self, values: NDArray[Any]) -> Doubles:
        row = np.zeros(self.stride)
        row[: len(values)] = values
        return row

    def _gain(self) -> float:
        total = self.weight
        for number in self.x[: self.ridge.rank].tolist():
            total += number * number
        return 1.0 / (self.rule.penalty + total)

    @property
    def _z(self) -> Doubles:
        z = self.x[: self.ridge.order].copy()
        z[self.ridge.rank :] = 0
        return z

    def _describe(self) -> None:
        x = self.x[: self.ridge.order].tolist()
        self.slope = np.array([side - dot(row, self.x) for side, row in zip(self.side, self.products, strict=True)])
        along = left = 0.0
        for number, side, slope in zip(x, self.side.tolist(), self.slope.tolist(), strict=True):
            along += number * side
            left += number * slope
        self.error_by_target = self.squared_targets - along
        self.squared_error = max(self.error_by_target - left, 0.0)
        self.gain = self._gain()

    def _change_of_gram(self) -> Doubles:
        both = self.gain * (self.slope + self.gain * self.squared_error * self._z)
        change: Doubles = np.outer(both, self._z) + np.outer(self.gain * self._z, self.slope)
        return change

    def _solve_normal_equations(self, *, after: bool) -> None:
        order = self.ridge.order
        system, side = self.products.copy(), self.side.copy()
        if after:
            system[:, :order] += self._change_of_gram()
            side += self.gain * self.error_by_target * self._z
            side -= self.weight * self.gain * (self.slope + self.gain * self.squared_error * self._z)
        system[:, order] = [each - dot(row, self.centre) for each, row in zip(side, system.copy(), strict=True)]
        system[range(order), range(order)] += self.shrinkage
        self.x[:order] = self.centre[:order] + least_norm(system)

    def _solve_few(self, inner: int) -> None:
        n, order = len(self.indices), self.ridge.order
        before = np.zeros((n, self.stride))
        before[:, :order] = self.dictionary[self.indices][:, self.places]
        side = self.targets.astype(np.float64)
        for iteration in range(inner):
            errors = np.zeros(n)
            if iteration:
                errors = self._gain() * np.array(
                    [target - dot(row, self.x) for target, row in zip(side, before, strict=True)]
                )
            moved = before.copy()
            moved[:, :order] += errors[:, None] * self._z
            system = np.zeros((n, self.stride))
            for i in range(n):
                system[i, :n] = [dot(moved[i], other) for other in moved]
                system[i, n] = side[i] - self.weight * errors[i] - dot(moved[i], self.centre)
            self.x[:order] = self.centre[:order]
            for weight, row in zip(least_norm(system), moved, strict=True):
                self.x[:order] += weight * row[:order]


def broyden_columns(
    columns: Rows,
    order: NDArray[np.int32],
    moving: Floats,
    dictionary: Floats,
    rule: ColumnRule,
    gram: DictionaryGram,
    batch: int = 1,
) -> ColumnSums:
    total = np.zeros(2)
    filled = [column for column in order.tolist() if columns.counts()[column]]
    if batch > 1:
        for start in range(0, len(order), batch):
            together = order[start : start + batch].tolist()
            total += _batch_step(columns, together, moving, dictionary, rule, gram)
        return ColumnSums(*total.tolist())
    for column in filled:
        step = _Step(columns, column, moving, dictionary, rule, gram)
        if step.takes_missing_out and not 0 <= gram.age[0] < GRAM_LASTS:
            step.sum_gram()
        step.solve(rule.inner)
        total += step.move()
    return ColumnSums(*total.tolist())


def _batch_step(
    columns: Rows, together: list[int], moving: Floats, dictionary: Floats, rule: ColumnRule, gram: DictionaryGram
) -> ColumnSums:
    before, counts = dictionary.copy(), columns.counts()[together]
    filled = [column for column, n in zip(together, counts, strict=True) if n]
    saved = np.maximum(2 * counts - len(dictionary), 0).sum()
    total = np.zeros(2)
    for _ in range(rule.inner):
        gram.forget()
        steps = [_Step(columns, column, moving, dictionary, rule, gram) for column in filled]
        if saved > len(dictionary):
            steps[0].sum_gram()
        for step in steps:
            step.solve(1)
        total = np.zeros(2)
        for row in np.unique(np.concatenate([[], *(step.indices for step in steps)])).astype(int):
            of_row = [(step.row, step.values[step.indices == row][0]) for step in steps if row in step.indices]
            dictionary[row], costs = _moved_row(before[row], of_row, rule)
            total += costs
        for step in steps:
            x = step.row[step.places].astype(np.float64).tolist()
            cost = 0.0
            for number, strength in zip(x, step.shrinkage.tolist(), strict=True):
                cost += strength * number * number
            total[0] += cost
    gram.forget()
    return ColumnSums(*total.tolist())


def _moved_row(
    before: Floats, of_row: list[tuple[Floats, Any]], rule: ColumnRule
) -> tuple[Floats, tuple[float, float]]:
    ridge, n = rule.ridge, len(of_row)
    errors = [(value - np.float32(ridge.offset)) - dot(before, row) for row, value in of_row]
    squared = sum((float(error) * float(error) for error in errors), 0.0)
    rows = np.array([row for row, _ in of_row])
    if n <= ridge.order:
        directions = [direction_of(rule, row) for row in rows]
        system = np.zeros((n, ridge.order // LANES * LANES + LANES))
        for i in range(n):
            system[i, :n] = [dot(rows[i], other) if j >= i else 0 for j, other in enumerate(directions)]
            system[i, i] += rule.penalty
            system[i, n] = errors[i]
        change, along = np.zeros(len(before)), 0.0
        for weight, direction, error in zip(solve_system(system).tolist(), directions, errors, strict=True):
            change += weight * direction.astype(np.float64)
            along += weight * float(error)
        return (before + change).astype(np.float32), (rule.penalty * along, squared)
    places = [*range(ridge.rank), *([ridge.held_column] if ridge.held_column >= 0 else [])]
    products, side = np.triu(chunked_products(rows, rows)), np.zeros(len(before))
    for row, error in zip(rows, errors, strict=True):
        side += float(error) * row.astype(np.float64)
    symmetric = products + np.triu(products, 1).T
    system = np.zeros((ridge.order, ridge.order // LANES * LANES + LANES))
    system[:, : ridge.order] = np.triu(symmetric[np.ix_(places, places)])
    system[range(ridge.order), range(ridge.order)] += [
        rule.penalty if k < ridge.rank else rule.penalty / rule.unit for k in range(ridge.order)
    ]
    system[:, ridge.order] = side[places]
    moved, gained = before.astype(np.float64), 0.0
    for place, number in zip(places, solve_system(system).tolist(), strict=True):
        moved[place] += number
        gained += number * float(side[place])
    return moved.astype(np.float32), (squared - gained, squared)


def gradient_columns(
    columns: Rows, order: NDArray[np.int32], moving: Floats, dictionary: Floats, rule: ColumnRule
) -> ColumnSums:
    ridge, total = rule.ridge, 0.0
    factors = (np.arange(dictionary.shape[1]) < ridge.rank).astype(np.float32)
    for column in order.tolist():
        entries = slice(int(columns.indptr[column]), int(columns.indptr[column + 1]))
        indices, targets = columns.indices[entries], columns.values[entries] - np.float32(ridge.offset)
        if len(indices) == 0:
            continue
        row, slope, lengths = moving[column], np.zeros(dictionary.shape[1], np.float32), 0.0
        for index, target in zip(indices, targets, strict=True):
            c = dictionary[index]
            slope += (target - dot(c, row)) * c
            lengths += float(dot(factors * c, c))
        if ridge.penalty + lengths > 0:
            x = row[: ridge.rank].astype(np.float64)
            row[: ridge.rank] = x + (slope[: ridge.rank] - ridge.penalty * x) / (ridge.penalty + lengths)
        if ridge.bias_column >= 0:
            bias = float(row[ridge.bias_column])
            change = float(slope[ridge.bias_column]) - ridge.bias_penalty * bias
            row[ridge.bias_column] = bias + change / (ridge.bias_penalty + len(indices))
        step = np.float32(rule.rate / (_squared_length(rule, row) + (rule.unit if ridge.bias_column < 0 else 0.0)))
        squared = 0.0
        for index, target in zip(indices, targets, strict=True):
            c = dictionary[index]
            error = target - dot(c, row)
            c += (step * error) * direction_of(rule, row)
            squared += float(error) * float(error)
        total += squared
    return ColumnSums(total, total)


def solve_columns(columns: Rows, moving: Floats, dictionary: Floats, rule: ColumnRule) -> None:
    for column in np.flatnonzero(columns.counts()).tolist():
        _Step(columns, column, moving, dictionary, rule, None).solve(1)


def direction_of(rule: ColumnRule, row: Floats) -> Floats:
    """The row of a column as a direction for rows of the dictionary."""
    direction = row.copy()
    if rule.ridge.bias_column >= 0:
        direction[rule.ridge.bias_column], direction[rule.ridge.held_column] = 0, rule.unit
    return direction


def _squared_length(rule: ColumnRule, row: Floats) -> float:
    total = rule.unit if rule.ridge.bias_column >= 0 else 0.0
    for number in row[: rule.ridge.rank].tolist():
        total += number * number
    return total


def least_norm(system: Doubles) -> Doubles:
    """The solution of least norm; `system` holds both triangles and the right-hand side after them."""
    order = len(system)
    if (np.diagonal(eliminate(system)) > 0).all():
        return solve_system(system)
    values, vectors = diagonalise(system[:, :order].copy())
    solution = np.zeros(order)
    for value, vector in zip(values, vectors, strict=True):
        if value > SMALLEST_SHARE * max(0.0, *values):
            side = 0.0
            for number, each in zip(vector, system[:, order], strict=True):
                side += number * each
            solution += side / value * vector
    return solution


def diagonalise(matrix: Doubles) -> tuple[Doubles, Doubles]:
    """Eigenvalues, and eigenvectors in rows, by Jacobi's rotations."""
    order = len(matrix)
    vectors = np.eye(order)
    for _ in range(SWEEPS):
        rotated = False
        for p in range(order):
            for q in range(p + 1, order):
                a, b, c = matrix[p, p], matrix[q, q], matrix[p, q]
                if not abs(c) > 1e-15 * np.sqrt(abs(a) * abs(b)):
                    continue
                rotated = True
                half = (b - a) / (2 * c)
                t = (-1 if half < 0 else 1) / (abs(half) + np.sqrt(half * half + 1))
                cosine = 1 / np.sqrt(t * t + 1)
                sine = t * cosine
                for pair in (matrix.T, matrix, vectors):
                    left, right = pair[p].copy(), pair[q].copy()
                    pair[p], pair[q] = cosine * left - sine * right, sine * left + cosine * right
                matrix[p, q] = matrix[q, p] = 0
        if not rotated:
            break
    return np.diagonal(matrix), vectors
