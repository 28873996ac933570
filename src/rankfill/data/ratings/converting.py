"""Ratings with other values, and as frames, sparse matrices and tables that other programs and people read."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from rankfill.data.checks import finite_float32
from rankfill.data.frames import Library, make_frame
from rankfill.data.ratings.describing import Description, describe
from rankfill.data.ratings.entries import Entries


class Converting(Entries):
    """The methods of `Ratings` that turn them into something else."""

    def with_values(self, transform: Callable[[NDArray[np.float32]], ArrayLike]) -> Self:
        """The same pairs with other values.

        Parameters
        ----------
        transform : callable
            Takes all values and returns as many.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[1, None], [8, 64]]).with_values(np.log2)
        Ratings(3 ratings, 2 users, 2 items, values 0 to 6)
        """
        values = finite_float32(transform(self.values))
        if len(values) != len(self):
            raise ValueError(f"transform must return one value per rating ({len(self)}), found {len(values)}")
        return self._class()(
            self.users, self.items, self.by_user._replace(values=values), self.timestamps, self._arrival
        )

    def shifted(self, offset: float | None = None) -> Self:
        """The same pairs with a number added to every rating.

        Parameters
        ----------
        offset : float, optional
            What to add. By default what brings the smallest rating to zero, as non-negative models need it.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[-2, None], [0, 2]]).shifted()
        Ratings(3 ratings, 2 users, 2 items, values 0 to 4)
        """
        amount = -float(self.values.min(initial=np.inf)) if offset is None else offset
        return self.with_values(lambda values: values + np.float32(amount)) if len(self) else self

    def to_sparse(self) -> scipy.sparse.csr_array:
        """A SciPy CSR array of users by items, in which ratings of zero are stored.

        Rows and columns are numbered as in `users` and `items`.

        Returns
        -------
        scipy.sparse.csr_array
            Shares its arrays with the ratings, and so cannot be written to.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None], [0, 4]]).to_sparse().nnz
        3
        """
        return scipy.sparse.csr_array((self.values, self.item_indices, self.by_user.indptr), shape=self.shape)

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame of one rating per row, by user, then item.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame. By default that of the first of the three that is installed.

        Returns
        -------
        DataFrame or Table
            With the columns user, item, rating and, where there are any, timestamp (in seconds). `from_frame` makes
            the same ratings of it, but for ids without ratings.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_arrays(["ann", "bob"], [7, 7], [5.0, 4.0]).to_frame("pandas")
          user  item  rating
        0  ann     7     5.0
        1  bob     7     4.0
        """
        columns: dict[str, NDArray[Any]] = {
            "user": self.users.ids(self.user_indices),
            "item": self.items.ids(self.item_indices),
            "rating": self.values,
        }
        return make_frame(columns | ({} if self.timestamps is None else {"timestamp": self.timestamps}), library)

    def describe(self) -> Description:
        """Describes the ratings: number, density, scale, counts per user and item, and times.

        Returns
        -------
        Description
            Shows itself as a small table; its attributes are the numbers.

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Ratings.from_dense([[5, None, 3], [3, 4, None]]).describe()
        ratings   4 (66.7% of 2 users × 3 items)
        scale     3 to 5, mean 3.75
        per user  2 to 2, quartiles 2, 2, 2
        per item  1 to 2, quartiles 1, 1, 1.5
        """
        return describe(self)

    def _repr_html_(self) -> str:
        """Returns the HTML that notebooks show."""
        return self.describe()._repr_html_()
