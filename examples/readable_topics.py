"""What a model has found, in words and in a picture: non-negative factors read as topics."""

import rankfill as rf
from rankfill.data.synthetic import film_club

club = film_club()
model = rf.PassiveAggressive(rank=6, recipe="paper", C=0.03, passes=30, nonnegative="both").fit(club.ratings)

topics = rf.topics(model, n=5, titles=club.titles)
for topic in topics:
    print(topic)
rf.plots.topics_plot(topics, path="topics.png")

# Why this film? The prediction is a sum over topics, and these carry most of it.
film = model.recommend("m042", n=1).items[0, 0]
for reason in rf.explain(model, "m042", film):
    print(
        f"{club.titles[reason.item]}: topic {reason.factor} adds {reason.contribution:.2f} stars ({reason.share:.0%})"
    )
