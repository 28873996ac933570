"""A NumPy twin of every compiled kernel: slow, readable, and equal to the bit.

The twin of `rankfill.kernels.rounds` is `rankfill.kernels.reference.rounds`, and so on: same names, same arguments.
`lanes` and `row_order` hold what the twins share.
"""
