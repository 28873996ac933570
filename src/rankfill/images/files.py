"""Pictures as files: PNG, JPEG and what else Pillow reads, as arrays of uint8 or uint16."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from rankfill.data.atomic import whole_file

PathLike = str | os.PathLike[str]
_KEPT = ("L", "LA", "RGB", "RGBA")


def read_picture(path: PathLike) -> NDArray[Any]:
    """Reads a picture from a file.

    Parameters
    ----------
    path : path
        A file in any format that Pillow reads, such as PNG or JPEG.

    Returns
    -------
    ndarray of uint8 or uint16
        Height × width for grey, with a last axis for colours and for transparency.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_picture(f"{folder}/grey.png", np.eye(3, dtype=np.uint8))
    ...     read_picture(f"{folder}/grey.png").shape
    (3, 3)
    """
    try:
        with Image.open(path) as picture:
            if picture.mode.startswith("I"):
                return np.asarray(picture).astype(np.uint16)
            if picture.mode not in _KEPT:
                grey = picture.mode == "1"
                see_through = "transparency" in picture.info or picture.mode == "PA"
                return np.asarray(picture.convert("L" if grey else "RGBA" if see_through else "RGB"))
            return np.asarray(picture)
    except UnidentifiedImageError:
        raise ValueError(f"{path} is no picture that can be read; give a PNG or JPEG file") from None


def write_picture(path: PathLike, picture: NDArray[Any]) -> None:
    """Writes a picture to a file, whole or not at all.

    Parameters
    ----------
    path : path
        Where to write; its ending says the format.
    picture : ndarray of uint8 or uint16
        Height × width, or uint8 with a last axis for colours and for transparency.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_picture(f"{folder}/colours.png", np.zeros((4, 5, 3), np.uint8))
    ...     read_picture(f"{folder}/colours.png").shape
    (4, 5, 3)
    """
    target = Path(path)
    kinds = Image.registered_extensions()
    if target.suffix.lower() not in kinds:
        raise ValueError(f"cannot tell the format of {target}; let its name end in .png or .jpg")
    if picture.dtype not in (np.uint8, np.uint16) or (picture.dtype == np.uint16 and picture.ndim > 2):
        raise ValueError(
            f"a picture file takes uint8, or uint16 in grey, found {picture.dtype} of shape {picture.shape}; convert it"
        )
    with whole_file(target) as temporary:
        Image.fromarray(picture).save(temporary, format=kinds[target.suffix.lower()])
