"""
Lists from an event log
=======================

Plays, clicks, purchases: no ratings, only what happened. Then the order of a list is all there is to learn.
"""

import numpy as np

import rankfill as rf

club = rf.synthetic.film_club()
users = club.ratings.users.ids(club.ratings.user_indices)
films = club.ratings.items.ids(club.ratings.item_indices)
watched = club.ratings.values >= 4
plays = rf.Ratings.from_arrays(users[watched], films[watched], np.ones(watched.sum()))
print(plays)

# %%
# With positives only, everything held out counts as liked.
train, test = rf.split(plays, test=0.2, seed=0)
models = {
    "Popularity": rf.Popularity(),
    "ALS, implicit": rf.ALS(feedback="implicit", rank=16, penalty=20.0, confidence=10.0),
    "ItemRegression": rf.ItemRegression(),
}
found = {name: rf.evaluate(model.fit(train), test, liked="all", scores=["ndcg@10"]) for name, model in models.items()}
for name, scores in found.items():
    print(f"{name:15} ndcg@10 {scores['ndcg@10']:.3f}")
figure = rf.plots.quality_bars({name: (None, scores["ndcg@10"]) for name, scores in found.items()})

# %%
# Somebody who has played three films, known or not to the model:
visitor = rf.Ratings.from_arrays(["visitor"] * 3, [1, 3, 13], [1, 1, 1])
for film in models["ItemRegression"].recommend(visitor, n=5).items[0]:
    print(club.titles[film])
