"""The source of a table; its bytes are checked as a whole before anything is read from them.

What cannot be read twice (a pipe, standard input) is kept in a temporary file as long as somebody needs it. A text is
gone through once: that finds a gzip file with a wrong checksum or length in any of its members, bytes that are not
UTF-8, NUL bytes and mixed line ends, all of which would otherwise be read wrongly without a word.
"""

import codecs
import gzip
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Source:
    """A file that can be read again and again, and its name for messages."""

    name: str
    path: Path
    compressed: bool = False
    keeper: Any = field(default=None, repr=False, compare=False)  # a temporary file goes when this goes

    def open(self) -> Any:
        """The bytes, unpacked."""
        return gzip.open(self.path, "rb") if self.compressed else self.path.open("rb")

    def read(self, size: int = -1) -> bytes:
        """The first bytes, unpacked; all of them without a size."""
        with _gzip_in_words(self.name), self.open() as file:
            content: bytes = file.read(size)
        return content


def open_source(path: str | Path) -> Source:
    """The file at a path, or standard input for "-"; an error in words when there is nothing to read."""
    if str(path) == "-":
        return _keep("standard input", sys.stdin.buffer)
    path = Path(path).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the file in it that holds the table")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the path (the current folder is {Path.cwd()})")
    if path.is_fifo():
        with path.open("rb") as pipe:
            return _keep(str(path), pipe)
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is a device or a socket; name a file, or - for standard input")
    with path.open("rb") as file:
        return Source(path.name, path, _is_gzip(file.read(2)))


def checked_text(source: Source, *, any_encoding: bool = False) -> Source:
    """Yields the text with one kind of line end, after every byte has been checked."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, kinds, pending = 1, set(), False
    with _gzip_in_words(source.name), source.open() as file:
        for block in _blocks(file):
            if (place := block.find(b"\0")) >= 0:
                line += _line_ends(block[:place]).total
                raise ValueError(f"line {line} of {source.name} has a NUL byte; the file is damaged: write it anew")
            if not any_encoding and (pending or not block.isascii()):
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    raise _not_utf8(source.name, line + _line_ends(error.object[: error.start]).total) from None
                pending = bool(decoder.getstate()[0])
            ends = _line_ends(block)
            kinds |= ends.kinds
            line += ends.total
    if pending:
        raise _not_utf8(source.name, line)
    return _with_equal_line_ends(source) if len(kinds) > 1 else source


@dataclass(frozen=True)
class _LineEnds:
    both: int
    feeds: int
    returns: int

    @property
    def total(self) -> int:
        return self.both + self.feeds + self.returns

    @property
    def kinds(self) -> set[str]:
        return {kind for kind in ("both", "feeds", "returns") if getattr(self, kind)}


def _line_ends(block: bytes) -> _LineEnds:
    """Counts CR LF, LF alone and CR alone in a block."""
    returns = block.count(b"\r")
    both = block.count(b"\r\n") if returns else 0
    return _LineEnds(both, block.count(b"\n") - both, returns - both)


def _blocks(file: Any) -> Iterator[bytes]:
    """Some bytes at a time, never parted between CR and LF."""
    while block := file.read(_BLOCK):
        while block.endswith(b"\r") and (more := file.read(1)):
            block += more
        yield block


def _with_equal_line_ends(source: Source) -> Source:
    # DuckDB takes the first line end it sees for that of all lines, and silently misreads those that differ.
    kept = _Temporary()
    with source.open() as file, kept.path.open("wb") as copy:
        for block in _blocks(file):
            copy.write(block.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    return Source(source.name, kept.path, keeper=kept)


def _keep(name: str, stream: Any) -> Source:
    kept = _Temporary()
    with kept.path.open("w+b") as copy:
        shutil.copyfileobj(stream, copy, _BLOCK)
        copy.seek(0)
        return Source(name, kept.path, _is_gzip(copy.read(2)), kept)


class _Temporary:
    """A temporary file that goes when this goes."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="rankfill-")
        os.close(handle)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def _is_gzip(magic: bytes) -> bool:
    return magic == b"\x1f\x8b"


def _not_utf8(name: str, line: int) -> ValueError:
    return ValueError(f"line {line} of {name} is not UTF-8; convert the file, for example: iconv -f latin1 -t utf-8")


@contextmanager
def _gzip_in_words(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{name} is a damaged gzip file; fetch or write it anew") from None
