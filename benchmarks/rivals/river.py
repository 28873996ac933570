"""river's BiasedMF: stochastic gradient as events arrive, in Python and NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.base import Grid, Interactions, Plan, Rival, Settings


class River(Rival):
    name = "river BiasedMF"
    tasks = ("stream",)
    package = "river"
    defaults = Settings(step=0.025, l2=0.0)
    grids = (Grid(step=(0.005, 0.01, 0.025, 0.05), l2=(0.0, 0.05, 0.1, 0.2)),)
    note = "with biases"

    def stream(self, events: Interactions, plan: Plan) -> Any:
        from river import optim, reco

        model = reco.BiasedMF(
            n_factors=plan.rank,
            bias_optimizer=optim.SGD(self.settings["step"]),
            latent_optimizer=optim.SGD(self.settings["step"]),
            latent_initializer=optim.initializers.Normal(mu=0.0, sigma=0.1, seed=plan.seed),
            l2_bias=self.settings["l2"],
            l2_latent=self.settings["l2"],
        )
        learn = model.learn_one
        for user, item, value in zip(events.users.tolist(), events.items.tolist(), events.values.tolist(), strict=True):
            learn(user, item, value)
        return model

    def predict(self, fitted: Any, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.floating]:
        pairs = zip(users.tolist(), items.tolist(), strict=True)
        return np.array([fitted.predict_one(user, item) for user, item in pairs])


ENTRY = River
