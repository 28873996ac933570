"""Turns a fitted model into the parts of a file, and back; a file is checked as a whole before it is used."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankfill.data import Vocabulary
from rankfill.kernels import Growing
from rankfill.models.base.seen import SeenItems
from rankfill.models.base.state import Parts, learned_types, pack, record_from, unpack
from rankfill.models.base.training import EpochReport

if TYPE_CHECKING:
    from rankfill.models.base.model import Model

FORMAT_VERSION = 3


def pack_model(model: "Model", history: bool) -> Parts:
    """Packs all that the model knows, without `history` leaving out what each user has rated."""
    parts = Parts(
        {
            "user_counts": model._user_counts.array,
            "user_sums": model._user_sums.array,
            "item_counts": model._item_counts.array,
        },
        {
            "rankfill": FORMAT_VERSION,
            "model": type(model).__name__,
            "parameters": {name: plain(value) for name, value in model.get_params(deep=False).items()},
            "sum": model._sum,
            "range": list(model.range_),
            "history": [vars(report) for report in model.history_],
        },
    )
    for side, vocabulary in (("user", model.users_), ("item", model.items_)):
        names = ("bytes", "offsets") if vocabulary.of_strings else ("ids",)
        parts.tensors |= {f"{side}_{name}": keys for name, keys in zip(names, vocabulary.keys, strict=True)}
    if history and model._seen is not None:
        parts.tensors |= dict(zip(("seen_indptr", "seen_items"), model._seen.all_rows(), strict=True))
    for name in learned_types(type(model)):
        pack(name.strip("_"), getattr(model, name), parts)
    return parts


def unpack_into(model: "Model", parts: Parts) -> None:
    """Makes a model with the right settings answer as the one that was packed."""
    model._begin(*(_vocabulary(side, parts) for side in ("user", "item")))
    model._owns_vocabularies = True
    model._user_counts = Growing(_counts("user_counts", len(model.users_), parts))
    model._user_sums = Growing(parts.finite("user_sums", np.float64, len(model.users_)))
    model._item_counts = Growing(_counts("item_counts", len(model.items_), parts))
    model.n_ratings_ = int(model._user_counts.array.sum())
    if model.n_ratings_ != model._item_counts.array.sum():
        raise ValueError("user_counts and item_counts do not add up to the same number of ratings")
    model._seen = _seen(len(model.users_), len(model.items_), parts) if "seen_indptr" in parts.tensors else None
    model._sum, model.range_ = parts.word("sum", float), parts.word("range", tuple[float, float])
    model.mean_ = model._sum / max(model.n_ratings_, 1)
    model.history_ = [
        record_from("history", EpochReport, report) for report in parts.word("history", list[dict[str, Any]])
    ]
    for name, hint in learned_types(type(model)).items():
        setattr(model, name, unpack(name.strip("_"), hint, parts))


def _vocabulary(side: str, parts: Parts) -> Vocabulary:
    if f"{side}_ids" in parts.tensors:
        return Vocabulary.from_keys((parts.tensor(f"{side}_ids", np.int64),))
    return Vocabulary.from_keys((parts.tensor(f"{side}_bytes", np.uint8), parts.tensor(f"{side}_offsets", np.int64)))


def _counts(name: str, n: int, parts: Parts) -> NDArray[np.int64]:
    counts = parts.tensor(name, np.int64, n)
    if counts.min(initial=0) < 0:
        raise ValueError(f"{name} holds negative numbers")
    return counts


def _seen(n_users: int, n_items: int, parts: Parts) -> SeenItems:
    """Rows of items below `n_items`, ascending, for at most `n_users`."""
    indptr, items = parts.tensor("seen_indptr", np.int64), parts.tensor("seen_items", np.int32)
    n_rows = len(indptr) - 1
    if not 0 <= n_rows <= n_users or indptr[0] != 0 or indptr[-1] != len(items) or (np.diff(indptr) < 0).any():
        raise ValueError("seen_indptr does not divide seen_items into one row per user")
    falls = np.flatnonzero(np.diff(items) <= 0) + 1
    if items.min(initial=0) < 0 or items.max(initial=-1) >= n_items or not np.isin(falls, indptr).all():
        raise ValueError("seen_items holds rows that are not ascending numbers of items")
    return SeenItems(indptr, items)


def plain(value: Any) -> Any:
    """The settings in a form that JSON can hold."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    return value
