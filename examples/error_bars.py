"""
Predictions with error bars
===========================

A Bayesian model knows how sure it is. Here we check that it is right about that.
"""

import matplotlib.pyplot as plt
import numpy as np

import rankfill as rf

train, test = rf.split(rf.synthetic.film_club().ratings, test=0.2, seed=0)
model = rf.BayesianMF(rank=12, sweeps=60, seed=0).fit(train)

users = test.users.ids(test.user_indices)
films = test.items.ids(test.item_indices)
predicted, std = model.predict(users, films, return_std=True)
print(f"rmse {np.sqrt(np.mean((predicted - test.values) ** 2)):.3f}")

# %%
# An interval of 90 % should hold the rating nine times in ten.
wanted = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
found = []
for coverage in wanted:
    low, high = model.interval(users, films, coverage=coverage)
    found.append(np.mean((low <= test.values) & (test.values <= high)))

figure, left = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
left.plot(wanted, found, marker="o", label="found")
left.plot([0.5, 1], [0.5, 1], color="grey", linestyle="--", label="ideal")
left.set(xlabel="coverage asked for", ylabel="share of test ratings inside")
left.legend()

# %%
# Where the model is less sure, its errors are larger.
groups = np.array_split(np.argsort(std), 10)
figure, right = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
right.plot([std[g].mean() for g in groups], [np.sqrt(np.mean((predicted - test.values)[g] ** 2)) for g in groups], "o")
right.plot([std.min(), std.max()], [std.min(), std.max()], color="grey", linestyle="--")
right.set(xlabel="standard deviation stated", ylabel="error found (rmse)")
