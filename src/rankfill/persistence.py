"""Models on disk: one safetensors file with factors, ids and settings; never pickle."""

import os

from rankfill.data.tensors import read_tensors
from rankfill.models import MODELS, Model
from rankfill.models.base import FORMAT_VERSION


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes a fitted model to one file, whole or not at all."""
    model.save(path)


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model that answers as the saved one did, to the bit and by the same ids.

    The arrays are mapped into memory: a large model opens at once, and learning on does not touch the file.
    """
    tensors, about = read_tensors(path)
    version = about.get("rankfill")
    if version is None:
        raise ValueError(f"{path} is not a model of rankfill")
    if version > FORMAT_VERSION:
        raise ValueError(f"{path} has format {version}, this rankfill reads up to {FORMAT_VERSION}; upgrade rankfill")
    classes = {cls.__name__: cls for cls in MODELS.values()}
    if about.get("model") not in classes:
        raise ValueError(f"{path} holds a {about.get('model')}, which this rankfill does not have; upgrade rankfill")
    try:
        model = classes[about["model"]](**about["parameters"])
        model._set_state(tensors, about)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} lacks part of a model ({error}); save the model again") from error
    return model
