"""Writes ranking.json: what ranx, ir-measures and implicit say of some lists, in an environment that has all three.

python tests/objectives/store_ranking.py
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse

N_USERS, N_ITEMS, LENGTH = 24, 30, 10
NAMES = {"precision": "P", "recall": "R", "ndcg": "nDCG", "mrr": "RR", "hit_rate": "Success", "map": "AP"}
IN_RANX = {"mrr": "mrr", "map": "map", "ndcg": "ndcg", "recall": "recall", "precision": "precision"}


class Fixed:
    """Stands in for a model of implicit: recommends what it was given."""

    def __init__(self, lists):
        self.lists = lists

    def recommend(self, users, _, N):
        return self.lists[users, :N], np.ones((len(users), N))


def main():
    import ir_measures
    import ranx
    from implicit.evaluation import ranking_metrics_at_k

    rng = np.random.default_rng(7)
    lists = np.array([rng.permutation(N_ITEMS)[:LENGTH] for _ in range(N_USERS)], dtype=np.int32)
    relevant = [sorted(rng.permutation(N_ITEMS)[: 1 + user % 14].tolist()) for user in range(N_USERS)]
    stored = {"n_items": N_ITEMS, "lists": lists.tolist(), "relevant": relevant}
    judged = {f"{user:02}": {str(item): 1 for item in items} for user, items in enumerate(relevant)}
    run = {
        f"{user:02}": {str(item): float(LENGTH - place) for place, item in enumerate(items)}
        for user, items in enumerate(lists.tolist())
    }
    likes = scipy.sparse.lil_matrix((N_USERS, N_ITEMS))
    for user, items in enumerate(relevant):
        likes[user, items] = 1
    for k in (1, 5, 10):
        asked = [f"{name}@{k}" for name in (*IN_RANX, "hit_rate")]
        qrels, results = ranx.Qrels(judged), ranx.Run(run)
        by_name = ranx.evaluate(qrels, results, asked, return_mean=False)
        stored.setdefault("ranx", {})[k] = {name.split("@")[0]: list(map(float, by_name[name])) for name in by_name}
        theirs = {f"{ir_measures.parse_measure(f'{word}@{k}')}": name for name, word in NAMES.items()}
        values = {name: {} for name in NAMES}
        for each in ir_measures.iter_calc([ir_measures.parse_measure(word) for word in theirs], judged, run):
            values[theirs[str(each.measure)]][each.query_id] = each.value
        stored.setdefault("ir-measures", {})[k] = {
            name: [by_user[user] for user in sorted(by_user)] for name, by_user in values.items()
        }
        metrics = ranking_metrics_at_k(Fixed(lists), likes.tocsr(), likes.tocsr(), K=k, show_progress=False)
        stored.setdefault("implicit", {})[k] = {name: float(value) for name, value in metrics.items()}
    (Path(__file__).parent / "ranking.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
