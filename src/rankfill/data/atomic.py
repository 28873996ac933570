"""Files written whole or not at all.

Whatever happens on the way (an error, a full disk, a kill, a power cut), the target is either what it was before or
complete. The new content grows in a folder beside the target, which only its owner can enter and which is locked as
long as its writer lives; it is forced to disk and renamed at the end. A folder without a lock belonged to a writer
that was killed, and the next writer of the same target removes it.
"""

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".writing"
_LONGEST_NAME = 60  # characters of the target's name in that of the folder, which may have 255 bytes


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a path to write to; its content takes the place of `path` when the context ends without an error.

    The temporary path has the name of the target, so that its suffix still tells the format, and its folder may hold
    further files, which are thrown away. An existing file keeps its mode, a new one obeys the umask, and a symbolic
    link stays and has its target replaced. Errors of the system name `path`, not the temporary file.

    Parameters
    ----------
    path : str or path-like
        The file to write.

    Yields
    ------
    Path
        Where to write the new content.

    Raises
    ------
    ValueError
        If `path` exists and is no file.
    OSError
        If it cannot be written. The file is then as it was before.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "list.csv"
    >>> with whole_file(target) as temporary:
    ...     _ = temporary.write_text("user,item")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('user,item', 1)
    """
    named = Path(path)
    target = Path(os.path.realpath(named))
    if target.exists() and not target.is_file():
        raise ValueError(f"cannot write {named}: it exists and is not a file; name a file")
    folder = None
    try:
        _remove_stale(target)
        folder, lock = _make_folder(target)
        try:
            yield folder / target.name
            _put_in_place(folder / target.name, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
    except OSError as error:
        if error.errno is not None and _is_ours(error.filename, folder, target):
            raise OSError(error.errno, error.strerror, str(named)) from error
        raise


def _put_in_place(temporary: Path, target: Path) -> None:
    with suppress(FileNotFoundError):
        before = target.stat()
        with suppress(PermissionError):  # only root may give a file to somebody else
            os.chown(temporary, before.st_uid, before.st_gid)
        temporary.chmod(stat.S_IMODE(before.st_mode))
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(target)
    _force_to_disk(target.parent)


def _force_to_disk(folder: Path) -> None:
    """Without this a power cut may undo the renaming."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives cannot do it for folders
            os.fsync(handle)
    finally:
        os.close(handle)


def _make_folder(target: Path) -> tuple[Path, int]:
    """A new folder beside the target, and the handle that keeps it locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_prefix(target), suffix=_SUFFIX, dir=target.parent))
        with suppress(FileNotFoundError):
            handle = os.open(folder, os.O_RDONLY)
            if _try_to_lock(handle) is not False and folder.exists():
                return folder, handle
            os.close(handle)  # another writer took it for a stale one before the lock was there: make another


def _remove_stale(target: Path) -> None:
    pattern = re.compile(re.escape(_prefix(target)) + "[a-z0-9_]+" + re.escape(_SUFFIX))
    for folder in target.parent.iterdir():
        if pattern.fullmatch(folder.name):
            with suppress(OSError):
                handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    if _try_to_lock(handle):
                        shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(handle)


def _try_to_lock(handle: int) -> bool | None:
    """True with the lock, False when somebody else has it, None where the file system knows no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _prefix(target: Path) -> str:
    return f".{target.name[:_LONGEST_NAME]}."


def _is_ours(filename: object, folder: Path | None, target: Path) -> bool:
    """Whether an error is about the file being written: it names nothing, the target, or something temporary."""
    if filename is None:
        return True
    name = os.fsdecode(filename) if isinstance(filename, str | bytes | os.PathLike) else ""
    temporary = str(target.parent / _prefix(target)) if folder is None else str(folder)
    return name in (str(target), str(target.parent)) or name.startswith(temporary)
