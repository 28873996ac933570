"""The settings to try: all of a grid, or some drawn at random; and those that lie on one path.

Settings that differ in regularisation alone form a path. Along it each solution is a good start for the next, in the
order that `Model.warm_path` names; and a path is judged as a whole, for how much regularisation is best cannot be
seen after few passes.
"""

import itertools
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankfill.models import Model
from rankfill.models.base.model import WarmPath

Params = dict[str, Any]
Space = Mapping[str, Any]

STRENGTH = {"penalty": 1.0, "trace": -1.0, "C": -1.0, "shrinkage": 1.0}
"""The parameters that regularise, and whether more of it is stronger (1) or weaker (−1)."""


def candidates(model: Model, grid: Space | None, distributions: Space | None, trials: int, seed: int) -> list[Params]:
    """The settings to try, none twice."""
    if (grid is None) == (distributions is None):
        raise ValueError(
            'say what to try by either grid={"penalty": [0.02, 0.04, 0.08]} or distributions={"penalty": (0.01, 1.0)}'
        )
    space = dict(grid or distributions or {})
    known = model.get_params(deep=False)
    for name, values in space.items():
        if name not in known:
            raise ValueError(f"{type(model).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        if not hasattr(values, "rvs") and (isinstance(values, str) or not isinstance(values, Sequence | np.ndarray)):
            raise TypeError(f"what to try for {name} must be a list of values, found {values!r}")
        if not hasattr(values, "rvs") and len(values) == 0:
            raise ValueError(f"there is nothing to try for {name}; give at least one value")
    found = _combinations(space) if distributions is None else _draw_all(space, trials, seed)
    return list({repr(params): params for params in found}.values())


def paths(found: Sequence[Params], order: WarmPath) -> list[list[int]]:
    """Positions of the candidates in groups that differ in regularisation alone, each in the order given."""
    groups: dict[str, list[int]] = {}
    for position, params in enumerate(found):
        rest = {name: value for name, value in params.items() if not _regularises(name, value)}
        groups.setdefault(repr(rest), []).append(position)
    sign = 1 if order == "weakest first" else -1
    return [sorted(group, key=lambda position: _strength(found[position], sign)) for group in groups.values()]


def _strength(params: Params, sign: int) -> tuple[float, ...]:
    return tuple(sign * STRENGTH[name] * params[name] for name in STRENGTH if _regularises(name, params.get(name)))


def _regularises(name: str, value: Any) -> bool:
    return name in STRENGTH and isinstance(value, Real)


def _combinations(grid: Space) -> list[Params]:
    values = [[_plain(each) for each in choices] for choices in grid.values()]
    return [dict(zip(grid, combination, strict=True)) for combination in itertools.product(*values)]


def _draw_all(distributions: Space, trials: int, seed: int) -> list[Params]:
    if not isinstance(trials, Integral) or trials < 1:
        raise ValueError(f"trials must be a whole number of at least 1, found {trials!r}")
    random = np.random.default_rng(seed)
    return [{name: _draw(name, each, random) for name, each in distributions.items()} for _ in range(trials)]


def _draw(name: str, values: Any, random: np.random.Generator) -> Any:
    if hasattr(values, "rvs"):
        return _plain(values.rvs(random_state=random))
    if not isinstance(values, tuple):
        return _plain(values[int(random.integers(len(values)))])
    if len(values) != 2 or not all(isinstance(end, Real) for end in values) or not 0 < values[0] <= values[1]:
        raise ValueError(
            f"{name}={values!r} is no range: give (low, high) with 0 < low <= high, a list of values, or a "
            "distribution of scipy.stats"
        )
    low, high = values
    drawn = float(np.exp(random.uniform(np.log(low), np.log(high))))
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    return round(drawn) if whole else float(f"{drawn:.3g}")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
