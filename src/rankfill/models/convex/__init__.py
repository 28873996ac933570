"""Completion under the trace norm, with proofs of optimality, and its low-rank relatives."""
