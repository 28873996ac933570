"""
Films that nobody has rated
===========================

Features, here genres, let a model answer for items without any rating.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import rankfill as rf

club = rf.synthetic.film_club()
table = pd.DataFrame({"item": list(club.genres), "genres": ["|".join(each) for each in club.genres.values()]})
genres = rf.Features.from_frame(table)
train, test = rf.split(club.ratings, test=0.2, by="cold-items", seed=0)
print(f"{len(np.unique(test.item_indices))} films have ratings in the test part only")

# %%
# The same models, with and without the genres, judged by films they have never seen a rating of.
models = {"ALS": rf.ALS(), "SGD": rf.SGD(), "FeatureRidge": rf.FeatureRidge()}
rows = {"ratings alone": {}, "with genres": {}}
for name, model in models.items():
    rows["ratings alone"][name] = rf.evaluate(model.fit(train), test)["rmse"]
    rows["with genres"][name] = rf.evaluate(model.fit(train, item_features=genres), test)["rmse"]
print(pd.DataFrame(rows).round(3))

# %%
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for offset, (label, errors) in zip((-0.2, 0.2), rows.items(), strict=True):
    axes.barh(np.arange(len(errors)) + offset, list(errors.values()), height=0.38, label=label)
axes.set(yticks=range(len(models)), yticklabels=list(models), xlabel="RMSE on films without ratings, shorter is better")
figure.legend(loc="outside upper right", ncols=2, frameon=False)

# %%
# Films that come out tomorrow compete with all others.
tomorrow = pd.DataFrame({"item": [901, 902], "genres": ["western", "horror|comedy"]})
lists = models["ALS"].recommend("m042", n=5, new_items=rf.Features.from_frame(tomorrow, like=genres))
print(lists.items[0], lists.scores[0].round(2))
