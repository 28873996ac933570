"""
Why this film?
==============

Every prediction is a sum, and the parts can be shown: by factor, or by the member's own ratings.
"""

import rankfill as rf

club = rf.synthetic.film_club()
model = rf.ALS(rank=8, penalty=3.0).fit(club.ratings)

# %%
film = model.recommend("m042", n=1).items[0, 0]
reasons = model.explain("m042", film, club.ratings, titles=club.titles)
print(reasons)

# %%
figure = rf.plots.reasons_plot(reasons)

# %%
# Films that are alike in the eyes of the model:
alike = model.similar_items([film], n=5)
print([club.titles[other] for other in alike.ids[0]])
