"""Checkpoints: the state of a fit in a folder, written whole or not at all, from which the same call continues.

A resumed fit prepares as at the beginning and then takes over what it had learned, the reports of its passes and the
best state so far. Where a pass depends on nothing else, the result is that of a fit without interruption. Solvers that
carry more from pass to pass (directions, step sizes) start again at every checkpoint, interrupted or not.
"""

import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from rankfill.data import Features, Ratings
from rankfill.data.store.on_disk import OnDisk
from rankfill.data.tensors import read_tensors, write_tensors
from rankfill.kernels import Growing
from rankfill.models.base.model_file import plain
from rankfill.models.base.settings import check_whole
from rankfill.models.base.state import Parts, learned_types, pack, record_from, snapshot, unpack
from rankfill.models.base.training import EpochReport, Learner, Progress

FORMAT_VERSION = 1
FILE = "checkpoint.safetensors"
ADDRESS = re.compile("([a-zA-Z][a-zA-Z0-9+.-]+):/+")
"""How an address of storage begins; a Path makes one slash of two."""

Identity = dict[str, Any]
"""The class, settings and data of a fit, by name, each as a word or a checksum."""


Content = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""Arrays and words by name."""


class Place(ABC):
    """Where one checkpoint is kept; `str` is its name in messages."""

    @abstractmethod
    def write(self, tensors: dict[str, NDArray[Any]], words: dict[str, Any]) -> None:
        """Puts this in the place of what was there, whole or not at all."""

    @abstractmethod
    def read(self) -> Content | None:
        """What was written last; None where nothing was."""


class Folder(Place):
    """A folder of this machine."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        if ADDRESS.match(str(folder)):
            raise ValueError(f"checkpoint={str(folder)!r} is an address, which only Spark can write to; name a folder")
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"checkpoint={str(folder)!r} is a file; name a folder, which is made where there is none")

    def __str__(self) -> str:
        return str(self._folder)

    def write(self, tensors: dict[str, NDArray[Any]], words: dict[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_tensors(self._folder / FILE, tensors, words)

    def read(self) -> Content | None:
        if not (self._folder / FILE).exists():
            return None
        tensors, words = read_tensors(self._folder / FILE)
        return {name: array.copy() for name, array in tensors.items()}, words


class Checkpoint:
    """The place of one fit, which `identity` describes."""

    def __init__(self, place: Place | str | os.PathLike[str], every: int, identity: Identity) -> None:
        check_whole("every", every, 1)
        self.place = place if isinstance(place, Place) else Folder(place)
        self.every = int(every)
        self._identity = identity | {"every": self.every}

    def write(self, model: Learner, progress: Progress) -> None:
        """Replaces the checkpoint by the state after this pass."""
        parts = Parts({}, {"rankfill_checkpoint": FORMAT_VERSION, "fit": self._identity})
        parts.words |= {"history": [vars(report) for report in progress.history], "best": progress.best}
        parts.words |= {"since_best": progress.since_best, "has_best_state": progress.best_state is not None}
        for name, value in snapshot(model).items():
            pack(f"learned.{name}", value, parts)
        for name, value in (progress.best_state or {}).items():
            pack(f"best.{name}", value, parts)
        parts.tensors |= {f"carried.{name}": array for name, array in progress.carried.items()}
        self.place.write(parts.tensors, parts.words)

    def resume(self, model: Learner) -> Progress | None:
        """Restores what the model had learned; None where the place holds nothing yet."""
        try:
            content = self.place.read()
            if content is None:
                return None
            parts = Parts(*content)
            if parts.word("rankfill_checkpoint", int) != FORMAT_VERSION:
                raise ValueError("it was written by another version")
            self._check_same(parts.word("fit", dict[str, Any]))
            return self._take_over_progress(model, parts)
        except (ValueError, KeyError) as error:
            words_of = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"cannot go on from checkpoint {str(self.place)!r}: {words_of}; name another folder, or remove it"
            ) from error

    def _check_same(self, theirs: Identity) -> None:
        differing = [name for name in self._identity.keys() | theirs if self._identity.get(name) != theirs.get(name)]
        if differing:
            raise ValueError(f"it is of a fit with other {', '.join(sorted(differing))}")

    @staticmethod
    def _take_over_progress(model: Learner, parts: Parts) -> Progress:
        history = [record_from("history", EpochReport, each) for each in parts.word("history", list[dict[str, Any]])]
        types = learned_types(type(model))
        _take_over(model, {name: unpack(f"learned.{name}", hint, parts) for name, hint in types.items()})
        best_state = None
        if parts.word("has_best_state", bool):
            best_state = {name: unpack(f"best.{name}", hint, parts) for name, hint in types.items()}
        carried = {
            name.removeprefix("carried."): array for name, array in parts.tensors.items() if name.startswith("carried.")
        }
        best, since = parts.word("best", float, finite=False), parts.word("since_best", int)
        return Progress(history, best, best_state, since, carried)


def identity_of(model: BaseEstimator, told: dict[str, Any]) -> Identity:
    """The class, the settings and what `fit` was called with; `passes` or `sweeps` may be raised to go on."""
    parameters = model.get_params(deep=False).items()
    settings = {name: plain(value) for name, value in parameters if name not in ("passes", "sweeps")}
    return {"model": type(model).__name__} | settings | {name: _mark(value) for name, value in told.items()}


def _mark(value: Any) -> Any:
    """A word, or a checksum of what is too long for one."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, OnDisk):
        return value.identity
    sum_of_all = 0
    for array in _arrays(value):
        sum_of_all = zlib.crc32(np.ascontiguousarray(array).data.cast("B") if array.size else b"", sum_of_all)
    return sum_of_all


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    if isinstance(value, Ratings):
        yield from value.by_user
        yield from (*value.users.keys, *value.items.keys)
        if value.timestamps is not None:
            yield value.timestamps
    elif isinstance(value, Features):
        yield from (value.matrix.indptr, value.matrix.indices, value.matrix.data, *value.ids.keys)
    elif isinstance(value, Iterable):
        for each in value:
            yield np.asarray(each)
    else:
        parts = Parts({}, {})
        for name, each in snapshot(value).items():
            pack(name, each, parts)
        yield from parts.tensors.values()


def _take_over(model: Learner, learned: dict[str, Any]) -> None:
    """Sets what was learned; arrays of the same shape in place, since a solver may hold on to them."""
    for name, value in learned.items():
        before = getattr(model, name, None)
        if _array(before) is not None and _array(before).shape == _array(value).shape:
            _array(before)[...] = _array(value)
        else:
            setattr(model, name, value)


def _array(value: Any) -> Any:
    if isinstance(value, Growing):
        return value.array
    return value if isinstance(value, np.ndarray) else None
