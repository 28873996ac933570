"""The systems compared. rankfill's own come from its list of models, every other has a file that defines `ENTRY`."""

import importlib

from benchmarks.rivals import rankfill_models, rankfill_online
from benchmarks.rivals.base import Rival, Task

_FILES = (
    "libmf",
    "libmf_binary",
    "cmfrec",
    "surprise",
    "spark",
    "myfm",
    "river",
    "implicit",
    "scikit_learn",
)

RIVALS: dict[str, type[Rival]] = {
    **rankfill_models.ENTRIES,
    **rankfill_online.ENTRIES,
    **{name: importlib.import_module(f"benchmarks.rivals.{name}").ENTRY for name in _FILES},
}
"""By the name of the file; rankfill's own come first."""

REFERENCE: dict[Task, str] = {
    "fit": "rankfill_passive_aggressive",
    "stream": "rankfill_passive_aggressive_online",
    "top_n": "rankfill_passive_aggressive",
}
"""What the ratios are taken to, for each task."""
