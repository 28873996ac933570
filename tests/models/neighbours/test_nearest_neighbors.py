"""NearestNeighbors against its formula on dense tables, and what new ratings and newcomers change."""

import numpy as np
import pytest

import rankfill as rf


def table(seed=0, n_users=30, n_items=14, density=0.6):
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) + 3
    dense = np.clip(np.round(taste + 0.3 * rng.normal(size=taste.shape)), 1, 5)
    dense[rng.random(dense.shape) > density] = np.nan
    dense[3, :] = np.where(np.isnan(dense[3]), np.nan, 4)  # a constant row
    return dense


def ratings_of(dense):
    return rf.Ratings.from_dense(dense)


def similarity_of(x, y, support, shrinkage):
    sizes = np.linalg.norm(x) * np.linalg.norm(y)
    return 0.0 if sizes == 0 else x @ y / sizes * support / (support + shrinkage)


def expected(dense, side, centre, k, shrinkage, penalty, min_support=2):
    """The formula, entry by entry; the effects are those of Bias."""
    bias = rf.Bias(clip=False).fit(ratings_of(dense))
    base = np.array(bias.predict_all(), dtype=float)
    left = dense - base
    centred = {
        "baseline": left,
        "vector": dense - np.nanmean(dense, axis=0 if side == "items" else 1, keepdims=True),
        "common": dense,
    }[centre]
    if side == "items":
        centred, left, base = centred.T, left.T, base.T
    n = len(centred)
    similar = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            common = ~np.isnan(centred[i]) & ~np.isnan(centred[j])
            x, y = centred[i, common], centred[j, common]
            if centre == "common" and common.any():
                x, y = x - x.mean(), y - y.mean()
            if i != j and common.sum() >= min_support:
                similar[i, j] = similarity_of(x, y, common.sum(), shrinkage)
    predicted = base.copy()
    for i in range(n):
        for u in range(left.shape[1]):
            near = [
                j for j in np.argsort(-similar[i], kind="stable") if similar[i, j] > 1e-9 and not np.isnan(left[j, u])
            ]
            near = near[:k]
            if near:
                weights = similar[i, near]
                predicted[i, u] += weights @ left[near, u] / (penalty + weights.sum())
    return predicted.T if side == "items" else predicted


@pytest.mark.parametrize("side", ["items", "users"])
@pytest.mark.parametrize("centre", ["baseline", "vector", "common"])
@pytest.mark.parametrize(("k", "shrinkage", "penalty"), [(3, 0.0, 0.0), (40, 10.0, 0.7)])
def test_predictions_are_those_of_the_formula(side, centre, k, shrinkage, penalty):
    dense = table()
    model = rf.NearestNeighbors(side=side, centre=centre, k=k, shrinkage=shrinkage, penalty=penalty, clip=False)
    model.fit(ratings_of(dense))
    formula = expected(dense, side, centre, k, shrinkage, penalty)
    users, items = np.indices(dense.shape)
    predicted = model.predict(users, items)
    close = np.isclose(predicted, formula, rtol=1e-4, atol=1e-4)
    assert close.mean() > (0.97 if shrinkage == 0 else 0.999)  # exact ties at the k-th place go by rounding
    np.testing.assert_allclose(model.predict_all(), predicted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("side", ["items", "users"])
@pytest.mark.parametrize("weights", ["similarity", "equal", "learned"])
@pytest.mark.parametrize(
    "options", [{"centre": "common"}, {"centre": "vector"}, {"centre": "baseline"}, {"similarity": "cosine"}]
)
def test_new_ratings_lead_where_a_fresh_fit_does(side, weights, options):
    """Similarities that a rating does not touch are kept, and nothing is lost by it."""
    dense = table(n_users=40)
    ratings = ratings_of(dense)
    model = rf.NearestNeighbors(side=side, weights=weights, penalty=2.0, shrinkage=3.0, keep=6, **options)
    late = np.zeros(len(ratings), bool)
    late[[5, 60, 61, 200]] = True
    streamed = rf.NearestNeighbors(**model.get_params()).fit(ratings.select(~late)).partial_fit(ratings.select(late))
    whole = model.fit(ratings)
    np.testing.assert_array_equal(streamed.neighbours_, whole.neighbours_)
    np.testing.assert_array_equal(streamed.similarities_, whole.similarities_)
    np.testing.assert_allclose(streamed.predict_all(), whole.predict_all(), rtol=1e-6)


def test_only_rows_that_share_a_column_with_a_new_rating_are_compared_anew(monkeypatch):
    from rankfill.models.neighbours import answers

    compared = []
    original = answers.similar_rows
    monkeypatch.setattr(answers, "similar_rows", lambda *a, **b: (compared.append(len(a[2])), original(*a, **b))[1])
    dense = table(n_users=60, n_items=30, density=0.15)
    model = rf.NearestNeighbors(centre="common", penalty=1.0).fit(ratings_of(dense))
    model.partial_fit(rf.Ratings.from_arrays([2], [1], [5.0]))
    rated = set(np.flatnonzero(~np.isnan(dense[2])).tolist()) | {1}
    assert compared == [30, len(rated)]
    assert len(rated) < 30


@pytest.mark.parametrize("side", ["items", "users"])
@pytest.mark.parametrize("weights", ["similarity", "learned"])
def test_newcomers_are_predicted_by_the_same_rule(side, weights):
    """Someone who rated as a user did is predicted alike; as another user, that user is a neighbour, too."""
    dense = table()
    model = rf.NearestNeighbors(side=side, weights=weights, penalty=1.0, shrinkage=2.0).fit(ratings_of(dense))
    items = np.flatnonzero(~np.isnan(dense[7]))
    newcomer = rf.Ratings.from_arrays(["new"] * len(items), items, dense[7, items])
    predicted = model.predict_folded(newcomer)[0]
    assert np.isfinite(predicted).all()
    if side == "items":
        np.testing.assert_allclose(predicted, model.predict_all([7])[0], rtol=1e-5)
    else:
        near, cold = (
            np.abs(predicted - dense[7])[items].mean(),
            np.abs(model.predict(-1, items) - dense[7, items]).mean(),
        )
        assert near < cold


def test_neighbours_beat_the_effects_where_there_is_taste():
    ratings = rf.synthetic.low_rank(400, 200, n_ratings=16_000, noise=0.5, seed=3)
    train, test = rf.split(ratings, test=0.2, by="user", seed=0)
    effects = rf.evaluate(rf.Bias().fit(train), test)["rmse"]
    for settings in ({}, {"side": "users"}, {"weights": "learned"}, {"weights": "equal"}, {"centre": "common"}):
        assert rf.evaluate(rf.NearestNeighbors(**settings).fit(train), test)["rmse"] < 0.97 * effects, settings


def test_the_penalty_is_chosen_where_none_is_given():
    noise = rf.synthetic.low_rank(400, 200, n_ratings=16_000, noise=2.0, seed=3)
    clear = rf.synthetic.low_rank(400, 200, n_ratings=16_000, noise=0.3, seed=3)
    strong, weak = (rf.NearestNeighbors().fit(each).penalty_ for each in (noise, clear))
    assert strong > weak
    assert rf.NearestNeighbors(baseline="none").fit(clear).penalty_ == 0


def test_reasons_are_the_neighbours():
    dense = table()
    model = rf.NearestNeighbors(penalty=0.5, shrinkage=0.0, k=4).fit(ratings_of(dense))
    found = model.explain(5, 3)
    parts = [part for part in found.parts if part.kind == "rating"]
    rated = [j for j in model.neighbours_[3] if j >= 0 and not np.isnan(dense[5, j])][:4]
    assert {part.id for part in parts} == set(rated)
    assert all(part.rating == dense[5, part.id] for part in parts)
    assert sum(part.weight for part in parts) < 1
    users = rf.NearestNeighbors(side="users", penalty=0.5, shrinkage=0.0).fit(ratings_of(dense)).explain(5, 3)
    assert {part.kind for part in users.parts} == {"level", "user", "item", "neighbour"}
    assert all(part.rating == dense[part.id, 3] for part in users.parts if part.kind == "neighbour")


def test_similar_ones_are_the_neighbours_and_the_other_side_is_found_when_asked():
    model = rf.NearestNeighbors(shrinkage=0.0, penalty=1.0).fit(ratings_of(table()))
    similar = model.similar_items(3, n=5)
    np.testing.assert_array_equal(similar.ids[0], model.neighbours_[3, :5])
    np.testing.assert_array_equal(np.nan_to_num(similar.similarities[0]), model.similarities_[3, :5])
    other = rf.NearestNeighbors(side="users", shrinkage=0.0, penalty=1.0).fit(ratings_of(table()))
    np.testing.assert_array_equal(model.similar_users(4, n=5).ids, other.similar_users(4, n=5).ids)


def test_a_model_saved_without_history_knows_items_and_serves_newcomers(tmp_path):
    dense = table()
    ratings = ratings_of(dense)
    model = rf.NearestNeighbors(penalty=1.0).fit(ratings)
    model.save(tmp_path / "m", history=False)
    loaded = rf.load(tmp_path / "m")
    newcomer = ratings.select(ratings.user_indices == 4)
    np.testing.assert_array_equal(loaded.predict_folded(newcomer), model.predict_folded(newcomer))
    np.testing.assert_array_equal(loaded.similar_items(3).ids, model.similar_items(3).ids)
    np.testing.assert_allclose(loaded.predict(4, 1), rf.Bias().fit(ratings).predict(4, 1), rtol=1e-6)
    with pytest.raises(ValueError, match="cannot go on"):
        loaded.partial_fit(newcomer)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"side": "films"}, "side must be one of users, items, found 'films'"),
        ({"k": 0}, "k must be a whole number of at least 1, found 0"),
        ({"keep": 2.5}, "keep must be a whole number of at least 1"),
        ({"shrinkage": -1.0}, "shrinkage must be zero or a positive number"),
        ({"penalty": -1.0}, "penalty must be zero or a positive number"),
        ({"centre": "mean"}, "centre must be one of baseline, vector, common"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        rf.NearestNeighbors(**settings).fit(ratings_of(table()))


def test_another_number_of_neighbours_is_refused_in_a_stream():
    model = rf.NearestNeighbors().fit(ratings_of(table()))
    with pytest.raises(ValueError, match="keep is 7, what was learned has 200; fit anew, or set keep back"):
        model.set_params(keep=7).partial_fit(rf.Ratings.from_arrays([1], [1], [3.0]))
