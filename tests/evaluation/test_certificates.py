"""Proofs of optimality: right where they can be checked, honest where the model is not yet there."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.linalg import bounds


@pytest.fixture
def ratings():
    return rf.synthetic.low_rank(60, 40, 900, seed=0)


def test_parts_of_a_certificate_are_those_of_the_dense_matrix(ratings):
    model = rf.SoftImpute(penalty=2.0, offset="none", passes=20, clip=False).fit(ratings)
    proof = rf.certificate(model, ratings)
    w = (model.user_factors_.astype(np.float64) @ model.item_factors_.T)[ratings.user_indices, ratings.item_indices]
    errors = ratings.values - w
    residual = np.zeros(ratings.shape)
    residual[ratings.user_indices, ratings.item_indices] = errors
    largest = np.linalg.norm(residual, 2)
    assert largest <= proof.largest <= largest * (1 + 1e-4)
    values = np.linalg.svd(model.user_factors_.astype(np.float64) @ model.item_factors_.T, compute_uv=False)
    assert proof.trace_norm == pytest.approx(values.sum(), rel=1e-6)
    assert proof.rank == model.rank_
    assert proof.primal == pytest.approx(0.5 * errors @ errors + 2.0 * values.sum(), rel=1e-6)
    dual_point = errors * min(1.0, 2.0 / proof.largest)
    assert proof.dual >= dual_point @ ratings.values - 0.5 * dual_point @ dual_point - 1e-6
    assert proof.gap == proof.primal - proof.dual > 0


def test_gap_bounds_the_distance_to_the_optimum_and_falls(ratings):
    best = rf.certificate(rf.SoftImpute(penalty=2.0, gap=1e-7, tol=None, passes=5000).fit(ratings), ratings)
    assert best.relative_gap < 1e-5
    gaps = []
    for passes in (3, 10, 40):
        proof = rf.certificate(rf.SoftImpute(penalty=2.0, tol=None, passes=passes).fit(ratings), ratings)
        assert proof.dual <= best.primal * (1 + 1e-9)
        assert proof.gap >= proof.primal - best.primal - 1e-9 * best.primal
        gaps.append(proof.relative_gap)
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("weighting", ["constant", "count"])
def test_certificate_is_that_of_the_history_and_of_the_saved_model(ratings, weighting, tmp_path):
    model = rf.SoftImpute(penalty=2.0, weighting=weighting, tol=None, passes=30).fit(ratings)
    proof, last = rf.certificate(model, ratings), model.history_[-1]
    assert proof.primal == pytest.approx(last.objective, rel=1e-5)
    assert proof.relative_gap == pytest.approx(last.gap, rel=1e-2, abs=1e-5)
    model.save(tmp_path / "m.rankfill")
    assert rf.certificate(rf.load(tmp_path / "m.rankfill"), ratings) == proof


def test_certificate_speaks_to_a_person(ratings):
    good = rf.certificate(rf.SoftImpute(penalty=2.0, gap=1e-5, tol=None, passes=5000).fit(ratings), ratings)
    bad = rf.certificate(rf.SoftImpute(penalty=2.0, passes=1).fit(ratings), ratings)
    assert str(good).startswith("within 0.0")
    assert "% of the best possible: objective" in str(bad)
    assert float(str(bad).split()[1]) == pytest.approx(100 * bad.relative_gap, rel=0.05)
    assert float(str(good).split()[1]) == pytest.approx(100 * good.relative_gap, abs=1e-4)


def test_certificate_is_refused_in_words_where_there_is_none(ratings):
    with pytest.raises(TypeError, match="only trace-norm models have a certificate, found ALS; try SoftImpute"):
        rf.certificate(rf.ALS(passes=1).fit(ratings), ratings)
    with pytest.raises(TypeError, match="only trace-norm models have a certificate, found GECO; try SoftImpute"):
        rf.certificate(rf.GECO(passes=1).fit(ratings), ratings)
    model = rf.SoftImpute(passes=2).fit(ratings)
    with pytest.raises(ValueError, match="needs the 900 ratings the model has learned from, found 899"):
        rf.certificate(model, ratings.select(np.arange(900) > 0))


def test_ids_decide_not_row_numbers(ratings):
    users, items = ratings.users.ids(ratings.user_indices), ratings.items.ids(ratings.item_indices)
    model = rf.SoftImpute(penalty=2.0, passes=10).fit(ratings)
    empty_before = rf.Ratings.from_indices(
        rf.Vocabulary(np.arange(-3, 60)),
        rf.Vocabulary(np.arange(-2, 40)),
        (users + 3).astype(np.int32),
        (items + 2).astype(np.int32),
        ratings.values,
    )
    assert rf.certificate(model, empty_before).gap == pytest.approx(rf.certificate(model, ratings).gap, rel=1e-9)


def test_a_negative_gap_is_shown_as_it_is_up_to_rounding():
    """It used to be cut off at zero, so that a wrong bound looked like a perfect solution."""
    wrong = rf.evaluation.Certificate(primal=99.0, dual=100.0, rank=1, trace_norm=1.0, largest=1.0)
    assert wrong.gap == -1.0
    assert wrong.relative_gap == -1 / 99
    assert str(wrong).startswith("not a proof: the objective 99 is below 100, which no matrix can get below")
    rounded = rf.evaluation.Certificate(primal=100.0 * (1 - 1e-8), dual=100.0, rank=1, trace_norm=1.0, largest=1.0)
    assert rounded.gap == rounded.relative_gap == 0.0
    nothing = rf.evaluation.Certificate(primal=0.0, dual=0.0, rank=0, trace_norm=0.0, largest=0.0)
    assert nothing.relative_gap == 0.0
    assert rf.evaluation.Certificate(0.0, 1.0, 0, 0.0, 0.0).relative_gap == -1.0


@pytest.mark.parametrize("gram_limit", [0, 8000], ids=["without the Gram matrix", "with it"])
def test_seed_of_the_proof_is_that_of_the_model_or_of_the_caller(ratings, monkeypatch, gram_limit):
    """Beyond some thousand rows the directions were always those of seed 0."""
    monkeypatch.setattr(bounds, "GRAM_LIMIT", gram_limit)
    model = rf.SoftImpute(penalty=2.0, passes=40, seed=3, clip=False).fit(ratings)
    exact = np.linalg.norm(residual_of(model, ratings), 2)
    proofs = {seed: rf.certificate(model, ratings, seed=seed) for seed in (None, 0, 3, 4)}
    assert proofs[None] == proofs[3]
    assert len({proof.largest for proof in proofs.values()}) == (3 if gram_limit == 0 else 1)
    for proof in proofs.values():
        assert exact * (1 - 1e-6) <= proof.largest <= exact * (1 + 1.5e-4)  # predictions are in single precision
        assert proof.dual <= proof.primal
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, found -1"):
        rf.certificate(model, ratings, seed=-1)


def residual_of(model, ratings):
    everyone, everything = ratings.users.ids()[:, None], ratings.items.ids()
    dense = np.zeros(ratings.shape)
    at = ratings.user_indices, ratings.item_indices
    dense[at] = ratings.values - model.predict(everyone, everything)[at]
    return dense
