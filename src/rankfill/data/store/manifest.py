"""What a store says of itself, and the folder in which it is written.

    ratings.store/
      manifest.json            which parts there are, written last; without it a folder is no store
      part-…/                  sorted ratings: those converted, and one part for each `append` since
        users.offsets  users.indices  users.values      by user, items ascending
        items.offsets  items.indices  items.values      by item, users ascending
        user.ids  item.ids                              int64, or UTF-8 bytes beside user.ends and item.ends
        timestamps                                      of the ratings by user, where there are any

All arrays are raw and little-endian: offsets, ends and timestamps int64, indices int32, values float32 or, where there
are at most 256 different ones, codes of one byte. A part is written under a name of its own, forced to disk, and then
named by a new manifest, which takes the place of the old one in one step. So whatever ends a writer, the store is what
it was before or what it was to become. What no manifest names is removed by the next writer.
"""

import fcntl
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data.atomic import whole_file
from rankfill.data.duplicates import Duplicates
from rankfill.shown import shown

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SCALE_CODES = 256
_BLOCK = 1 << 24

_LONGEST_NAME = 255  # bytes, as file systems have it
_TYPES: dict[str, str] = {"offsets": "<i8", "indices": "<i4", "timestamps": "<i8", "ends": "<i8"}


@dataclass(frozen=True)
class PartSummary:
    """What the manifest says of a part: its folder, counts, the values of its codes, the size and sum of each file."""

    folder: str
    n_ratings: int
    n_users: int
    n_items: int
    text_users: bool
    text_items: bool
    timed: bool
    scale: list[float] | None
    duplicates: Duplicates
    files: dict[str, list[int]]

    def dtype_of(self, file: str) -> str:
        """The type of the numbers in a file."""
        kind = file.rpartition(".")[2]
        if kind == "values":
            return "<f4" if self.scale is None else "|u1"
        if kind == "ids":
            return "|u1" if (self.text_users if file == "user.ids" else self.text_items) else "<i8"
        return _TYPES[kind]

    def lengths(self) -> dict[str, int | None]:
        """How many numbers every file must hold; None where any number will do."""
        lengths: dict[str, int | None] = {
            "users.offsets": self.n_users + 1,
            "items.offsets": self.n_items + 1,
            **dict.fromkeys(("users.indices", "items.indices", "users.values", "items.values"), self.n_ratings),
        }
        for side, n, text in (("user", self.n_users, self.text_users), ("item", self.n_items, self.text_items)):
            lengths |= {f"{side}.ids": None, f"{side}.ends": n + 1} if text else {f"{side}.ids": n}
        return lengths | ({"timestamps": self.n_ratings} if self.timed else {})


def read_manifest(path: Path) -> list[PartSummary]:
    """The parts of a store, each checked against the files that are there."""
    while True:
        text = _manifest_text(path)
        try:
            return _parts_of(path, text)
        except ValueError:
            if _manifest_text(path) == text:
                raise  # otherwise another process has merged these parts since, and removed them


def _manifest_text(path: Path) -> bytes:
    try:
        return (path / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is no store of ratings: it has no {MANIFEST}; make one with `rankfill convert FILE -o {path}`, "
            "again if that was cut off"
        ) from None


def _parts_of(path: Path, text: bytes) -> list[PartSummary]:
    try:
        content = json.loads(text)
        if content["rankfill_store"] != FORMAT_VERSION:
            raise ValueError(
                f"it is of format {shown(content['rankfill_store'])}, this rankfill reads {FORMAT_VERSION}"
            )
        parts = [PartSummary(**part) for part in content["parts"]]
        if not parts:
            raise ValueError("it names no ratings")
        for part in parts:
            _check_files(path, part)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"the store {path} is damaged: {error}; convert its source anew") from None
    return parts


def write_manifest(path: Path, parts: list[PartSummary]) -> None:
    """Makes these the parts of the store, in one step, and removes what no longer belongs to it."""
    content = {"rankfill_store": FORMAT_VERSION, "parts": [asdict(part) for part in parts]}
    with whole_file(path / MANIFEST) as temporary:
        temporary.write_text(json.dumps(content, indent=1), encoding="utf-8")
    remove_rest(path, parts)


def remove_rest(path: Path, parts: list[PartSummary]) -> None:
    """Removes the parts that the manifest does not name: of a writer that was killed, or replaced by others."""
    named = {part.folder for part in parts}
    for folder in path.glob("part-*"):
        if folder.name not in named:
            shutil.rmtree(folder, ignore_errors=True)


def part_folder(path: Path) -> Path:
    """A new folder for a part that is to be written."""
    return Path(tempfile.mkdtemp(prefix="part-", dir=path))


@contextmanager
def writing(path: Path, *, wait: bool = False) -> Iterator[None]:
    """One writer at a time: another one is refused, or waits; readers need not."""
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise ValueError(f"another process is writing to the store {path}; wait until it has ended") from None
        yield
    finally:
        os.close(handle)


def sum_files(folder: Path, names: list[str]) -> dict[str, list[int]]:
    """The size and the checksum of files, all forced to disk."""
    sums = {}
    for name in names:
        with (folder / name).open("rb") as file:
            sums[name] = [os.fstat(file.fileno()).st_size, checksum(folder / name)]
            os.fsync(file.fileno())
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
    return sums


def checksum(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            total = zlib.crc32(block, total)
    return total


def map_numbers(folder: Path, part: PartSummary, name: str) -> NDArray[Any]:
    """The numbers in a file, read when they are looked at."""
    dtype = np.dtype(part.dtype_of(name))
    if part.files[name][0] == 0:
        return np.empty(0, dtype)
    return np.memmap(folder / name, dtype, mode="r")


def _check_files(path: Path, part: PartSummary) -> None:
    proper = part.folder.startswith("part-") and len(part.folder.encode()) <= _LONGEST_NAME
    if not proper or Path(part.folder).name != part.folder:
        raise ValueError(f"{shown(part.folder)} is not the name of a part")
    if part.scale is not None and not 1 <= len(part.scale) <= SCALE_CODES:
        raise ValueError(f"its scale has {len(part.scale)} values")
    if astray := sorted(part.files.keys() ^ part.lengths().keys()):
        raise ValueError(f"its list of files has too many or lacks some: {shown(', '.join(astray))}")
    for name, length in part.lengths().items():
        file = path / part.folder / name
        size = file.stat().st_size if file.is_file() else -1
        wanted = part.files[name][0] if length is None else length * np.dtype(part.dtype_of(name)).itemsize
        if size != wanted:
            raise ValueError(
                f"{part.folder}/{name} has {size} bytes instead of {wanted}"
                if size >= 0
                else f"{part.folder}/{name} is missing"
            )
