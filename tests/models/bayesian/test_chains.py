"""Chains side by side: what they say of each other, and where they go on."""

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.bayesian.diagnostics import diagnosis


def autoregressive(rho, shape, seed=0):
    """Chains whose draws have the correlation ρ with the draw before."""
    rng = np.random.default_rng(seed)
    noise, chains = rng.normal(size=shape), np.empty(shape)
    chains[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return chains


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.5, 0.9])
def test_the_effective_number_is_that_of_an_autoregression_in_closed_form(rho):
    found = [diagnosis(autoregressive(rho, (4, 5000), seed)).effective for seed in range(8)]
    assert np.mean(found) == pytest.approx(20_000 * (1 - rho) / (1 + rho), rel=0.1)


def test_r_hat_is_that_of_the_formula_and_tells_chains_that_disagree():
    draws = autoregressive(0.3, (2, 400))
    halves = np.concatenate([draws[:, :200], draws[:, 200:]])
    within, means = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1)
    assert diagnosis(draws).r_hat == pytest.approx(np.sqrt(199 / 200 + means.var(ddof=1) / within))
    assert diagnosis(draws).r_hat < 1.02
    assert diagnosis(draws + np.array([[0.0], [2.0]])).r_hat > 1.4
    assert diagnosis(draws + np.linspace(0, 4, 400)).r_hat > 1.3  # both on their way to the same


def test_too_few_draws_or_none_that_differ_say_nothing():
    assert np.isnan(diagnosis(np.ones((2, 50)))).all()
    assert np.isnan(diagnosis(np.random.default_rng(0).normal(size=(2, 7)))).all()


def data():
    return rf.synthetic.low_rank(60, 40, n_ratings=800, noise=0.5, seed=0)


def test_traces_are_those_of_every_chain_and_sweep():
    model = rf.BayesianMF(rank=2, sweeps=12, chains=3, burn_in=2).fit(data())
    assert model.traces_.shape == (3, 12, 2)
    assert len(np.unique(model.traces_[..., 0])) == 36
    mean_square = (model.traces_[:, :, 0] ** 2).mean(axis=0)
    np.testing.assert_allclose(np.sqrt(mean_square), [report.train for report in model.history_])
    assert model.diagnostics()["noise"] == diagnosis(model.traces_[:, 2:, 1])
    assert np.isnan(rf.BayesianMF(rank=2, sweeps=5).fit(data()).diagnostics()["rmse"].r_hat)


def test_the_mean_is_over_all_chains_and_samples_come_from_each():
    one, three = (rf.BayesianMF(rank=2, sweeps=16, chains=n, clip=False).fit(data()) for n in (1, 3))
    noises = three.traces_[:, :, 1] ** -2 * three._scale**2
    origins = {int(np.argwhere(np.isclose(noises, each, rtol=1e-9))[0, 0]) for each in three._samples.noise_precisions}
    assert origins == {0, 1, 2}
    np.testing.assert_array_equal(one.traces_[0], three.traces_[0])
    assert not np.allclose(one.predict_all(), three.predict_all(), atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"chains": 2, "links": "rated"}, {"sweeps": "auto"}])
def test_a_fit_that_was_cut_off_goes_on_to_the_same_bits(tmp_path, options):
    ratings, settings = data(), {"rank": 2, "sweeps": 26, "samples": 4} | options

    def cut(report):
        if report.epoch == 13:
            raise RuntimeError("cut")

    whole = rf.BayesianMF(**settings).fit(ratings)
    with pytest.raises(RuntimeError, match="cut"):
        rf.BayesianMF(**settings).fit(ratings, checkpoint=tmp_path, every=5, callbacks=[cut])
    made = []
    again = rf.BayesianMF(**settings).fit(ratings, checkpoint=tmp_path, every=5, callbacks=[made.append])
    assert made[0].epoch == 10  # told of where it goes on from
    assert again.predict_all().tobytes() == whole.predict_all().tobytes()
    assert again.traces_.tobytes() == whole.traces_.tobytes()
    for one, other in zip(again._samples.arrays(), whole._samples.arrays(), strict=True):
        assert one.tobytes() == other.tobytes()


def test_more_sweeps_go_on_from_where_a_fit_ended(tmp_path):
    rf.BayesianMF(rank=2, sweeps=6).fit(data(), checkpoint=tmp_path)
    more = rf.BayesianMF(rank=2, sweeps=9).fit(data(), checkpoint=tmp_path)
    assert more.predict_all().tobytes() == rf.BayesianMF(rank=2, sweeps=9).fit(data()).predict_all().tobytes()
