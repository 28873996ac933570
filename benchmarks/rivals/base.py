"""What a system shows to the benchmarks. Everything is row numbers: no id is looked up while a clock runs."""

import importlib.util
from abc import ABC
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Task = Literal["fit", "stream", "top_n"]
Settings = dict[str, Any]
Grid = dict[str, tuple[Any, ...]]
INSTALL = "benchmarks/install_rivals.sh"


@dataclass(frozen=True)
class Interactions:
    """Ratings in the order they arrived: values[k] is what user users[k] gave item items[k]."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    n_users: int
    n_items: int

    def __len__(self) -> int:
        return len(self.values)

    def head(self, n: int) -> "Interactions":
        """The first n, copied, so that a warm-up reads nothing else."""
        first = (np.array(array[:n]) for array in (self.users, self.items, self.values))
        return Interactions(*first, self.n_users, self.n_items)

    def in_memory(self) -> "Interactions":
        return self.head(len(self))

    def to_coo(self) -> scipy.sparse.coo_matrix:
        return scipy.sparse.coo_matrix((self.values, (self.users, self.items)), shape=(self.n_users, self.n_items))


@dataclass(frozen=True)
class Plan:
    """What is the same for every system in one comparison."""

    rank: int
    threads: int
    passes: int
    seed: int


class Rival(ABC):
    """One system. `tasks` says which of `fit`, `stream` and `top_n` it implements.

    `prepare` (timed apart) makes what a user of the system holds before fitting: a matrix, a frame; `fit` is the
    clock's. `defaults` are the documented settings, `grids` the values tried on the validation ratings, sixteen
    combinations at most.
    """

    name: ClassVar[str]
    tasks: ClassVar[tuple[Task, ...]] = ("fit",)
    package: ClassVar[str] = ""
    defaults: ClassVar[Settings] = Settings()
    grids: ClassVar[tuple[Grid, ...]] = ()
    note: ClassVar[str] = ""
    most_users: ClassVar[int] = 1_000_000
    """How many users `top_n` is timed on at most: fewer where users are served one at a time."""

    unasked: ClassVar[bool] = True
    """Whether it takes part where no systems are named."""

    tuned_as: ClassVar[str] = ""
    """The file of the same system in another guise, whose tuned settings hold here too."""
    in_other_process: ClassVar[bool] = False
    """Whether `fit` is over before its memory could be looked at."""

    def __init__(self, **settings: Any) -> None:
        self.settings: Settings = {**self.defaults, **settings}

    def available(self) -> str | None:
        """None when it can run here, otherwise why not."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed; run {INSTALL}"
        return None

    def candidates(self) -> list[Settings]:
        """The settings to choose from: every combination of each grid; the documented ones where there is none."""
        found = [
            {**self.defaults, **dict(zip(grid, values, strict=True))}
            for grid in self.grids
            for values in product(*grid.values())
        ]
        return found or [dict(self.defaults)]

    def at_edges(self) -> list[str]:
        """Settings at the end of their grid, where a wider one might do better; zero is no end."""
        words = {name: value for name, value in self.settings.items() if not isinstance(value, float)}
        alike = [each for each in self.candidates() if words.items() <= each.items()]
        values = {name: {each[name] for each in alike} for name in self.settings if name not in words}
        return [
            name
            for name, tried in values.items()
            if len(tried) > 1 and self.settings[name] in {min(tried), max(tried)} - {0.0}
        ]

    def ladder(self, passes: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of passes to measure; a system for which a pass means less asks for more."""
        return passes

    def environment(self, threads: int) -> dict[str, str]:
        """Variables of the process it runs in, beyond the usual numbers of threads."""
        return {}

    def prepare(self, train: Interactions, plan: Plan) -> Any:
        return train

    def fit(self, prepared: Any, plan: Plan) -> Any:
        raise NotImplementedError(f"{self.name} does not fit")

    def seconds(self, fitted: Any) -> float | None:
        """What the system itself says `fit` took, where the clock around it would say too much."""
        return None

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        """NaN where the system has no answer: the mean rating is put there, for everybody."""
        raise NotImplementedError(f"{self.name} does not predict")

    def top_n(self, fitted: Any, users: NDArray[np.int32], n: int) -> NDArray[np.integer]:
        """The n best items not rated in training, one row per user."""
        raise NotImplementedError(f"{self.name} does not recommend")

    def stream(self, events: Interactions, plan: Plan) -> Any:
        """Learns from one event after the other; returns what `predict` takes."""
        raise NotImplementedError(f"{self.name} does not learn online")


def inner_products(
    user_factors: NDArray[np.floating],
    item_factors: NDArray[np.floating],
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    chunk: int = 1_000_000,
) -> NDArray[np.floating]:
    """p_u·q_i for each pair, some at a time; NaN where there is no such row."""
    predictions = np.full(len(users), np.nan, dtype=np.float32)
    for first in range(0, len(users), chunk):
        u, i = users[first : first + chunk], items[first : first + chunk]
        known = (u < len(user_factors)) & (i < len(item_factors))
        products = np.einsum("nk,nk->n", user_factors[u[known]], item_factors[i[known]])
        predictions[first : first + chunk][known] = products
    return predictions
