"""The tables and figures of the papers, one file a paper; `rankfill` has a verb for each."""
