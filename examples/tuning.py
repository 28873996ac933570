"""
Which settings?
===============

A search by cross-validation, with a picture of what it found.
"""

import rankfill as rf

train, test = rf.split(rf.synthetic.film_club().ratings, test=0.2, seed=0)
found = rf.tune(rf.SGD(), train, grid={"penalty": [0.01, 0.02, 0.04, 0.08, 0.16], "rank": [4, 8, 16]}, folds=3)
print(found)

# %%
# Bars are standard errors over the folds: settings whose bars overlap are equally good.
figure = found.plot()

# %%
# The best settings have learned from all training ratings. The test ratings judge them once, in the end.
print(found.best_params, f"test rmse {rf.evaluate(found.best_model, test)['rmse']:.3f}")
