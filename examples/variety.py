"""
Lists with more variety
=======================

Ten films of one kind are a dull list. ``diversify`` trades a little score for difference.
"""

import matplotlib.pyplot as plt
import numpy as np

import rankfill as rf

club = rf.synthetic.film_club()
train, test = rf.split(club.ratings, test=0.2, seed=0)
model = rf.ItemRegression().fit(train)
members = train.users.ids()[:200]
liked = {(user, film) for user, film, stars in test.to_frame("pandas").itertuples(index=False) if stars >= 4}

# %%
# For each amount of variety: how many of ten films were liked later, and how many genres are among them.
amounts = [0, 0.1, 0.2, 0.3, 0.5, 0.7]
hits, kinds = [], []
for amount in amounts:
    lists = dict(zip(members, model.recommend(members, n=10, diversify=amount).items, strict=True))
    hits.append(np.mean([sum((user, film) in liked for film in films) for user, films in lists.items()]))
    kinds.append(np.mean([len({club.genres[film][0] for film in films}) for films in lists.values()]))

print(
    *[f"diversify={a}: {h:.2f} liked, {k:.1f} genres" for a, h, k in zip(amounts, hits, kinds, strict=True)], sep="\n"
)

# %%
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(kinds, hits, marker="o")
for amount, x, y in zip(amounts, kinds, hits, strict=True):
    if amount in (0, 0.3, 0.5, 0.7):  # the first ones lie close together
        axes.annotate(f"diversify={amount}", (x, y), textcoords="offset points", xytext=(2, 10), rotation=30)
axes.set(xlabel="different genres among ten films", ylabel="films of the ten that were liked")
axes.set(xlim=(min(kinds) - 0.3, max(kinds) + 0.9), ylim=(0, 1.35 * max(hits)))
