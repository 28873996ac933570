"""From ratings to recommendations: split, learn, measure, recommend, save."""

import rankfill as rf
from rankfill.data.synthetic import film_club

club = film_club()  # or rf.read_ratings("ratings.csv")
known, test = rf.split(club.ratings, test=0.2, seed=0)
train, validation = rf.split(known, test=0.1, seed=0)

# The validation ratings choose the best pass; the test ratings are only looked at in the end.
bias = rf.Bias().fit(train)
model = rf.PassiveAggressive(rank=8).fit(train, validation=validation)
for name, each in {"bias": bias, "passive-aggressive": model}.items():
    scores = rf.evaluate(each, test)
    print(f"{name:20} rmse {scores['rmse']:.3f}  ndcg@10 {scores['ndcg']:.3f}")

members = ["m007", "m042"]
best = model.recommend(members, n=3)
for member, films in zip(members, best.items, strict=True):
    print(member, [club.titles[film] for film in films])

# Somebody who was not in training: two horror films liked, a western and a science fiction film not.
newcomer = rf.Ratings.from_arrays(["you"] * 4, [1, 3, 2, 4], [5, 5, 1, 1])
print("newcomer", [club.titles[film] for film in model.recommend(newcomer, n=3).items[0]])

model.save("film-club.rankfill")
again = rf.load("film-club.rankfill")
assert (again.predict("m007", [1, 2, 3]) == model.predict("m007", [1, 2, 3])).all()
