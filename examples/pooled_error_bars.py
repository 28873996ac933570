"""
Error bars of a table with holes
================================

A regression on a table that was filled once is too sure of itself. Several tables, filled with draws, say how much the
holes leave open.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import rankfill as rf
from rankfill.imputation import pool, regression

inputs, target = load_diabetes(return_X_y=True)
names = ["sex", "body mass", "blood pressure"]
table = np.column_stack([20 * inputs[:, 1:4], target])
holed = np.where(np.random.default_rng(0).random(table.shape) < 0.4, np.nan, table)
analysis = regression(target=3)

# %%
# Each answer is the intercept and three coefficients, with the variance of each.
whole, filled = (analysis(each) for each in (table, rf.LowRankImputer().fit_transform(holed)))
answers = {
    "whole table": pool([whole[0]] * 2, [whole[1]] * 2, whole[2]),
    "holes filled once": pool([filled[0]] * 2, [filled[1]] * 2, filled[2]),
    "20 tables, pooled": rf.multiple_imputation(holed, 20, analysis),
}
for name, answer in answers.items():
    low, high = answer.interval(0.95)
    print(f"{name:20}", "  ".join(f"{a:6.1f} … {b:5.1f}" for a, b in zip(low[1:], high[1:], strict=True)))

# %%
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for shift, (name, answer) in zip((0.2, 0, -0.2), answers.items(), strict=True):
    low, high = answer.interval(0.95)
    places = np.arange(3) + shift
    axes.errorbar(answer.estimate[1:], places, xerr=(high - low)[1:] / 2, fmt="o", capsize=3, label=name)
axes.set(xlabel="coefficient, with its 95 % interval", yticks=range(3), yticklabels=names)
axes.legend()
