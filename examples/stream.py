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

model = rf.PassiveAggressive(rank=6, C=0.1, slack="quadratic")
for start in range(0, len(stars), 4000):
    now = slice(start, start + 4000)
    if start:
        error = np.abs(model.predict(users[now], films[now]) - stars[now]).mean()
        print(f"after {start:6,} ratings: {len(model.users_)} members, mean absolute error on the next {error:.3f}")
    model.partial_fit(rf.Ratings.from_arrays(users[now], films[now], stars[now]))

# Somebody new is learned on the spot: before, the mean member stands in.
before = model.predict("you", 1)
model.partial_fit(rf.Ratings.from_arrays(["you"], [1], [5]))
print(f"for a newcomer who gives film 1 five stars: {before:.2f} before, {model.predict('you', 1):.2f} after")
