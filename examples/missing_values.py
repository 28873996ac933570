"""
A table with holes in a pipeline
================================

An imputer that fills missing values before the next step, beside two of scikit-learn's.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankfill as rf

wine = load_wine()
shares = [0.1, 0.3, 0.5]
imputers = {"mean of the column": SimpleImputer(), "neighbours": KNNImputer(), "LowRankImputer": rf.LowRankImputer()}

# %%
# Holes are filled inside of each fold, from the training rows alone: nothing leaks.
accuracy = {name: [] for name in imputers}
for share in shares:
    holed = np.where(np.random.default_rng(0).random(wine.data.shape) < share, np.nan, wine.data)
    for name, imputer in imputers.items():
        steps = make_pipeline(imputer, StandardScaler(), LogisticRegression())
        accuracy[name].append(cross_val_score(steps, holed, wine.target).mean())
for name, values in accuracy.items():
    print(f"{name:20}", "  ".join(f"{value:.3f}" for value in values))

# %%
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, values in accuracy.items():
    axes.plot(shares, values, marker="o", label=name)
axes.set(xlabel="share of values missing", ylabel="wines told apart", xticks=shares)
axes.legend()
