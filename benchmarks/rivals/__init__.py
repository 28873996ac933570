"""The systems compared, one a file. A new file that defines `ENTRY` and is named here takes part."""

import importlib

from benchmarks.rivals.base import Rival

_FILES = (
    "rankfill_passive_aggressive",
    "rankfill_online",
    "rankfill_bias",
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

RIVALS: dict[str, type[Rival]] = {name: importlib.import_module(f"benchmarks.rivals.{name}").ENTRY for name in _FILES}
"""By the name of the file; rankfill's own come first."""

REFERENCE = {"fit": "rankfill_passive_aggressive", "stream": "rankfill_online", "top_n": "rankfill_passive_aggressive"}
"""What the ratios are taken to, for each task."""
