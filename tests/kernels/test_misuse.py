"""Whoever calls a public kernel with indices, offsets or shapes that do not fit gets a ValueError, never a crash.

All misuses run in one process of their own: should one read or write out of bounds, that process may die, and the test
says at which.
"""

import subprocess
import sys
from pathlib import Path


def test_every_misuse_is_refused_in_one_line():
    script = Path(__file__).with_name("misuses.py")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    lines = run.stdout.strip().splitlines()
    assert run.returncode == 0, f"{lines[-1:]} ended with {run.returncode}: {run.stderr[-2000:]}"
    assert int(lines[-1].split()[0]) > 200
