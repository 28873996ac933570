"""
From ratings to recommendations
===============================

Split, learn, measure, recommend, save.
"""

import rankfill as rf

club = rf.synthetic.film_club()  # or rf.read_ratings("ratings.csv")
train, test = rf.split(club.ratings, test=0.2, seed=0)

# %%
# What predicts and what recommends best is found out on a part of the training ratings.
model = rf.Auto().fit(train)
print(model.choices_)

# %%
# The test ratings are only looked at in the end.
scores = {"bias": rf.evaluate(rf.Bias().fit(train), test), "auto": rf.evaluate(model, test)}
for name, found in scores.items():
    print(f"{name:20} rmse {found['rmse']:.3f}  ndcg@10 {found['ndcg']:.3f}")
figure = rf.plots.quality_bars({name: (found["rmse"], found["ndcg"]) for name, found in scores.items()})

# %%
# Lists for two members, with the stars that each film would get.
members = ["m007", "m042"]
best = model.recommend(members, n=3)
for member, films, stars in zip(members, best.items, best.ratings, strict=True):
    print(member, [f"{club.titles[film]}: {rating:.1f} stars" for film, rating in zip(films, stars, strict=True)])

# %%
# Somebody who was not in training: two horror films liked, a western and a science fiction film not.
newcomer = rf.Ratings.from_arrays(["you"] * 4, [1, 3, 2, 4], [5, 5, 1, 1])
print("newcomer", [club.titles[film] for film in model.recommend(newcomer, n=3).items[0]])

# %%
# A model is one file.
model.save("film-club.rankfill")
again = rf.load("film-club.rankfill")
assert (again.predict("m007", [1, 2, 3]) == model.predict("m007", [1, 2, 3])).all()
