"""The first ratings of a stream that no fit came before, kept until they have told the size of the ratings.

After 1, 2, 4, … up to `ENOUGH` ratings the two columns of the effects are made anew from all ratings so far, every row
starts again, and the ratings are learned anew from the first. What is learned is therefore a function of the stream,
however it is cut into calls, and one odd rating at its beginning does no harm: the mean is that of the middle half.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankfill.models.base.forgetting import Left

ENOUGH = 256


class Beginning(NamedTuple):
    """Row numbers and values of the ratings so far, and on how many of them the columns rest."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    rests_on: int

    @classmethod
    def empty(cls, rests_on: int = 0) -> "Beginning":
        """Before the first rating; after a fit, which knows the size of the ratings, it rests on `ENOUGH`."""
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing, np.empty(0, np.float32), rests_on)

    def plus(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float32]) -> Self:
        """The beginning with more ratings."""
        return self._replace(
            users=np.concatenate([self.users, users]),
            items=np.concatenate([self.items, items]),
            values=np.concatenate([self.values, values]),
        )

    def settle(self) -> tuple[int, "Beginning"]:
        """The number of ratings that the columns can rest on now, and the ratings to keep for later."""
        n = min(len(self.values), ENOUGH)
        rests_on = max(self.rests_on, 1 << (n.bit_length() - 1) if n else 0)
        return rests_on, Beginning.empty(ENOUGH) if rests_on == ENOUGH else self._replace(rests_on=rests_on)

    def without(self, left: Left) -> Self:
        """Without the ratings of users who are forgotten, the others by their new numbers."""
        numbers = left.renumber(self.users)
        stay = numbers >= 0
        return self._replace(users=numbers[stay], items=self.items[stay], values=self.values[stay])

    def check(self, n_users: int, n_items: int) -> None:
        """Refuses row numbers that a model of this size does not have."""
        if not len(self.users) == len(self.items) == len(self.values):
            raise ValueError("beginning holds columns of different lengths")
        for name, numbers, n in (("users", self.users, n_users), ("items", self.items, n_items)):
            if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= n:
                raise ValueError(f"beginning.{name} holds numbers of rows that do not exist")
