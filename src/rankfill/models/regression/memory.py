"""The memory that item regressions take, and an error where that is more than there is."""

import os
from pathlib import Path

_SPARE = 1.1
"""Beside the weights there are blocks of them, the ratings by item and a few vectors."""


def check_memory(n_items: int, most: int, keep: int, *, sparse: bool) -> None:
    """Raises a MemoryError that names the remedy where regressions of so many items do not fit."""
    needed = _SPARE * needed_bytes(n_items, most, keep, sparse=sparse)
    free = free_bytes()
    if free is None or needed <= free:
        return
    raise MemoryError(
        f"regressions of {n_items} items take {needed / 1e9:.1f} GB with max_items_dense={most} and keep={keep}, "
        f"and {free / 1e9:.1f} GB are free; lower max_items_dense to {int((free / 16) ** 0.5)}, lower keep, or leave "
        "out rare items by ratings.filter"
    )


def needed_bytes(n_items: int, most: int, keep: int, *, sparse: bool) -> int:
    """4 bytes for each pair of sources; in the sparse kind 16 for each weight, while these are turned, beside that."""
    dense = min(n_items, most) if sparse else n_items
    return 4 * dense**2 + (16 * n_items * min(keep, dense) if sparse else 0)


def free_bytes() -> int | None:
    """The memory that a process can still get; None where the system does not tell."""
    try:
        with Path("/proc/meminfo").open() as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None
