"""
A map of the films
==================

The factors of a model place every film in space. Films of a kind lie together, though the model knows no genres.
"""

import matplotlib.pyplot as plt
import numpy as np

import rankfill as rf

club = rf.synthetic.film_club()
model = rf.SGD(rank=8).fit(club.ratings)
factors = model.item_factors_

# %%
# Two directions of the largest spread are enough for a picture.
centred = factors - factors.mean(axis=0)
place = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
kind = np.array([club.genres[film][0] for film in model.items_.ids()])

print(f"{len(kind)} films of {len(set(kind))} kinds")

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for genre in sorted(set(kind)):
    axes.scatter(*place[kind == genre].T, s=18, label=genre)
axes.set(xticks=[], yticks=[])
figure.legend(title="genre, which the\nmodel was not told", loc="outside right upper", frameon=False)
