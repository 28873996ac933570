"""How coherent topics are by the genres of films: those of ratings beside the factors of models.

    python -m benchmarks topics [--sets 1m,latest-small] [--show]

Coherence is the mean likeness (common genres over all genres) of two of the ten strongest films of a topic; purity is
the share of the ten that have the genre that sets the topic apart, less the share of all ratings that are of films with
it; "distinct" is the share of places that go to different films. Models have as many factors as topics were found.
The method was chosen on MovieLens 100K, latest-small and the film club.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import rankfill as rf
from rankfill.data.dataset import Dataset
from rankfill.experiments.genres import coherence, purity

PLACES = 10


def read(name: str) -> Dataset:
    return rf.synthetic.film_club() if name == "film-club" else rf.datasets.movielens(name)


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
