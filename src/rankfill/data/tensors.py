"""Named arrays and a few words about them in one safetensors file: written whole or not at all, read by mapping."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

_DTYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "U8": np.uint8}

_ABOUT = "about"


def write_tensors(path: str | os.PathLike[str], tensors: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
    """Writes a temporary file beside `path`, forces it to disk, then renames it."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ValueError(f"cannot write {target}: it exists and is not a file; name a file")
    content = save(
        {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
        metadata={_ABOUT: json.dumps(about, sort_keys=True)},  # one key: safetensors orders several at random
    )
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
            end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
            dtypes = {name: _DTYPES[entry["dtype"]] for name, entry in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{target} is not a model file; save the model again") from error
    start = 8 + header_size
    if size != start + end:
        raise ValueError(
            f"{target} was cut short: {start + end:,} bytes expected, {size:,} found; save the model again"
        )
    content = np.memmap(target, dtype=np.uint8, mode="c") if end else np.empty(0, dtype=np.uint8)
    tensors = {}
    for name, entry in header.items():
        first, last = (start + offset for offset in entry["data_offsets"])
        tensors[name] = np.asarray(content[first:last]).view(dtypes[name]).reshape(entry["shape"])
    return tensors, about
