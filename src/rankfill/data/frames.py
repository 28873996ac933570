"""Data frames of pandas, polars and pyarrow: the columns of one, and one made of columns.

Narwhals, which knows them all, is imported when the first frame comes: it takes longer than a small model.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankfill.data.columns import match_columns
from rankfill.shown import shown

Library = Literal["pandas", "polars", "pyarrow"]


def columns_of(frame: Any, columns: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    """The columns of users, items and, where there are any, ratings and timestamps, by these roles."""
    import narwhals as nw

    table: Any = nw.from_native(frame)
    names = match_columns(table.collect_schema().names(), columns)
    chosen = table.select(list(names.values()))
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    return {role: chosen[name].to_numpy() for role, name in names.items()}


def is_frame(data: Any) -> bool:
    """Whether it is a frame of one of the libraries, lazy or not."""
    import narwhals as nw

    return isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame)


def make_frame(columns: dict[str, NDArray[Any]], library: Library | None) -> Any:
    """A frame of the library, by default of the first one that is installed."""
    import narwhals as nw

    if library is not None and library not in get_args(Library):
        raise ValueError(f"library must be one of {', '.join(get_args(Library))}, found {shown(library)}")
    found = [name for name in get_args(Library) if importlib.util.find_spec(name) is not None]
    if library not in found if library is not None else not found:
        wanted = library or " or ".join(get_args(Library))
        raise ModuleNotFoundError(f"a frame needs {wanted}, which is not installed; pip install {library or 'pandas'}")
    # Strings come as Python objects, of which each library makes its own strings if they are in a list.
    native = {name: column.tolist() if column.dtype == np.dtype(object) else column for name, column in columns.items()}
    return nw.from_dict(native, backend=library or found[0]).to_native()
