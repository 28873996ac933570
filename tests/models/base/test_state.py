"""Values as arrays and words and back, and what a file may not say."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from rankfill.kernels import Growing
from rankfill.models.base.state import Parts, learned_types, pack, snapshot, unpack


class Place(NamedTuple):
    row: int
    values: NDArray[np.float32]


@dataclass
class Box:
    place: Place
    name: str


class Parent:
    _learned: ClassVar[tuple[str, ...]] = ("size_", "rows_")
    size_: float
    rows_: Growing


class Child(Parent):
    _learned: ClassVar[tuple[str, ...]] = ("box_", "maybe_", "kind_", "errors_", "pair_", "flag_")
    box_: Box
    maybe_: Place | None
    kind_: Literal["a", "b"]
    errors_: list[float]
    pair_: tuple[float, float]
    flag_: bool


@pytest.fixture
def child():
    child = Child()
    child.size_, child.rows_ = 2.5, Growing(np.arange(6.0).reshape(3, 2))
    child.box_ = Box(Place(3, np.array([1, 2], np.float32)), "tea")
    child.maybe_, child.kind_, child.errors_, child.pair_, child.flag_ = None, "b", [1.0, 2.0], (0.5, 4.0), True
    return child


def parts_of(child):
    parts = Parts({}, {})
    for name in learned_types(Child):
        pack(name, getattr(child, name), parts)
    parts.words = {name: list(word) if isinstance(word, tuple) else word for name, word in parts.words.items()}
    return parts


def test_what_the_bases_learn_comes_first():
    assert list(learned_types(Child)) == ["size_", "rows_", "box_", "maybe_", "kind_", "errors_", "pair_", "flag_"]


@pytest.mark.parametrize("maybe", [None, Place(7, np.array([4], np.float32))])
def test_round_trip(child, maybe):
    child.maybe_ = maybe
    parts = parts_of(child)
    back = {name: unpack(name, hint, parts) for name, hint in learned_types(Child).items()}
    np.testing.assert_array_equal(back["rows_"].array, child.rows_.array)
    assert back["box_"].name == "tea"
    assert back["box_"].place.row == 3
    np.testing.assert_array_equal(back["box_"].place.values, [1, 2])
    assert (back["maybe_"] is None) == (maybe is None)
    for name in ("size_", "kind_", "errors_", "pair_", "flag_"):
        assert back[name] == getattr(child, name)


def test_snapshot_is_a_copy(child):
    before = snapshot(child)
    child.rows_.array[:] = 9
    child.box_.place.values[:] = 9
    child.errors_.append(3.0)
    assert before["rows_"].array.max() == 5
    assert before["box_"].place.values.max() == 2
    assert before["errors_"] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size_", "large"),
        ("size_", float("nan")),
        ("size_", True),
        ("kind_", "c"),
        ("errors_", 3.0),
        ("errors_", [1.0, None]),
        ("pair_", [1.0]),
        ("flag_", 1),
        ("box_.name", None),
        ("box_.place.row", 1.5),
        ("box_.name", ["x" * 10_000]),
    ],
)
def test_word_of_another_type_is_refused_in_one_line(child, name, value):
    parts = parts_of(child)
    parts.words[name] = value
    attribute = name.split(".")[0]
    with pytest.raises(ValueError, match=rf"{name} holds .* instead of") as caught:
        unpack(attribute, learned_types(Child)[attribute], parts)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("array", [np.array([1, 2]), np.array([1, np.nan], np.float32), np.float32(3)])
def test_array_of_another_kind_is_refused(child, array):
    parts = parts_of(child)
    parts.tensors["box_.place.values"] = np.asarray(array)
    with pytest.raises(ValueError, match=r"box_\.place\.values (holds|has)"):
        unpack("box_", Box, parts)


T = TypeVar("T", bound=np.generic)
Named = TypeAliasType("Named", np.ndarray[Any, np.dtype[T]], type_params=(T,))
"""What `NDArray` is in NumPy since 2.5."""


@pytest.mark.parametrize("hint", [Named[np.float32], Named[np.float32] | None, TypeAliasType("Row", Named[np.float32])])
def test_a_type_may_go_by_another_name(hint):
    parts = Parts({"row": np.ones(3, np.float32)}, {})
    assert unpack("row", hint, parts).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="row holds int64 instead of float32"):
        unpack("row", hint, Parts({"row": np.ones(3, np.int64)}, {}))
