"""Less memory than the machine has: a control group for this process, and files taken out of the page cache."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LIMITS = {"memory": "memory.limit_in_bytes", "": "memory.max"}
"""What is written where: in the first version of Linux' control groups, one tree per controller, and in the second."""


@contextmanager
def memory_limit(size: int) -> Iterator[str]:
    """No more memory than that for this process, files in the page cache included; yields what limits it.

    Where no control group can be made, the limit is on memory that is not mapped from files (RLIMIT_DATA), beside what
    is taken already.
    """
    for controller, limit in _LIMITS.items():
        own = _own_group(controller)
        group = own / f"rankfill-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(size))
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield "control group"
        finally:
            (own / "cgroup.procs").write_text(str(os.getpid()))
            group.rmdir()
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size + _taken(), before[1]))
    try:
        yield "RLIMIT_DATA"
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def drop_from_cache(file: Path) -> None:
    """Takes a file out of the page cache, as far as the system does."""
    if file.is_file():
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _own_group(controller: str) -> Path:
    """The folder of the group that this process is in."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return Path("/sys/fs/cgroup", controller, path.lstrip("/"))
    return Path("/sys/fs/cgroup", controller)


def _taken() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))
