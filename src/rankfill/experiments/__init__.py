"""The tables and figures of the papers; `rankfill reproduce` runs them.

One folder per document, one file per experiment: nnpa/solvers.py is `nnpa-solvers`. An experiment is a function `run`
that takes an `Asked` and returns a `Result` (`frame.py`). It uses only what `import rankfill` offers, so that it can be
read as an example. What several experiments need lies beside the folders.
"""
