"""
How fast do models learn?
=========================

The error on held-out ratings after each pass, for five models.
"""

import rankfill as rf

train, validation = rf.split(rf.synthetic.film_club().ratings, test=0.2, seed=0)
models = {
    "SGD": rf.SGD(rank=16, passes=25, tol=None),
    "ALS": rf.ALS(rank=16, passes=25, tol=None),
    "CoordinateDescent": rf.CoordinateDescent(rank=16, passes=25, tol=None),
    "VarianceReduced": rf.VarianceReduced(rank=16, passes=25, tol=None),
    "Broyden": rf.Broyden(rank=16, passes=25, tol=None),
}
for model in models.values():
    model.fit(train, validation=validation)

# %%
# The bias model has no factors at all. Whatever is above its line has learned nothing worth having.
bias = rf.evaluate(rf.Bias().fit(train), validation)["rmse"]
for name, model in models.items():
    print(f"{name:18} {min(each.validation for each in model.history_):.3f}, and {bias:.3f} without factors")
figure = rf.plots.learning_curve(models, baseline={"Bias": bias})
