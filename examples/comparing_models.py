"""
Which model is best for these ratings?
======================================

All candidates on one split, with errors, quality of lists, times and advice.
"""

import rankfill as rf

club = rf.synthetic.film_club()
models = [
    rf.Bias(),
    rf.Popularity(),
    rf.NearestNeighbors(),
    rf.ALS(),
    rf.SGD(),
    rf.PassiveAggressive(),
    rf.ItemRegression(),
]
found = rf.compare(club.ratings, models)
print(found)

# %%
# A good predictor need not make good lists, nor the reverse.
figure = found.plot()
