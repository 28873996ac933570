"""The names of all measures, which of them judge lists, and whether more is better: `ndcg@10`, `rmse`, `recall@50`."""

import re
from typing import NamedTuple

from rankfill.shown import shown

PREDICTION = {"rmse": "lower", "mae": "lower", "nmae": "lower", "top5": "higher"}
"""Measures of predicted ratings, and which value is better."""

LISTS = {
    "ndcg": "higher",
    "precision": "higher",
    "capped_precision": "higher",
    "recall": "higher",
    "map": "higher",
    "mrr": "higher",
    "hit_rate": "higher",
    "auc": "higher",
    "coverage": "higher",
    "novelty": "higher",
    "rare_share": "lower",
}
"""Measures of lists of recommendations, and which value is better; `ranking.py` defines them."""


class Score(NamedTuple):
    """A measure by its name, with the length of the lists where it judges lists.

    Examples
    --------
    >>> parse_score("ndcg@20")
    Score(name='ndcg', k=20)
    >>> parse_score("ndcg@20").loss(0.3), parse_score("rmse").loss(0.9)
    (-0.3, 0.9)
    """

    name: str
    k: int | None = None

    @property
    def label(self) -> str:
        """The name with the length of the lists."""
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def higher_is_better(self) -> bool:
        return (PREDICTION | LISTS)[self.name] == "higher"

    def loss(self, value: float) -> float:
        """The value with the sign with which less is better."""
        return -value if self.higher_is_better else value


def parse_score(text: str, n: int = 10) -> Score:
    """The measure of that name; lists of length n are judged where the name says no other length."""
    found = re.fullmatch(r"(\w+)(?:@([1-9][0-9]{0,8}))?", text) if isinstance(text, str) else None
    name, k = found.groups() if found else ("", None)
    if name in LISTS:
        return Score(name, int(k or n))
    if name in PREDICTION and k is None:
        return Score(name)
    raise ValueError(
        f"a measure is one of {', '.join(PREDICTION)}, or one of lists: {', '.join(LISTS)}, where ndcg@20 judges lists "
        f"of 20; found {shown(text)}"
    )
