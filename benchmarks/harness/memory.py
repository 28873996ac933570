"""How much resident memory a process and those it started have gained at the highest.

Linux keeps the highest mark of each process in /proc and lets us reset it, which getrusage does not: its mark also
takes in the parent from which the process was started. Elsewhere getrusage has to do.
"""

import os
import resource
import sys
from pathlib import Path

_PROC = Path("/proc")


class PeakMemory:
    """Growth since it was made: `now` at present, `peak` at the highest since `restart`."""

    def __init__(self) -> None:
        self.before = sum(_resident(process) for process in _processes())

    def restart(self) -> None:
        """Forgets the highest marks so far."""
        for process in _processes():
            try:
                (_PROC / str(process) / "clear_refs").write_text("5")
            except OSError:
                continue  # not ours, or not Linux: the mark stays an upper bound

    def now(self) -> int:
        """Bytes."""
        return sum(_resident(process) for process in _processes()) - self.before

    def peak(self) -> int:
        """Bytes; the sum of the processes' own peaks."""
        return sum(_highest(process) for process in _processes()) - self.before


def _processes() -> list[int]:
    """This process and its descendants."""
    if not (_PROC / "self/status").exists():
        return [os.getpid()]
    parents = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
    family = [os.getpid()]
    for process in family:  # grows while it is walked
        family += [child for child, parent in parents.items() if parent == process]
    return family


def _resident(process: int) -> int:
    return _status(process, "VmRSS") if _PROC.exists() else _ever_highest()


def _highest(process: int) -> int:
    return _status(process, "VmHWM") if _PROC.exists() else _ever_highest()


def _status(process: int, field: str) -> int:
    try:
        lines = (_PROC / str(process) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def _ever_highest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
