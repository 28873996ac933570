"""
Learning from a stream
======================

Every rating is predicted first and learned afterwards. People and films may be new at any time.
"""

import matplotlib.pyplot as plt
import numpy as np

import rankfill as rf

ratings = rf.synthetic.film_club().ratings
order = np.random.default_rng(0).permutation(len(ratings))  # film_club has no timestamps: any order will do
users = ratings.users.ids(ratings.user_indices)[order]
films = ratings.items.ids(ratings.item_indices)[order]
stars = ratings.values[order]

# %%
# A batch is predicted by what is known so far; only then it is learned.
model = rf.PassiveAggressive(rank=6, recipe="paper", C=0.1, slack="quadratic")
errors = {}
for start in range(0, len(stars), 1000):
    now = slice(start, start + 1000)
    if start:
        errors[start] = np.abs(model.predict(users[now], films[now]) - stars[now]).mean()
    model.partial_fit(rf.Ratings.from_arrays(users[now], films[now], stars[now]))
first, *_, last = errors.values()
print(f"mean absolute error on the next thousand: {first:.2f} at first, {last:.2f} in the end")

# %%
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.plot(list(errors), list(errors.values()), marker=".")
axes.axhline(np.abs(stars - stars.mean()).mean(), color="grey", linestyle="--", label="always the mean rating")
axes.set(xlabel="ratings learned", ylabel="error on the next thousand", ylim=(0, None))
axes.legend()

# %%
# After a restart it goes on where it stopped: saved and loaded, it learns the same to the bit.
model.save("stream.rankfill")
again = rf.load("stream.rankfill")
more = rf.Ratings.from_arrays(["m001", "somebody new"], [1, 2], [5, 3])
for each in (model, again):
    each.partial_fit(more)
assert (model.predict("somebody new", [1, 2, 3]) == again.predict("somebody new", [1, 2, 3])).all()
print(f"now {len(again.users_)} members")
