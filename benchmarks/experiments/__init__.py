"""One file per question; `python -m benchmarks NAME` runs it."""
