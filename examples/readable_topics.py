"""
Topics that can be read
=======================

What goes together, found in who rated what, without a word about genres.
"""

import rankfill as rf

club = rf.synthetic.film_club()

# %%
# Topics come straight from the ratings. The genres, if given, only name the topics afterwards.
topics = rf.topics(club, n=5)
for topic in topics:
    print(topic)
figure = rf.plots.topics_plot(topics)

# %%
# A model with non-negative factors can be read in the same way: each factor is a topic.
model = rf.PassiveAggressive(rank=6, recipe="paper", C=0.03, passes=30, nonnegative="both").fit(club.ratings)
for topic in rf.topics(model, n=3, titles=club.titles):
    print(topic)
