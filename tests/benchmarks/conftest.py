"""The benchmarks lie beside the package, not in it: the root of the repository has to be on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
