"""
A convex model and its proof
============================

Trace-norm models have one best solution, and can prove how near they are to it.
"""

import rankfill as rf

ratings = rf.synthetic.low_rank(150, 100, 4000, rank=3, seed=0)
train, validation = rf.split(ratings, test=0.2, seed=0)

# %%
# From the penalty at which nothing is learned down to small ones, each solution started from the one before.
found = rf.path(rf.SoftImpute(), train, validation=validation, steps=12)
print(found)
figure = rf.plots.penalty_path(found)

# %%
# How far is the best of them from the best that any matrix could reach at this penalty?
print(rf.certificate(found.model, train))
