"""The Olivetti faces (AT&T Laboratories Cambridge): 400 pictures of 40 people, 64 × 64 pixels, grey."""

import os
from pathlib import Path

import numpy as np
import scipy.io
from numpy.typing import NDArray

FILE = "olivettifaces.mat"
SIDE = 64


def olivetti(path: str | Path | None = None, download: bool = False) -> NDArray[np.float32]:
    """Reads the Olivetti faces: one column per face, one row per pixel, from 0 (black) to 1.

    ``column.reshape(64, 64)`` is the picture.

    Parameters
    ----------
    path : str or Path, optional
        The file olivettifaces.mat or its folder. By default the folder ``olivetti`` in the one that the environment
        variable RANKFILL_DATA names.
    download : bool, default=False
        Whether scikit-learn may fetch the faces where they are not there; it keeps them in its own folder.

    Returns
    -------
    ndarray of shape (4096, 400)

    Examples
    --------
    >>> from rankfill.data.olivetti import olivetti
    >>> olivetti().shape  # doctest: +SKIP
    (4096, 400)
    """
    named = os.environ.get("RANKFILL_DATA")
    places = [Path(path)] if path is not None else [Path(named) / "olivetti"] if named else []
    for place in places:
        file = place / FILE if place.is_dir() else place
        if file.is_file():
            return _read(file)
    if download:
        from sklearn.datasets import fetch_olivetti_faces

        images: NDArray[np.float32] = fetch_olivetti_faces().images
        return np.ascontiguousarray(images.reshape(len(images), -1).T)
    looked = f" in {places[0]}" if places else ""
    raise FileNotFoundError(
        f"there is no {FILE}{looked}; say where it is, or set RANKFILL_DATA to the folder that holds olivetti/{FILE}, "
        "or let scikit-learn fetch it with download=True"
    )


def _read(file: Path) -> NDArray[np.float32]:
    """Reads a file with one picture per column, its pixels column by column."""
    try:
        faces = scipy.io.loadmat(file)["faces"]
    except (KeyError, ValueError, IndexError) as error:
        raise ValueError(f"{file} is not the file of the Olivetti faces: {error}; fetch it anew") from None
    if faces.ndim != 2 or len(faces) != SIDE**2:
        raise ValueError(f"{file} should hold pictures of {SIDE} x {SIDE} pixels, found {faces.shape}; fetch it anew")
    pictures = faces.T.reshape(-1, SIDE, SIDE).transpose(0, 2, 1).reshape(-1, SIDE**2)
    return np.ascontiguousarray(pictures.T.astype(np.float32) / 255)
