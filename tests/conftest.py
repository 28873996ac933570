"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real data sets; a test that needs it is skipped where there is none."""
    named = os.environ.get("RANKFILL_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("needs real data: set RANKFILL_DATA to the folder that holds ml-1m, ml-100k, …")
    return Path(named)
