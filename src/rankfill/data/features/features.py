"""What is known of items or users, one sparse row of numbers for each id."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from rankfill.data.features.encoding import Encoding, cells
from rankfill.data.vocabulary import Vocabulary
from rankfill.shown import shown_names


class Features:
    """What is known of items or users beside their ratings: one sparse row of numbers for each id.

    Made by `read_features`, `from_frame`, `from_arrays` or `from_sparse`.

    Parameters
    ----------
    ids : Vocabulary
        Whom the rows are about.
    encoding : Encoding
        What the columns are.
    raw : scipy.sparse.csr_array
        The numbers before they are standardised, one row per id; what is not stored is unknown.

    Attributes
    ----------
    ids : Vocabulary
        Whom the rows are about.
    encoding : Encoding
        What the columns are, with the mean and scale of each.
    matrix : scipy.sparse.csr_array of float32
        The standardised numbers, one row per id and one column per name.

    Examples
    --------
    >>> import rankfill as rf
    >>> import pandas as pd
    >>> genres, years = ["Crime|Drama", "Comedy", "Drama"], [1995, 1997, 1999]
    >>> films = pd.DataFrame({"movieId": [7, 8, 9], "genres": genres, "year": years})
    >>> features = rf.Features.from_frame(films)
    >>> features
    Features(3 ids, 4 columns: 3 of genres (list), year (number))
    >>> features.names
    ['genres=Comedy', 'genres=Crime', 'genres=Drama', 'year']
    >>> features.aligned(rf.Vocabulary([9, 5])).toarray().round(1)
    array([[0. , 0. , 1. , 1.2],
           [0. , 0. , 0. , 0. ]], dtype=float32)
    """

    def __init__(self, ids: Vocabulary, encoding: Encoding, raw: scipy.sparse.csr_array) -> None:
        if raw.shape != (len(ids), len(encoding.names)):
            raise ValueError(
                f"features need one row per id and one column per name, {len(ids)} × {len(encoding.names)}; "
                f"found {raw.shape[0]} × {raw.shape[1]}"
            )
        if not np.isfinite(raw.data).all():
            row = int(np.searchsorted(raw.indptr, np.flatnonzero(~np.isfinite(raw.data))[0], side="right")) - 1
            raise ValueError(
                f"features must be finite, found {raw.data[~np.isfinite(raw.data)][0]} in row {row}; "
                "leave the entry out if it is unknown"
            )
        self.ids = ids
        self.encoding = encoding
        self._raw = raw
        self.matrix = encoding.standardise(raw)

    @classmethod
    def from_table(
        cls,
        ids: ArrayLike,
        table: Mapping[str, Sequence[Any]],
        categories: Collection[str] = (),
        like: "Features | Encoding | None" = None,
    ) -> "Features":
        """Makes features of columns by name.

        Parameters
        ----------
        ids : array-like of int or str
            Whom the rows are about, each once.
        table : mapping of str to sequence
            Texts, numbers or lists of texts, one for each id; None, NaN and empty texts are unknown.
        categories : collection of str, default=()
            Columns of which each value is a category, though they hold numbers, or texts that hardly repeat.
        like : Features or Encoding, optional
            Make the same columns as these have, by their means and scales.

        Returns
        -------
        Features

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Features.from_table(["tea", "milk", "rum"], {"price": [3, 1, 8], "hot": [1, 0, 0]}).names
        ['hot', 'price']
        """
        vocabulary = Vocabulary(ids)
        if wrong := [name for name, column in table.items() if len(column) != len(vocabulary)]:
            raise ValueError(f"every column needs one value per id ({len(vocabulary)}); not so {shown_names(wrong)}")
        read = {str(name): cells(column) for name, column in table.items()}
        if like is None:
            encoding = Encoding.of(read, categories)
        else:
            encoding = like.encoding if isinstance(like, Features) else like
        return cls(vocabulary, encoding, encoding.apply(read, len(vocabulary)))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        id: str | None = None,  # noqa: A002
        categories: Collection[str] = (),
        like: "Features | Encoding | None" = None,
    ) -> "Features":
        """Makes features of a data frame of pandas, polars or pyarrow, one row per id.

        Parameters
        ----------
        frame : DataFrame, LazyFrame or Table
            One row per item or user.
        id : str, optional
            The column of the ids. By default the first one with a usual name such as movieId, or else the first.
        categories : collection of str, default=()
            Columns of which each value is a category, though they hold numbers, or texts that hardly repeat.
        like : Features or Encoding, optional
            Make the same columns as these have, by their means and scales.

        Returns
        -------
        Features
        """
        import narwhals as nw

        from rankfill.data.features.reading import id_column

        table: Any = nw.from_native(frame)
        if isinstance(table, nw.LazyFrame):
            table = table.collect()
        name = id_column(list(table.columns), id, "the frame")
        columns = {each: table[each].to_list() for each in table.columns if each != name}
        return cls.from_table(table[name].to_numpy(), columns, categories, like)

    @classmethod
    def from_arrays(cls, ids: ArrayLike, values: ArrayLike, names: Sequence[str] | None = None) -> "Features":
        """Makes features of an array of numbers, which stay as they are.

        Parameters
        ----------
        ids : array-like of int or str
            Whom the rows are about, each once.
        values : array-like of shape (n_ids, n_columns)
            The numbers.
        names : sequence of str, optional
            The names of the columns, all different; numbers by default.

        Returns
        -------
        Features

        Examples
        --------
        >>> import rankfill as rf
        >>> rf.Features.from_arrays(["tea", "milk"], [[0.5, 1], [0, -2]])
        Features(2 ids, 2 columns: 0 (number), 1 (number))
        """
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 2:
            raise ValueError(f"values must have one row per id and one column per name, found shape {array.shape}")
        return cls.from_sparse(scipy.sparse.csr_array(array), ids, names)

    @classmethod
    def from_sparse(cls, matrix: Any, ids: ArrayLike | None = None, names: Sequence[str] | None = None) -> "Features":
        """Makes features of a SciPy sparse matrix of numbers, which stay as they are.

        Parameters
        ----------
        matrix : sparse matrix or array of shape (n_ids, n_columns)
            The numbers; what is not stored is zero.
        ids : array-like of int or str, optional
            Whom the rows are about, each once; the numbers of the rows by default.
        names : sequence of str, optional
            The names of the columns, all different; numbers by default.

        Returns
        -------
        Features

        Examples
        --------
        >>> import rankfill as rf
        >>> import scipy.sparse
        >>> rf.Features.from_sparse(scipy.sparse.eye_array(2), names=["warm", "cold"]).names
        ['cold', 'warm']
        """
        raw = scipy.sparse.csr_array(matrix, dtype=np.float64)
        raw.sum_duplicates()
        n_rows, n_columns = raw.shape
        written = [str(name) for name in names] if names is not None else _numbers(n_columns)
        if len(written) != n_columns or len(set(written)) < n_columns:
            raise ValueError(f"names must be {n_columns} different ones, one per column; found {shown_names(written)}")
        order = sorted(range(n_columns), key=written.__getitem__)
        vocabulary = Vocabulary.of_range(n_rows) if ids is None else Vocabulary(ids)
        ordered = scipy.sparse.csr_array(raw[:, order]) if order != list(range(n_columns)) else raw
        return cls(vocabulary, Encoding.plain([written[k] for k in order]), ordered)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return self.encoding.names

    @property
    def ignored(self) -> dict[str, str]:
        """The columns of the table of which nothing was made, and why."""
        return self.encoding.ignored

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        made = Counter(name.partition("=")[0] for name in self.names)
        kinds = dict(zip(self.encoding.columns, self.encoding.kinds, strict=True))
        parts = [
            f"{f'{made[name]} of ' if kind in ('category', 'list') else ''}{name} ({kind})"
            for name, kind in kinds.items()
            if name not in self.ignored
        ]
        ignored = ", ".join(f"{name} ({kind})" for name, kind in self.ignored.items())
        return (
            f"Features({len(self):,} ids, {len(self.names):,} columns{': ' * bool(parts)}"
            f"{shown_names(parts)}{f'; ignored: {ignored}' if ignored else ''})"
        )

    def aligned(self, vocabulary: Vocabulary) -> scipy.sparse.csr_array:
        """The rows in the order of other ids, such as `model.items_`.

        Parameters
        ----------
        vocabulary : Vocabulary
            The ids; one without features has a row of zeros, and `known` says so.

        Returns
        -------
        scipy.sparse.csr_array of float32
        """
        rows = self.ids.index(vocabulary.ids())
        found = np.flatnonzero(rows >= 0)
        picked = self.matrix[rows[found]]
        counts = np.zeros(len(rows), np.int64)
        counts[found] = np.diff(picked.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return scipy.sparse.csr_array((picked.data, picked.indices, indptr), shape=(len(rows), len(self.names)))

    def known(self, vocabulary: Vocabulary) -> NDArray[np.bool_]:
        """Whether there are features for each of other ids.

        Parameters
        ----------
        vocabulary : Vocabulary
            The ids.

        Returns
        -------
        ndarray of bool
        """
        return self.ids.index(vocabulary.ids()) >= 0

    def like(self, other: "Features | Encoding") -> "Features":
        """The same ids with the columns of others, by their means and scales; what they lack is left out.

        Parameters
        ----------
        other : Features or Encoding
            Whose columns to take.

        Returns
        -------
        Features
        """
        encoding = other.encoding if isinstance(other, Features) else other
        if encoding == self.encoding:
            return self
        place = {name: k for k, name in enumerate(encoding.names)}
        new = np.array([place.get(name, -1) for name in self.names], dtype=np.int64)
        entries = scipy.sparse.coo_array(self._raw)
        columns = new[entries.col] if len(new) else np.zeros(0, np.int64)
        kept = columns >= 0
        raw = scipy.sparse.csr_array(
            (entries.data[kept], (entries.row[kept], columns[kept])), shape=(len(self), len(place))
        )
        return Features(self.ids, encoding, raw)


def _numbers(n: int) -> list[str]:
    """Numbers as names that are in order as texts, too."""
    return [f"{k:0{len(str(max(n - 1, 0)))}d}" for k in range(n)]
