"""Checkpoints on the storage of the cluster: a file in pieces, as Parquet, and a manifest that is written last.

There are two slots, which take turns, each with its own manifest: the number of pieces and a checksum of them together.
A slot counts only if its pieces are those of its manifest, so that a driver that dies while it replaces one slot finds
the other. Only data frames are used: they reach whatever storage Spark reaches.
"""

import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankfill.data.tensors import content_of, read_tensors
from rankfill.models.base.checkpoint import ADDRESS, Content, Folder, Place

_PIECE = 2**26
_SLOTS = ("a", "b")


def place_of(checkpoint: str | os.PathLike[str] | None, session: Any) -> Place | None:
    """Where checkpoints go: an address such as ``s3a://…`` is for Spark, all else a folder here."""
    if checkpoint is None:
        return None
    address = ADDRESS.match(str(checkpoint))
    if address is None:
        return Folder(checkpoint)
    scheme, rest = address[1], str(checkpoint)[address.end() :]
    return ParquetPlace(session, f"{scheme}:///{rest}" if scheme in ("file", "dbfs") else f"{scheme}://{rest}")


class ParquetPlace(Place):
    """An address that Spark reads and writes."""

    def __init__(self, session: Any, address: str) -> None:
        self._session, self._address = session, address
        self._number = 0
        self._slot = _SLOTS[-1]

    def __str__(self) -> str:
        return self._address

    def write(self, tensors: dict[str, NDArray[Any]], words: dict[str, Any]) -> None:
        content = content_of(tensors, words)
        starts = range(0, len(content), _PIECE)
        pieces = pa.table(
            {"place": pa.array(range(len(starts)), pa.int64())}
            | {"bytes": pa.array([content[start : start + _PIECE] for start in starts], pa.binary())}
        )
        self._slot = _SLOTS[1 - _SLOTS.index(self._slot)]
        self._number += 1
        manifest = {"number": [self._number], "pieces": [len(starts)], "checksum": [zlib.crc32(content)]}
        self._write(pieces, self._slot)
        self._write(pa.table(manifest), f"manifest-{self._slot}")

    def read(self) -> Content | None:
        """What the last slot that is whole holds; None where there is none."""
        found = [(manifest, slot) for slot in _SLOTS if (manifest := self._read(f"manifest-{slot}")) is not None]
        for manifest, slot in sorted(found, key=lambda each: -each[0]["number"][0]):
            pieces = self._read(slot)
            if pieces is None:
                continue
            order = np.argsort(pieces["place"])
            content = b"".join(pieces["bytes"][place] for place in order)
            if (len(order), zlib.crc32(content)) != (manifest["pieces"][0], manifest["checksum"][0]):
                continue
            self._number, self._slot = manifest["number"][0], slot
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "checkpoint")
                file.write_bytes(content)
                tensors, words = read_tensors(file)
                return {name: array.copy() for name, array in tensors.items()}, words
        return None

    def _write(self, table: pa.Table, name: str) -> None:
        frame = self._session.createDataFrame(table)
        frame.write.mode("overwrite").parquet(f"{self._address.rstrip('/')}/{name}")

    def _read(self, name: str) -> dict[str, list[Any]] | None:
        """A table; None where it is missing, or was being replaced when its writer died."""
        from pyspark.errors import PySparkException

        try:
            table = self._session.read.parquet(f"{self._address.rstrip('/')}/{name}").toArrow()
        except PySparkException:
            return None
        columns: dict[str, list[Any]] = table.to_pydict()
        return columns if table.num_rows else None
