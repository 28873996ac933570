"""The log of acknowledged events, in SQLite: one transaction per group of events, on disk before it is acknowledged.

batches      first (sequence number of the first event), count, marks (which users, as checksums), body (JSON columns)
names        salted digests of the ids that callers gave to events, so that an event that is sent twice counts once
items        titles of items, and what else is known of them
forgotten    salted digests of users who asked to be forgotten, so that no refit and no older snapshot brings them back
facts        the salt
"""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from rankfill.data.vocabulary import Id
from rankfill.service.events import Events

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, marks BLOB, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS names (digest BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (id TEXT PRIMARY KEY, title TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (digest BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_FORMAT = 1
_AT_ONCE = 500  # names in one question, below SQLite's limit of variables


class DamagedLog(ValueError):  # noqa: N818
    """The log does not hold what it should."""


class EventLog:
    """Events by sequence number, 1, 2, 3, …; `last` is the number of the newest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = _connect(path)
            self._check_format()
            self._database.executescript(_SCHEMA)
            self.last = self._newest()
            self._database.execute("INSERT OR IGNORE INTO facts VALUES ('salt', ?)", (os.urandom(16),))
            (self._salt,) = self._database.execute("SELECT value FROM facts WHERE name = 'salt'").fetchone()
        except sqlite3.DatabaseError as error:
            raise DamagedLog(f"{path} is no log of this service: {error}") from error

    def append(
        self, events: Events, names: Iterable[tuple[str, int]] = (), titles: Mapping[str, str] | None = None
    ) -> None:
        """Writes events behind the last one, numbers of names and titles by id; on disk when it returns."""
        marks = np.array([_mark(user) for user in events.users], np.uint32).tobytes()
        row = (self.last + 1, len(events), marks, orjson.dumps(events.columns))
        with self._transaction() as database:
            if len(events):
                database.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", row)
            if titles:
                database.executemany("INSERT OR REPLACE INTO items VALUES (?, ?)", titles.items())
            database.executemany("INSERT INTO names VALUES (?, ?)", ((self._digest(name), at) for name, at in names))
        self.last += len(events)

    def sequences_of(self, names: list[str]) -> dict[str, int]:
        """The sequence numbers of the names that are known."""
        found: dict[str, int] = {}
        named = {self._digest(name): name for name in names}
        digests = list(named)
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            question = f"SELECT digest, sequence FROM names WHERE digest IN ({','.join('?' * len(some))})"
            found |= {named[digest]: sequence for digest, sequence in self._database.execute(question, some)}
        return found

    def since(self, sequence: int) -> Iterator[Events]:
        """The events after a sequence number, a batch at a time; readable on any thread."""
        with self._reading(), closing(_connect(self._path)) as database:
            start = database.execute("SELECT max(first) FROM batches WHERE first <= ?", (sequence + 1,)).fetchone()[0]
            expected = None
            for first, count, body in database.execute(
                "SELECT first, count, body FROM batches WHERE first >= ? ORDER BY first", (start or 0,)
            ):
                events = Events(*orjson.loads(body))
                if len(events) != count or first != (expected or first):
                    raise DamagedLog(f"{self._path} lacks events before sequence number {first}")
                expected = first + count
                skipped = max(sequence + 1 - first, 0)
                yield events.part(skipped)

    def of_user(self, user: Id) -> list[dict[str, object]]:
        """All that the log holds about a user, oldest first."""
        found: list[dict[str, object]] = []
        with closing(_connect(self._path)) as database:
            for first, events in self._batches_of(user, database):
                found += [
                    {"sequence": first + place, "item": item, "rating": rating, "time": time}
                    for place, (who, item, rating, time) in enumerate(zip(*events.columns, strict=True))
                    if who == user
                ]
        return found

    def forget(self, user: Id) -> None:
        """Empties all events of a user, in the file too, and adds one event that says that somebody was forgotten."""
        changed = []
        for first, events in self._batches_of(user, self._database):
            columns = [(None, None, None, 0) if row[0] == user else row for row in zip(*events.columns, strict=True)]
            emptied = Events(*map(list, zip(*columns, strict=True)))
            marks = np.array([_mark(who) for who in emptied.users], np.uint32).tobytes()
            changed.append((marks, orjson.dumps(emptied.columns), first))
        with self._transaction() as database:
            database.executemany("UPDATE batches SET marks = ?, body = ? WHERE first = ?", changed)
            database.execute("INSERT OR REPLACE INTO forgotten VALUES (?, ?)", (self._digest(user), self.last + 1))
            row = (
                self.last + 1,
                1,
                np.zeros(1, np.uint32).tobytes(),
                orjson.dumps([[None], [None], [None], [0]]),
            )
            database.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", row)
        self.last += 1
        self.tidy()

    def is_forgotten(self, users: Collection[Id], after: int = 0) -> NDArray[np.bool_]:
        """The users who were forgotten by an event behind a sequence number."""
        with self._reading(), closing(_connect(self._path)) as database:
            asked = database.execute("SELECT digest FROM forgotten WHERE sequence > ?", (after,)).fetchall()
        digests = {digest for (digest,) in asked}
        if not digests:
            return np.zeros(len(users), bool)
        return np.array([self._digest(user) in digests for user in users], bool)

    def items(self) -> dict[str, str]:
        """Titles by id, as text."""
        with self._reading():
            return dict(self._database.execute("SELECT id, title FROM items").fetchall())

    def last_forgotten(self) -> int:
        """The sequence number of the event that forgot somebody last; 0 where nobody was."""
        with self._reading():
            (last,) = self._database.execute("SELECT max(sequence) FROM forgotten").fetchone()
        return int(last or 0)

    def tidy(self) -> None:
        """Moves everything into the one file, where the disk has room and nobody reads."""
        self._database.execute("PRAGMA busy_timeout = 500")
        with suppress(sqlite3.OperationalError):
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.execute("PRAGMA busy_timeout = 30000")

    def close(self) -> None:
        """Moves everything into the one file, and lets go of it."""
        self.tidy()
        self._database.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Tells in words what a file does that was damaged since it was written."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise DamagedLog(
                f"{self._path} cannot be read: {error}; put back a copy of it, or use another folder"
            ) from error

    def _check_format(self) -> None:
        """Refuses a log that another version of this service has written."""
        (found,) = self._database.execute("PRAGMA user_version").fetchone()
        if found == 0 and not self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._database.execute(f"PRAGMA user_version = {_FORMAT}")
        elif found != _FORMAT:
            raise DamagedLog(
                f"{self._path} has format {found}, this version of rankfill reads {_FORMAT}; use another folder"
            )

    def _newest(self) -> int:
        newest = self._database.execute("SELECT first, count FROM batches ORDER BY first DESC LIMIT 1").fetchone()
        return 0 if newest is None else newest[0] + newest[1] - 1

    def _batches_of(self, user: Id, database: sqlite3.Connection) -> Iterator[tuple[int, Events]]:
        """The batches in which a user occurs."""
        mark = np.uint32(_mark(user))
        for first, marks in database.execute("SELECT first, marks FROM batches ORDER BY first").fetchall():
            if mark in np.frombuffer(marks, np.uint32):
                (body,) = database.execute("SELECT body FROM batches WHERE first = ?", (first,)).fetchone()
                events = Events(*orjson.loads(body))
                if user in events.users:
                    yield first, events

    def _digest(self, name: Id) -> bytes:
        return hashlib.blake2b(str(name).encode(), key=self._salt, digest_size=16).digest()

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._database)


class _Transaction:
    """BEGIN … COMMIT, or ROLLBACK after an error."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> sqlite3.Connection:
        self._database.execute("BEGIN IMMEDIATE")
        return self._database

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._database.execute("ROLLBACK" if kind else "COMMIT")
        except sqlite3.Error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if not kind:
                raise


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        database.execute(f"PRAGMA {setting}")
    return database


def _mark(user: Id | None) -> int:
    """A checksum by which batches without a user are passed over."""
    return 0 if user is None else zlib.crc32(str(user).encode())
