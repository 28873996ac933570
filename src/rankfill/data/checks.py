"""Ratings and timestamps checked at the border: finite numbers and whole seconds from there on."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def finite_float32(values: ArrayLike) -> NDArray[np.float32]:
    """A flat float32 copy; NaN, infinities and numbers beyond float32 are errors that name the row."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb":
        raise TypeError(f"ratings must be numbers, found dtype {array.dtype}; convert them: values.astype(float)")
    with np.errstate(over="ignore"):
        converted = np.array(array, dtype=np.float32).reshape(-1)
    finite = np.isfinite(converted)
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"ratings must be finite numbers, found {array.reshape(-1)[bad]} at row {bad}; "
            "drop the row, or leave the entry out if it is unknown"
        )
    return converted


def whole_seconds(timestamps: ArrayLike, n: int) -> NDArray[np.int64]:
    """An int64 copy; dates, as datetime64 or ISO text, become seconds since 1970."""
    array = np.asarray(timestamps)
    if array.shape != (n,):
        raise ValueError(f"timestamps must have one value per rating ({n}), found shape {array.shape}")
    if array.dtype.kind in "OUT":
        array = _as_dates(array)
    unknown = np.isnat(array) if array.dtype.kind == "M" else np.zeros(0, dtype=bool)
    if array.dtype.kind == "f":
        unknown = ~np.isfinite(array)
    if unknown.any():
        bad = int(np.argmax(unknown))
        raise ValueError(f"timestamps must be whole seconds or dates, found {array[bad]} at row {bad}; leave them out")
    if array.dtype.kind not in "iufbM":
        raise TypeError(f"timestamps must be whole seconds or dates, found dtype {array.dtype}; convert them")
    return (array.astype("datetime64[s]") if array.dtype.kind == "M" else array).astype(np.int64)


def _as_dates(array: NDArray[np.generic]) -> NDArray[np.datetime64]:
    try:
        return np.array(array.tolist(), dtype="datetime64[s]")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"timestamps must be whole seconds or dates: {error}; convert them or leave them out"
        ) from None
