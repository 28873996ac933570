"""The model as it was at a sequence number, one file each; the newest two are kept."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data.atomic import whole_file
from rankfill.data.tensors import write_tensors
from rankfill.models import Model
from rankfill.models.base.state import Parts
from rankfill.persistence import load

_NAME = re.compile(r"(\d{16})(b?)\.rankfill")
_KEPT = 2


class Frozen:
    """All that a model knows, in arrays of its own: it may go on learning while they are written."""

    def __init__(self, model: Model) -> None:
        parts = model._pack(history=False)
        self._parts = Parts({name: _own(name, each) for name, each in parts.tensors.items()}, parts.words)
        self._seen = None if model._seen is None else model._seen.copy()

    def parts(self) -> Parts:
        """The parts of a model file; what users have rated is sorted only now, when nobody waits for it."""
        if self._seen is not None:
            self._parts.tensors |= dict(zip(("seen_indptr", "seen_items"), self._seen.all_rows(), strict=True))
        return self._parts


def _own(name: str, tensor: NDArray[Any]) -> NDArray[Any]:
    only_added_to = name in ("user_ids", "user_bytes", "user_offsets", "item_ids", "item_bytes", "item_offsets")
    return tensor if only_added_to else np.array(tensor)


class Snapshots:
    """The files of a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def begin_with(self, path: Path) -> None:
        """Takes a model file as the state before the first event."""
        with whole_file(self._path(0)) as temporary:
            shutil.copyfile(path, temporary)

    def write(self, parts: Parts, sequence: int, *, alone: bool = False) -> None:
        """Writes a snapshot and removes the oldest; with `alone` all others, a second copy standing in for them."""
        for path in (self._path(sequence), self._path(sequence, "b"))[: 2 if alone else 1]:
            write_tensors(path, parts.tensors, parts.words)
        for older in self.sequences()[1 if alone else _KEPT :]:
            for copy in ("", "b"):
                self._path(older, copy).unlink(missing_ok=True)

    def sequences(self) -> list[int]:
        """The sequence numbers of the snapshots, newest first."""
        names = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted({int(name[1]) for name in names if name}, reverse=True)

    def newest(self, last: int) -> tuple[Model, int, list[str]]:
        """The newest model that can be read, its sequence number, and what was wrong with newer ones."""
        troubles: list[str] = []
        for sequence in self.sequences():
            for path in (self._path(sequence), self._path(sequence, "b")):
                if not path.exists():
                    continue
                if sequence > last:
                    troubles.append(f"{path.name} is newer than the log, which ends at {last}")
                    continue
                try:
                    return load(path), sequence, troubles
                except (ValueError, OSError) as error:
                    troubles.append(str(error))
        raise ValueError(f"no snapshot in {self._folder} can be read: {'; '.join(troubles) or 'there is none'}")

    def _path(self, sequence: int, copy: str = "") -> Path:
        return self._folder / f"{sequence:016d}{copy}.rankfill"
