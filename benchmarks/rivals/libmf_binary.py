"""LIBMF's own command, `mf-train`, where LIBMF_BIN names one that was built here (`make` in its sources).

The command reads a text file and writes another. Only its passes are on the clock: the mean time between the lines it
prints after every pass, times the number of passes; reading, sorting into blocks and writing are given away.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings, inner_products


class LibmfBinary(Rival):
    name = "LIBMF mf-train"
    defaults = Settings(penalty=0.05, eta=0.1, bins=20)
    grids = (Grid(penalty=(0.02, 0.05, 0.1, 0.15), eta=(0.02, 0.05, 0.1, 0.2)),)
    note = "L2 loss; its passes alone are timed"
    tuned_as = "libmf"
    in_other_process = True

    def available(self) -> str | None:
        command = os.environ.get("LIBMF_BIN")
        if not command:
            return "LIBMF_BIN does not name a built mf-train"
        return None if os.access(command, os.X_OK) else f"LIBMF_BIN={command} cannot be executed"

    def prepare(self, train: Interactions, plan: Plan) -> Path:
        path = Path(tempfile.mkdtemp(prefix="libmf-")) / "train.txt"
        columns = np.column_stack([train.users, train.items, train.values])
        np.savetxt(path, columns, fmt=("%d", "%d", "%g"))
        return path

    def fit(self, prepared: Path, plan: Plan) -> Any:
        model = prepared.with_suffix(".model")
        ends = _ends_of_passes(self._command(prepared, model, plan, plan.passes))
        if plan.passes == 1:  # one end gives no duration
            ends = _ends_of_passes(self._command(prepared, prepared.with_suffix(".unused"), plan, 3))
        return model, plan.passes * (ends[-1] - ends[0]) / (len(ends) - 1)

    def _command(self, train: Path, model: Path, plan: Plan, passes: int) -> list[str]:
        bins = max(self.settings["bins"], 2 * plan.threads + 1)
        options = {"-f": 0, "-l2": self.settings["penalty"], "-r": self.settings["eta"], "-n": bins}
        options |= {"-k": plan.rank, "-t": passes, "-s": plan.threads}
        words = [str(word) for pair in options.items() for word in pair]
        return [os.environ["LIBMF_BIN"], *words, str(train), str(model)]

    def seconds(self, fitted: Any) -> float:
        """The clock of the command itself, in place of the one around `fit`."""
        return fitted[1]

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        return inner_products(*_read_model(fitted[0]), users, items)


def _ends_of_passes(command: list[str]) -> list[float]:
    """When each pass ended: the command prints a line that starts with its number."""
    ends = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            first = line.split(maxsplit=1)[:1]
            if first and first[0].isdigit():
                ends.append(time.perf_counter())
    if process.returncode != 0 or not ends:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode} after {len(ends)} passes")
    return ends


def _read_model(path: Path) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """P and Q from the lines "p0 T 0.1 …" and "q0 F nan …", in order."""
    factors: dict[str, list[NDArray[np.float32]]] = {"p": [], "q": []}
    with path.open() as lines:
        for line in lines:
            name, _, numbers = line.partition(" ")
            if name[0] in factors and name[1:].isdigit():
                known, _, text = numbers.partition(" ")
                row = np.array(text.split(), dtype=np.float32)
                factors[name[0]].append(row if known == "T" else np.full_like(row, np.nan))
    return np.stack(factors["p"]), np.stack(factors["q"])


ENTRY = LibmfBinary
