"""The models within a model, as parts of its file; what they share with it is stored once."""

import numpy as np

from rankfill.data import Ratings
from rankfill.models.auto.candidates import CLASSES
from rankfill.models.base.model import Model
from rankfill.models.base.state import Parts
from rankfill.shown import shown


def pack_part(role: str, model: Model, history: bool, whole: Parts) -> None:
    """Adds a model under that name, without the arrays that stand in the whole under the same name."""
    part = model._view()._pack(history)
    whole.words[role] = part.words
    for name, tensor in part.tensors.items():
        there = whole.tensors.get(name)
        if there is None or there.dtype != tensor.dtype or not np.array_equal(there, tensor):
            whole.tensors[f"{role}.{name}"] = tensor


def unpack_part(role: str, whole: Parts) -> Model:
    """The model that `pack_part` added, checked as one that has a file of its own."""
    words = whole.word(role, dict[str, object])
    name = words["model"]
    if name not in CLASSES:
        raise ValueError(f"{role} is a {shown(name)}, which is none of the models to choose among")
    own = {key.removeprefix(f"{role}."): each for key, each in whole.tensors.items() if key.startswith(f"{role}.")}
    shared = {key: each for key, each in whole.tensors.items() if "." not in key}
    model = CLASSES[name](**words["parameters"])
    model._check(_NOTHING)
    model._unpack(Parts(shared | own, words))
    return model


_NOTHING = Ratings.from_arrays([], [], [])
"""Lets a model check its settings."""
