"""The state of a trace-norm model after each pass: rank, seconds, errors and objective."""

from typing import Any

import numpy as np

import rankfill as rf


def follow(
    method: str, model: Any, train: rf.Ratings, test: rf.Ratings, most: int, penalty: float = 0.0
) -> list[dict[str, Any]]:
    """One record per pass, up to so high a rank or, where that stands still, as many passes as the model makes."""
    records: list[dict[str, Any]] = []

    def note(report: rf.EpochReport) -> bool:
        loss = 0.5 * len(train) * report.train**2
        rank = int(np.any(model.user_factors_ != 0, axis=0).sum())  # GECO has room for all terms from the beginning
        records.append(
            {"method": method, "rank": rank, "seconds": report.seconds, "test RMSE": report.validation}
            | {"train RMSE": report.train, "J": loss + penalty * trace_norm(model)}
        )
        return rank >= most

    model.fit(train, validation=test, callbacks=[note])
    return records


def trace_norm(model: Any) -> float:
    """The sum of the singular values of P Qᵀ, from two small triangles."""
    if model.rank_ == 0:
        return 0.0
    sides = (np.linalg.qr(side.astype(np.float64))[1] for side in (model.user_factors_, model.item_factors_))
    left, right = sides
    return float(np.linalg.svd(left @ right.T, compute_uv=False).sum())
