"""python -m benchmarks.rivals: which systems can take part here, and why the others cannot."""

import contextlib
import importlib
import io

from benchmarks.rivals import RIVALS
from benchmarks.rivals.base import Rival


def state_of(rival: Rival) -> str:
    """In a word or a sentence; a package that is there but does not load counts as missing."""
    reason = rival.available()
    if reason is None and rival.package:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(rival.package)
        except Exception as error:  # whatever a broken build raises
            reason = f"{type(error).__name__}: {error}"
    return f"left out: {reason}" if reason else f"takes part in {', '.join(rival.tasks)}"


if __name__ == "__main__":
    for kind in RIVALS.values():
        print(f"{kind.name:36s} {state_of(kind())}")
