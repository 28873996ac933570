"""Online learning from columns.

`partial_fit` takes columns as they come: ratings that follow each other in the stream and have the same column are
one column. When more ratings of the last column arrive, its step is undone and made again with all of them; so are
the steps of the first ratings, until there are enough of them to tell the size of the ratings (`statistics.py`). So it
does not matter how a stream is cut into calls. A column that comes again later goes on from its x. When the unit s of
the ratings changes to s', C is multiplied by √(s'/s) and x divided by it: the predictions stay, C has the size
from which it would have started, and the penalties, which are in units of s, mean what they did.
"""

import sys

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.models.base.means import MeanRow
from rankfill.models.base.units import LARGEST_RATING
from rankfill.models.columns.model import ColumnModel
from rankfill.models.columns.statistics import WARM_UP, Followed, StreamStatistics
from rankfill.models.columns.stream import Entries, OpenColumn, Run, parts_of, rows_of, runs_of


class OnlineColumnModel(ColumnModel):
    """A model of columns that goes on learning from a stream."""

    def _takes(self, value: float) -> bool:
        return super()._takes(value) and abs(value) <= LARGEST_RATING

    def _begin_stream(self, ratings: Ratings) -> None:
        self._first = Entries.none()
        self._statistics = StreamStatistics.of_ratings(np.zeros(1), centred=bool(self.biases))
        self._begin_rows(0, 0)

    def _learn_stream(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> None:
        """Learns from a stream; with biases the offset of a column is the mean of all ratings up to its last."""
        entries = Entries(*((users, items) if self.side_ == "users" else (items, users)), values)
        if self._first is not None:
            entries = self._learn_first(self._first.plus(entries))
        if len(entries.values):
            self._statistics, followed = self._statistics.follow(entries.values)
            self._learn_runs(entries, followed)
        self._note_moved_rows()

    def _learn_first(self, entries: Entries) -> Entries:
        """Learns the first ratings of a stream again, now that there are more of them; returns the others."""
        first, others = entries.part(0, WARM_UP), entries.part(WARM_UP)
        self._statistics, followed = StreamStatistics.of_first(first.values, centred=self.biased_)
        self._begin_rows(len(self._users), len(self._items))
        self._n_rows = 0
        self._learn_runs(first, followed)
        self._first = first if len(first.values) < WARM_UP else None
        return others

    def _learn_runs(self, entries: Entries, followed: Followed) -> None:
        known = np.maximum.accumulate(np.maximum(entries.rows + 1, self._n_rows))
        runs, joined = runs_of(entries, followed, known, None if self._open is None else self._open.run)
        if joined and self._open is not None:
            self._take_back(self._open)
        for part in parts_of(runs[:-1]):
            self._step_on(part)
        self._learn_last(runs[-1])

    def _learn_single(self, user: int, item: int, value: float) -> None:
        if self._first is not None:
            super()._learn_single(user, item, value)
            return
        column, row = (user, item) if self.side_ == "users" else (item, user)
        self._statistics, bounded = self._statistics.follow_one(value)
        rows, values = np.array([row], np.int32), np.array([bounded], np.float32)
        centre, known = self._statistics.centre, max(row + 1, self._n_rows)
        if self._open is not None and self._open.run.goes_on(column, row):
            run = self._open.run.plus(rows, values, centre, known)
            self._take_back(self._open)
        else:
            run = Run(column, rows, values, centre, known, self._statistics.unit)
        self._learn_last(run)
        self._note_moved_rows()

    def _learn_last(self, last: Run) -> None:
        """Learns a run that may continue, and keeps a copy of what it changes."""
        self._change_unit(last.unit)
        moving, dictionary = self._factors_of_columns()
        self._open = OpenColumn(last, moving[last.column].copy(), dictionary[last.places].copy(), self._gram.copy())
        self._step_on([last])
        self.offset_, self._n_rows = last.centre, last.known

    def _note_moved_rows(self) -> None:
        """Keeps the mean rows right after a single rating, which may have moved all rows of the last column."""
        if self._open is None or not hasattr(self, "_mean_user"):
            return
        column, rows = self._open.run[:2]
        means = self._mean_user, self._mean_item
        if means[0].rows is not self._users:  # learned anew
            self._mean_user = MeanRow(self._users, self._user_counts)
            self._mean_item = MeanRow(self._items, self._item_counts)
            return
        of_columns, of_rows = means if self.side_ == "users" else means[::-1]
        of_columns.touch(column)
        for row in rows.tolist():
            of_rows.touch(row)

    def _take_back(self, last: OpenColumn) -> None:
        moving, dictionary = self._factors_of_columns()
        moving[last.run.column], dictionary[last.run.rows], self._gram = last.x, last.rows, last.gram

    def _change_unit(self, unit: float) -> None:
        """Converts what was learned to another unit, a power of four away; predictions do not change."""
        if unit == self.unit_:
            return
        factor = np.float32(np.sqrt(unit / self.unit_))
        moving, dictionary = self._factors_of_columns()
        dictionary[:, : self.rank_] *= factor
        moving[:, : self.rank_] /= factor
        self._gram.forget()
        self._set_unit(unit)
        if hasattr(self, "_mean_user"):
            self._mean_user.touch_all()
            self._mean_item.touch_all()

    def _step_on(self, runs: list[Run]) -> None:
        """Learns runs of different columns, all rows known before the last of them."""
        self._change_unit(runs[0].unit)
        moving, dictionary = self._factors_of_columns()
        columns = [run.column for run in runs] if len(runs) > 1 else slice(runs[0].column, runs[0].column + 1)
        entries, known = rows_of(runs), runs[-1].known
        x = moving[columns].copy()
        self._gram.of_rows(known)
        order = np.arange(len(runs), dtype=np.int32)
        moved = runs[0].places if len(runs) == 1 else entries.indices
        sums = self._steps_in_units(entries, order, x, dictionary[:known], self._rule(0))
        self._check_growth(sums.squared, sys.float_info.max, x, dictionary[moved])
        moving[columns] = x
