"""How coherent topics are by the genres of films: those of ratings beside the factors of models.

    python -m benchmarks topics [--sets 1m,latest-small] [--show]

Coherence is the mean likeness (common genres over all genres) of two of the ten strongest films of a topic; purity is
the share of the ten that have the genre that sets the topic apart, less the share of all ratings that are of films with
it; "distinct" is the share of places that go to different films. Models have as many factors as topics were found.
The method was chosen on MovieLens 100K, latest-small and the film club.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

import rankfill as rf
from rankfill.data.dataset import Dataset

PLACES = 10


def read(name: str) -> Dataset:
    return rf.synthetic.film_club() if name == "film-club" else rf.datasets.movielens(name)


def coherence(data: Dataset, topics: Sequence[rf.Topic]) -> float:
    pairs = (pair for topic in topics for pair in itertools.combinations(topic.items, 2))
    genres = ((set(data.genres.get(a, ())), set(data.genres.get(b, ()))) for a, b in pairs)
    return float(np.mean([len(a & b) / max(len(a | b), 1) for a, b in genres]))


def purity(data: Dataset, topics: Sequence[rf.Topic]) -> float:
    names = sorted({genre for genres in data.genres.values() for genre in genres})
    has = np.array([[name in data.genres.get(item, ()) for name in names] for item in data.ratings.items])
    counts = data.ratings.by_item.counts()
    usual, found = counts @ has / counts.sum(), []
    for topic in topics:
        share = has[data.ratings.items.index(topic.items)].mean(axis=0)
        worth = share * np.log(np.maximum(share, 1e-9) / np.maximum(usual, 1e-9))
        found.append(share[np.argmax(worth)] - usual[np.argmax(worth)])
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="film-club,100k,latest-small,1m")
    parser.add_argument("--show", action="store_true", help="print the topics of the ratings")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | topics of | number | coherence | purity | distinct | seconds |\n|---|---|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        data = read(name)
        n_topics = len(rf.topics(data, n=1))
        sources: dict[str, Callable[[], Dataset | rf.Model]] = {
            "the ratings": lambda each=data: each,
            "PassiveAggressive": lambda each=data, n=n_topics: rf.PassiveAggressive(rank=n + 2).fit(each.ratings),
            'ALS(nonnegative="both")': lambda each=data, n=n_topics: rf.ALS(rank=n, nonnegative="both").fit(
                each.ratings
            ),
        }
        for label, source in sources.items():
            began = time.perf_counter()
            found = [topic for topic in rf.topics(source(), n=PLACES, titles=data.titles) if topic.items]
            seconds = time.perf_counter() - began
            distinct = len({item for topic in found for item in topic.items}) / sum(len(each.items) for each in found)
            figures = f"{coherence(data, found):.3f} | {purity(data, found):.3f} | {distinct:.2f} | {seconds:.1f}"
            print(f"| {name} | {label} | {len(found)} | {figures} |", flush=True)
            if arguments.show and label == "the ratings":
                print(*(f"    {topic}" for topic in found), sep="\n")


if __name__ == "__main__":
    main()
