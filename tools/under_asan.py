"""A plugin of pytest (`make fuzz-asan`): the kernels as they were built with the address sanitizer.

Arrays of a model file get memory of their own instead of a part of the mapped file, so that what reads beyond their
end is found out.
"""

import importlib.util
import os
import sys

import numpy as np


class Finder:
    """Finds the sanitized kernels before the installed ones."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "rankfill.kernels._native":
            return None
        return importlib.util.spec_from_file_location(name, os.environ["RANKFILL_ASAN"])


sys.meta_path.insert(0, Finder)

from rankfill.data import tensors  # noqa: E402

_mapped = tensors._Entry.array
tensors._Entry.array = lambda entry, content: np.array(_mapped(entry, content))


def pytest_report_header():
    from rankfill import kernels

    return f"kernels: {kernels._native.__file__}"
