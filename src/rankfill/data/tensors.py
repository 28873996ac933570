"""Named arrays and a few words about them in one safetensors file: written whole or not at all, read by mapping."""

import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from rankfill.data.atomic import whole_file

_DTYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "U8": np.uint8}

_ABOUT = "about"


def write_tensors(path: str | os.PathLike[str], tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
    """Writes one file, whole or not at all (see `whole_file`)."""
    write_content(path, content_of(tensors, about))


def content_of(tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> bytes:
    """A copy of all of it, as it stands in a file."""
    content: bytes = save(
        {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
        metadata={_ABOUT: json.dumps(about, sort_keys=True)},  # one key: safetensors orders several at random
    )
    return content


def write_content(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes what `content_of` gave, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def looks_like_tensors(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one of arrays does: eight bytes of length, then a table in braces."""
    try:
        if not Path(path).is_file():  # a pipe can be read only once
            return False
        with Path(path).open("rb") as file:
            return file.read(9)[8:] == b"{"
    except OSError:
        return False


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Maps the arrays into memory, copy-on-write: pages load when touched, and changes stay in this process."""
    target = Path(path)
    size = target.stat().st_size
    with target.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        if size < 8 or header_size > size - 8:
            raise ValueError(f"{target} is not a model file, or was cut short; save the model again")
        try:
            header = json.loads(file.read(header_size))
            about = json.loads(header.pop("__metadata__", {}).get(_ABOUT, "{}"))
            entries = {name: _Entry.of(entry) for name, entry in header.items()}
            if not isinstance(about, dict):
                raise TypeError("what the file says about itself is no table")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{target} is not a model file; save the model again") from error
    start, end = 8 + header_size, max((entry.last for entry in entries.values()), default=0)
    if size != start + end:
        raise ValueError(
            f"{target} was cut short: {start + end:,} bytes expected, {size:,} found; save the model again"
        )
    content = np.memmap(target, dtype=np.uint8, mode="c") if end else np.empty(0, dtype=np.uint8)
    return {name: entry.array(content[start:]) for name, entry in entries.items()}, about


class _Entry(NamedTuple):
    """The place and the type of the bytes of an array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    first: int
    last: int

    @classmethod
    def of(cls, words: dict[str, Any]) -> "_Entry":
        """Reads an entry of the header of a file, which may be damaged."""
        dtype, shape, (first, last) = np.dtype(_DTYPES[words["dtype"]]), tuple(words["shape"]), words["data_offsets"]
        if not all(type(number) is int and number >= 0 for number in (*shape, first, last)):
            raise ValueError("sizes and places must be whole numbers")
        if last - first != math.prod(shape) * dtype.itemsize or first % dtype.itemsize:
            raise ValueError("an array does not fit the place it has")
        return cls(dtype, shape, first, last)

    def array(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        return np.asarray(content[self.first : self.last]).view(self.dtype).reshape(self.shape)
