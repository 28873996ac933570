"""Faces with a quarter of the pixels missing, filled in by three methods, as in Akyıldız (MLSS 2015).

Each method sees the known pixels only. Over a set S of pixels of the pictures Y, filled in as F,

    SNR = 10 log₁₀( Σ_S Y² / Σ_S (Y − F)² )  in dB,

over all pixels, known and missing, and over the missing ones alone. The paper does not say what its signal-to-noise
ratio is, so its numbers stand apart: only their order and their distance can be compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Ratings
from rankfill.data.olivetti import olivetti
from rankfill.experiments.frame import Asked
from rankfill.images.measures import snr
from rankfill.models import SGMF, Broyden, MultiplicativeNMF
from rankfill.models.base.factors import FactorModel
from rankfill.models.base.training import Callback, EpochReport
from rankfill.objectives.measures import rmse

PUBLISHED = {"missing pixels": 0.75, "Broyden": 11.57, "NMF": 12.13}
"""Signal-to-noise ratios in the paper, in dB by its own definition: with the pixels missing, and filled in."""


@dataclass(frozen=True)
class Point:
    """The error and ratios of a method after some seconds of learning and columns read."""

    seconds: float
    samples: int
    error: float
    whole: float
    missing: float


@dataclass(frozen=True)
class Filled:
    """The result of a method on the pictures, and its course."""

    name: str
    passes: int
    pictures: NDArray[np.float32]
    curve: tuple[Point, ...]

    @property
    def last(self) -> Point:
        return self.curve[-1]


@dataclass(frozen=True)
class Holes:
    """Pictures, a column each, and which of their pixels are known."""

    pictures: NDArray[np.float32]
    known: NDArray[np.bool_]

    @classmethod
    def at_random(cls, pictures: NDArray[np.float32], missing: float, seed: int) -> "Holes":
        if not 0 < missing < 1:
            raise ValueError(f"the share of missing pixels must be between 0 and 1, found {missing:g}")
        return cls(pictures, np.random.default_rng(seed).random(pictures.shape) >= missing)

    def ratings(self) -> Ratings:
        """Pixels are users, pictures are items."""
        return Ratings.from_dense(np.where(self.known, self.pictures, np.nan))

    def blacken(self) -> NDArray[np.float32]:
        return np.where(self.known, self.pictures, np.float32(0))

    def snr(self, filled: NDArray[np.float32]) -> tuple[float, float]:
        """Over all pixels, and over the missing ones."""
        return snr(self.pictures, filled), snr(self.pictures[~self.known], filled[~self.known])


def methods(
    rank: int = 30, penalty: float = 2.0, passes: int = 30, nmf_passes: int = 1000, seed: int = 0
) -> dict[str, FactorModel]:
    """Sets up the model as in the paper: no biases, nothing clipped, every pass made."""
    common = {"rank": rank, "seed": seed, "tol": None, "clip": False}
    columns = {"side": "items", "biases": False, "passes": passes}
    return {
        "Broyden": Broyden(penalty=penalty, **columns, **common),  # type: ignore[arg-type]
        "NMF": MultiplicativeNMF(shrinkage=0, passes=nmf_passes, **common),  # type: ignore[arg-type]
        "SGMF": SGMF(rate=0.5, **columns, **common),  # type: ignore[arg-type]
    }


def fill(name: str, model: FactorModel, holes: Holes, callbacks: Iterable[Callback] = ()) -> Filled:
    """Fits the model to the known pixels and follows it; time is counted while it learns only."""
    curve: list[Point] = []
    n_pictures = holes.pictures.shape[1]

    def follow(report: EpochReport) -> None:
        if report.epoch > 50 and report.epoch % 10:
            return
        filled = fill_by(model)
        error = rmse(holes.pictures.ravel(), filled.ravel())
        curve.append(Point(report.seconds, report.epoch * n_pictures, error, *holes.snr(filled)))

    model.fit(holes.ratings(), callbacks=[follow, *callbacks])
    return Filled(name, len(model.history_), fill_by(model), tuple(curve))


def fill_by(model: FactorModel) -> NDArray[np.float32]:
    """The product of the factors, for the known pixels too."""
    product: NDArray[np.float32] = model.user_factors_ @ model.item_factors_.T
    return product


def find_pictures(asked: Asked) -> tuple[NDArray[np.float32], str]:
    """The Olivetti faces where they are, else made-up pictures of that shape, and what to call them."""
    if not asked.quick:
        try:
            return olivetti(None if asked.data is None else asked.data / "olivetti"), "Olivetti, 400 faces of 64 x 64"
        except FileNotFoundError:
            return make_faces(64, 400), "synthetic pictures of the shape of the Olivetti faces, which were not found"
    return make_faces(16, 60), "synthetic, quick: 60 pictures of 16 x 16"


def make_faces(side: int, n: int) -> NDArray[np.float32]:
    """Mixtures of four soft spots with a little noise, all pixels positive."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:side, 0:side].reshape(2, -1) / side
    centres = ((0.25, 0.3), (0.75, 0.3), (0.5, 0.6), (0.5, 0.9))
    spots = np.stack([np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.05) for a, b in centres], axis=1)
    pictures = (0.1 + 0.8 * spots) @ rng.dirichlet(np.ones(4), n).T + 0.02 * rng.random((side * side, n))
    return pictures.astype(np.float32)
