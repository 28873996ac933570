"""Reading while learning: threads may use a model while another thread teaches it.

A model answers from a view, which is renewed by swapping one reference at the end of a fit, of each pass of it, and of
every call of `partial_fit` or `learn_one`. The ids, counts, factors and seen items of a view belong together, so that
any number of threads may read while one learns; two threads that learn take turns. Rows are moved in place: an answer
given while a row is moving may use numbers from before and after.
"""

import threading
from abc import ABC
from itertools import compress
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rankfill.data import Vocabulary
from rankfill.kernels import Growing
from rankfill.models.base.seen import SeenItems


class Published(BaseEstimator, ABC):  # type: ignore[misc]
    """The part of every model by which readers see one consistent state of it."""

    _writing: threading.RLock
    _published: Self | None
    """The view; None in a view itself, for an object that holds itself outlives its last use."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        model: Self = super().__new__(cls)
        model._writing = threading.RLock()
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the lock and the view, which a copy makes for itself."""
        state = dict(super().__getstate__())
        return {name: value for name, value in state.items() if name not in ("_writing", "_published")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "users_"):
            self._renew_view()

    def _check_fitted(self) -> None:
        if not hasattr(self, "users_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit first")

    def _view(self) -> Self:
        """The model as it was last published; it does not change any more."""
        if "_published" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit first")
        return self if self._published is None else self._published

    def _renew_view(self) -> None:
        """Publishes what has been learned up to now."""
        view = object.__new__(type(self))
        now, shown = self.__dict__, view.__dict__
        shown.update(now)
        for name in compress(now, map(_GROWING.__contains__, map(type, now.values()))):
            shown[name] = now[name].frozen()
        view._published = None
        self._published = view


_GROWING = {Growing, SeenItems, Vocabulary}
"""Types with a method `frozen`, which returns a view that does not grow."""
