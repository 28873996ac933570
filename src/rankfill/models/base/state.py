"""Turns what a model has learned into named arrays and words, and back; every part is checked against its type.

A class names the attributes it learns in `_learned` and declares their types by annotations. Saving,
loading, taking a snapshot and restoring it all follow this declaration.
"""

import copy
import dataclasses
import math
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rankfill.kernels import Growing
from rankfill.shown import shown


class Parts:
    """The content of a model file: arrays by name, and words that JSON can hold."""

    def __init__(self, tensors: dict[str, NDArray[Any]], words: dict[str, Any]) -> None:
        self.tensors = tensors
        self.words = words

    def tensor(self, name: str, kind: Any = np.generic, n: int | None = None) -> NDArray[Any]:
        """The array of that name, of that kind of numbers and, where `n` is given, of that length."""
        array = self.tensors[name]
        if not np.issubdtype(array.dtype, kind):
            raise ValueError(f"{name} holds {array.dtype} instead of {np.dtype(kind)}")
        if array.ndim == 0 or (n is not None and len(array) != n):
            raise ValueError(f"{name} has the shape {array.shape} instead of the length {n}")
        return array

    def finite(self, name: str, kind: Any, n: int | None = None) -> NDArray[Any]:
        """As `tensor`, but refuses numbers that are not finite; one pass over the array, block by block."""
        array = self.tensor(name, kind, n)
        rows = max(1, 2**20 // max(array[:1].size, 1))
        for first in range(0, len(array), rows):
            if not math.isfinite(float(array[first : first + rows].sum(dtype=np.float64))):
                raise ValueError(f"{name} holds numbers that are not finite")
        return array

    def word(self, name: str, hint: Any, *, finite: bool = True) -> Any:
        """The word of that name, checked to have the type `hint`."""
        return _check_type(name, hint, self.words[name], finite)


def learned_types(cls: type) -> dict[str, Any]:
    """The attributes that a class and its bases learn, those of the bases first, with their declared types."""
    names = [name for each in reversed(cls.__mro__) for name in vars(each).get("_learned", ())]
    hints = get_type_hints(cls)
    return {name: hints[name] for name in names}


def without_aliases(hint: Any) -> Any:
    """The type itself where it goes by a name of its own, as arrays do in NumPy since 2.5."""
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__"):
        return hint
    arguments = get_args(hint)
    return without_aliases(alias.__value__[arguments] if arguments else alias.__value__)


def snapshot(model: Any) -> dict[str, Any]:
    """A copy of all that the model has learned."""
    return {name: copy.deepcopy(getattr(model, name)) for name in learned_types(type(model))}


def pack(name: str, value: Any, parts: Parts) -> None:
    """Adds a value to the parts: an array, a word, or a record of both under dotted names."""
    if isinstance(value, Growing | np.ndarray):
        parts.tensors[name] = value.array if isinstance(value, Growing) else value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for field, each in zip(value._fields, value, strict=True):
            pack(f"{name}.{field}", each, parts)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            pack(f"{name}.{field.name}", getattr(value, field.name), parts)
    else:
        parts.words[name] = value


def unpack(name: str, hint: Any, parts: Parts) -> Any:
    """The value that `pack` added, of the declared type."""
    hint = without_aliases(hint)
    if get_origin(hint) in (Union, types.UnionType) and types.NoneType in get_args(hint):
        if parts.words.get(name, ...) is None:
            return None
        return unpack(name, Union[tuple(each for each in get_args(hint) if each is not types.NoneType)], parts)  # noqa: UP007
    if hint is Growing:
        return Growing(parts.finite(name, np.number))
    if get_origin(hint) is np.ndarray:
        return parts.finite(name, get_args(get_args(hint)[1])[0])
    if hasattr(hint, "_fields") or dataclasses.is_dataclass(hint):
        fields = get_type_hints(hint)
        return hint(**{field: unpack(f"{name}.{field}", each, parts) for field, each in fields.items()})
    return parts.word(name, hint)


def record_from(name: str, cls: Any, words: dict[str, Any]) -> Any:
    """A dataclass of plain values from its fields; numbers need not be finite."""
    fields = get_type_hints(cls)
    if unknown := words.keys() - fields.keys():
        raise ValueError(f"{name} holds {shown(min(unknown))}, which a {cls.__name__} does not have")
    return cls(**{field: _check_type(f"{name}.{field}", fields[field], value, False) for field, value in words.items()})


def _check_type(name: str, hint: Any, value: Any, finite: bool) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        others = [each for each in arguments if each is not types.NoneType]
        if len(others) == 1:
            return _check_type(name, others[0], value, finite)
    if origin is dict and isinstance(value, dict):
        return value
    if origin is list and isinstance(value, list):
        return [_check_type(name, arguments[0], each, finite) for each in value]
    if origin is tuple and isinstance(value, list) and len(value) == len(arguments):
        return tuple(_check_type(name, each, part, finite) for each, part in zip(arguments, value, strict=True))
    if origin is Literal and value in arguments:
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is float and number and (not finite or math.isfinite(value)):
        return float(value)
    if (hint is int and number and isinstance(value, int)) or (hint in (bool, str) and type(value) is hint):
        return value
    raise ValueError(f"{name} holds {shown(value)} instead of {_describe(hint)}")


def _describe(hint: Any) -> str:
    words = {float: "a finite number", int: "a whole number", bool: "true or false", str: "text"}
    return words.get(hint) or str(hint).replace("typing.", "")
