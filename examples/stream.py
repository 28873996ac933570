"""Learning from a stream: every rating is predicted first, then learned. People and films may be new at any time."""

import numpy as np

import rankfill as rf
from rankfill.data.synthetic import film_club

club = film_club()
ratings = club.ratings
order = np.random.default_rng(0).permutation(len(ratings))  # film_club has no timestamps: any order will do
users = ratings.users.ids(ratings.user_indices)[order]
films = ratings.items.ids(ratings.item_indices)[order]
stars = ratings.values[order]

model = rf.PassiveAggressive(rank=6, recipe="paper", C=0.1, slack="quadratic")
for start in range(0, len(stars), 4000):
    now = slice(start, start + 4000)
    if start:
        error = np.abs(model.predict(users[now], films[now]) - stars[now]).mean()
        print(f"after {start:6,} ratings: {len(model.users_)} members, mean absolute error on the next {error:.3f}")
    model.partial_fit(rf.Ratings.from_arrays(users[now], films[now], stars[now]))

# After a restart it goes on where it stopped: saved and loaded, it learns the same to the bit.
model.save("stream.rankfill")
again = rf.load("stream.rankfill")
more = rf.Ratings.from_arrays(["m001", "somebody new"], [1, 2], [5, 3])
for each in (model, again):
    each.partial_fit(more)
assert (model.predict("somebody new", [1, 2, 3]) == again.predict("somebody new", [1, 2, 3])).all()
print(f"now {len(again.users_)} members")
