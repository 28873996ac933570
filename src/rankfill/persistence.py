"""Models on disk: one safetensors file with factors, ids and settings; never pickle."""

import os

from rankfill.data import Ratings
from rankfill.data.tensors import read_tensors
from rankfill.models import MODELS, Model
from rankfill.models.base.model_file import FORMAT_VERSION
from rankfill.models.base.state import Parts
from rankfill.shown import shown


def save(model: Model, path: str | os.PathLike[str], history: bool = True) -> None:
    """Writes a fitted model to one file, whole or not at all.

    Parameters
    ----------
    model : Model
        What to write; it must be fitted.
    path : str or path
        Where to. A file that is there is replaced.
    history : bool, default=True
        Whether the file holds what each user has rated. Without it a file is smaller and tells less about people;
        the model then recommends only with `exclude_seen=False`.

    Examples
    --------
    >>> import tempfile, rankfill as rf
    >>> model = rf.Bias().fit(rf.Ratings.from_dense([[5, 3], [4, None]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rf.save(model, f"{folder}/m.rankfill")
    ...     rf.load(f"{folder}/m.rankfill")
    Bias()
    """
    if not isinstance(model, Model):
        raise TypeError(
            f"save writes a rankfill model, found {type(model).__name__}; for other estimators, such as an imputer or "
            "a pipeline, use joblib.dump"
        )
    model.save(path, history)


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model that answers as the saved one did, to the bit and by the same ids.

    The arrays are mapped into memory, and learning on does not touch the file. Replacing the file by `save` is safe;
    a program that overwrites its bytes in place takes the model down with it.

    Parameters
    ----------
    path : str or path
        A file written by `save`. It is checked as a whole before anything uses it.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        Where the file is damaged, is no model or comes from another version of rankfill.

    Examples
    --------
    >>> import tempfile, rankfill as rf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rf.save(rf.Bias().fit(rf.Ratings.from_dense([[5, 3], [4, None]])), f"{folder}/m.rankfill")
    ...     round(float(rf.load(f"{folder}/m.rankfill").predict(1, 0)), 3)
    4.119
    """
    tensors, about = read_tensors(path)
    version, name = about.get("rankfill"), about.get("model")
    if not isinstance(version, int):
        raise ValueError(f"{path} is not a model of rankfill")
    if version > FORMAT_VERSION:
        raise ValueError(f"{path} has format {version}, this rankfill reads up to {FORMAT_VERSION}; upgrade rankfill")
    if version < FORMAT_VERSION:
        raise ValueError(
            f"{path} has format {version} of an older rankfill, this one reads {FORMAT_VERSION}; fit again"
        )
    classes = {cls.__name__: cls for cls in MODELS.values()}
    if name not in classes:
        raise ValueError(f"{path} holds a {shown(name)}, which this rankfill does not have; upgrade rankfill")
    try:
        model = classes[name](**about["parameters"])
        model._check(_NOTHING)
        model._unpack(Parts(tensors, about))
    except KeyError as error:
        raise ValueError(f"{path} lacks part of a model ({error}); save the model again") from error
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} is damaged: {error}; save the model again") from error
    return model


_NOTHING = Ratings.from_arrays([], [], [], timestamps=[])
"""Lets a model check its settings."""
