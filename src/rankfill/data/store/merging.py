"""Parts of a store added and merged.

All parts have their ids in ascending order, so numbering the ids of all together keeps the order within each part: the
parts are dealt to the same buckets, the earlier first, and sorted as by a conversion.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankfill.data.duplicates import DuplicatePairError
from rankfill.data.ratings import Ratings
from rankfill.data.store.manifest import part_folder, read_manifest, write_manifest, writing
from rankfill.data.store.writing import PartWriter
from rankfill.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from rankfill.data.store.store import RatingStore

MEMORY = 1 << 29


def append(path: Path, more: Ratings) -> None:
    """Adds a part with these ratings."""
    from rankfill.data.store.converting import write_part
    from rankfill.data.store.store import RatingStore

    n_more = len(more)  # merges what was appended before the lock is taken, should this be the store itself
    with writing(path):
        parts = read_manifest(path)
        first = parts[0]
        if (more.timestamps is not None) != first.timed:
            has = "has" if first.timed else "has no"
            raise ValueError(
                f"the store {path} {has} timestamps, these ratings are different; give them as it has them"
            )
        for text, ids, side in ((first.text_users, more.users, "user"), (first.text_items, more.items, "item")):
            if len(ids) and ids.of_strings != text:
                raise TypeError(
                    f"the {side}s of the store {path} are {'strings' if text else 'numbers'}; convert the ids"
                )
        if first.duplicates == "error":
            for part in parts:
                _refuse_repeated(RatingStore._of_part(path, part), more)
        if n_more:
            write_manifest(path, [*parts, write_part(path, more, parts[0].duplicates)])


def compact(path: Path, *, wait: bool = False) -> None:
    """Makes one part of all; waits for another writer, or is refused."""
    from rankfill.data.store.store import RatingStore

    with writing(path, wait=wait):
        parts = read_manifest(path)
        if len(parts) == 1:
            return

        def stores() -> Iterator[RatingStore]:  # one at a time, for each holds a dozen files open
            return (RatingStore._of_part(path, part) for part in parts)

        users, items = (_unite(getattr(store, side) for store in stores()) for side in ("users", "items"))
        counts = np.zeros(len(users), np.int64)
        for store in stores():
            counts[users.index(store.users.ids())] += store.by_user.counts()
        folder = part_folder(path)
        try:
            policy = parts[0].duplicates
            writer = PartWriter(folder, users, items, counts, timed=parts[0].timed, duplicates=policy, memory=MEMORY)
            for store in stores():
                _deal(writer, store, users, items)
            write_manifest(path, [writer.finish()])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _refuse_repeated(store: "RatingStore", more: Ratings) -> None:
    """Refuses pairs that are in the store already, before anything is written."""
    own_users, own_items = store.users.index(more.users.ids()), store.items.index(more.items.ids())
    known = np.flatnonzero(own_users >= 0)
    there, asked = store.by_user.of_rows(own_users[known]), more.by_user.of_rows(known)
    keys = there.row_of_entry().astype(np.int64) * (store.n_items + 1) + there.indices
    wanted = asked.row_of_entry().astype(np.int64) * (store.n_items + 1) + own_items[asked.indices]
    repeated = np.flatnonzero(np.isin(wanted, keys) & (own_items[asked.indices] >= 0))
    if len(repeated):
        place = int(repeated[0])
        user = more.users.ids([known[asked.row_of_entry()[place]]]).item()
        item = more.items.ids([asked.indices[place]]).item()
        raise DuplicatePairError(user, item, (0, 0), "in the store and in what is appended")


def _deal(writer: PartWriter, ratings: Ratings, users: Vocabulary, items: Vocabulary) -> None:
    own_users, own_items, begin = users.index(ratings.users.ids()), items.index(ratings.items.ids()), 0
    for first, rows in ratings.by_user.pieces():
        end = begin + len(rows.indices)
        times = () if ratings.timestamps is None else (ratings.timestamps[begin:end],)
        writer.deal(own_users[rows.row_of_entry() + first], own_items[rows.indices], rows.values, *times)
        begin = end


def _unite(vocabularies: Iterable[Vocabulary]) -> Vocabulary:
    """All ids, ascending."""
    ids = [vocabulary.ids() for vocabulary in vocabularies]
    return Vocabulary.numbered(np.concatenate([each for each in ids if len(each)] or ids[:1]))[0]
