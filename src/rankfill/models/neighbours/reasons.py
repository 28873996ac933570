"""What each neighbour adds to a prediction."""

from typing import TYPE_CHECKING

from rankfill.models.base.explanation import Part

if TYPE_CHECKING:
    from rankfill.models.neighbours.answers import NeighbourAnswers

MEANING = {
    "similarity": "Each neighbour counts as much as it is similar, all together no more than 1.",
    "equal": "All neighbours count alike, all together no more than 1.",
    "learned": "Weights are those that predict the known ratings best.",
}


def neighbour_parts(model: "NeighbourAnswers", row: int, column: int) -> list[Part]:
    """One part for each of the k nearest neighbours of a row that have an entry in a column."""
    by_other, items = model._sides.by_other, model.side == "items"
    inside = slice(by_other.indptr[column], by_other.indptr[column + 1])
    entries = dict(zip(by_other.indices[inside].tolist(), by_other.values[inside].tolist(), strict=True))
    indices, weights = (each[row].tolist() for each in model._heard)
    heard = [(near, weight) for near, weight in zip(indices, weights, strict=True) if near in entries][: model.k]
    if model.weights == "equal":
        heard = [(near, 1.0) for near, _ in heard]
    total = 1.0 if model.weights == "learned" else model.penalty_ + sum(weight for _, weight in heard)
    ids = (model.items_ if items else model.users_).ids([near for near, _ in heard]).tolist() if heard else []
    return [
        Part(
            "rating" if items else "neighbour",
            f"{'item' if items else 'user'} {identity}",
            weight / total * entries[near],
            id=identity,
            rating=_rating(model, near, column),
            weight=weight / total,
        )
        for identity, (near, weight) in zip(ids, heard, strict=True)
    ]


def _rating(model: "NeighbourAnswers", near: int, column: int) -> float:
    """The rating of a neighbour as it was given."""
    user, item = (column, near) if model.side == "items" else (near, column)
    ratings = model._all_ratings().by_user
    begin, end = ratings.indptr[user], ratings.indptr[user + 1]
    return float(ratings.values[begin + ratings.indices[begin:end].searchsorted(item)])
