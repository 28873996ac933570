"""A made-up film club for first steps: small, always at hand, with genres that a good model finds again.

Member m gives film f, rounded to whole stars from 1 to 5:

    2.2 + generosity[m] + quality[f] + 2.2 · (how much m likes the genres of f, 0 to 1.2) + noise

Members see films they like more often than others, and popular films more often than obscure ones.
"""

import numpy as np
from numpy.typing import NDArray

from rankfill.data.dataset import Dataset
from rankfill.data.ratings import Ratings
from rankfill.data.vocabulary import Vocabulary

N_MEMBERS = 600
FILMS_PER_GENRE = 40

# Every opening goes with every ending of its genre; the seed chooses which titles were filmed.
_TITLES = {
    "horror": (
        "Midnight at|Whispers in|The Thing beneath|Thirteen Nights in|Something Waits at|Blood Moon over|The Ghost of",
        "the Haunted Mill|Hollow Lake|Ravenmoor Abbey|the Wax Museum|Crow Hill|the Drowned Chapel|Widow's Lane",
    ),
    "romance": (
        "Letters from|A Kiss in|Autumn in|Two Tickets to|The Florist of|One More Spring in|Waltzing through",
        "Verona|the Lavender Garden|Lighthouse Bay|the Blue Café|Lisbon|Cherry Street|the Grand Hotel",
    ),
    "western": (
        "Showdown at|Dust over|The Last Train to|Six Bullets for|A Stranger in|Sundown at|No Law in",
        "Rattlesnake Creek|Silver Gulch|Dry Bones|Coyote Pass|Red Canyon|Broken Spur|Buzzard Flats",
    ),
    "science fiction": (
        "Signals from|Escape from|The Robots of|Lost beyond|Colony on|The Clockmakers of|Twelve Minutes to",
        "Proxima|the Ninth Moon|Station Zero|Kepler's Star|the Glass Planet|the Andromeda Gate|Titan",
    ),
    "comedy": (
        "My Uncle Runs|Three Fools and|Who Borrowed|Grandma Buys|Nobody Wants|Help, I Married|Trouble with",
        "the Submarine|a Camel|the Mayor's Hat|the Wrong Castle|the Penguin|the Wedding Cake|a Tax Inspector",
    ),
    "crime": (
        "Inspector Finch and|The Alibi of|Five Suspects and|The Forger of|A Cold Trail to|Who Framed|The Silence of",
        "the Velvet Glove|the Harbour Master|the Stolen Cello|the Diamond Clerk|the Second Widow|the Chess Club|Otto",
    ),
}


def film_club(seed: int = 0) -> Dataset:
    """A made-up film club: 600 members, 240 films in 6 genres, 15 to 80 ratings per member.

    Parameters
    ----------
    seed : int, default=0
        Another seed makes another club.

    Returns
    -------
    Dataset
        With ratings from 1 to 5, titles and genres.

    Examples
    --------
    >>> club = film_club()
    >>> club.ratings.shape
    (600, 240)
    >>> club.titles[1]
    'Something Waits at the Haunted Mill (horror)'
    """
    random = np.random.default_rng(seed)
    titles, genres = _films(random)
    belongs = _belongs(genres)
    likes = _likes(random, len(_TITLES))
    match = likes @ (belongs / belongs.sum(axis=1, keepdims=True)).T
    popularity = random.normal(0, 0.8, len(titles))
    quality = 0.2 * popularity + random.normal(0, 0.35, len(titles))
    generosity = random.normal(0, 0.35, (N_MEMBERS, 1))
    stars = 2.2 + generosity + quality + 2.2 * match + random.normal(0, 0.5, match.shape)
    seen = _seen(popularity + 1.2 * match, random)
    members, films = np.nonzero(seen)
    ratings = Ratings.from_indices(
        Vocabulary([f"m{number:03d}" for number in range(1, N_MEMBERS + 1)]),
        Vocabulary(np.arange(1, len(titles) + 1)),
        members.astype(np.int32),
        films.astype(np.int32),
        np.clip(np.round(stars[seen]), 1, 5),
    )
    return Dataset("film-club", ratings, dict(enumerate(titles, start=1)), dict(enumerate(genres, start=1)))


def _films(random: np.random.Generator) -> tuple[list[str], list[tuple[str, ...]]]:
    """Titles and genres in random order; every fourth film has a second genre."""
    films = []
    for genre, (openings, endings) in _TITLES.items():
        every = [f"{opening} {ending} ({genre})" for opening in openings.split("|") for ending in endings.split("|")]
        others = [other for other in _TITLES if other != genre]
        for title in random.permutation(every)[:FILMS_PER_GENRE].tolist():
            second = others[random.integers(len(others))]
            films.append((title, (genre, second) if random.random() < 0.25 else (genre,)))
    order = random.permutation(len(films))
    return [films[k][0] for k in order], [films[k][1] for k in order]


def _belongs(genres: list[tuple[str, ...]]) -> NDArray[np.float64]:
    """Films by genres: 1 for the first genre, a half for the second."""
    belongs = np.zeros((len(genres), len(_TITLES)))
    column = {genre: k for k, genre in enumerate(_TITLES)}
    for film, named in enumerate(genres):
        for weight, genre in zip((1.0, 0.5), named, strict=False):
            belongs[film, column[genre]] = weight
    return belongs


def _likes(random: np.random.Generator, n_genres: int) -> NDArray[np.float64]:
    """Members by genres: how much each likes the one to three genres that are theirs."""
    n_liked = random.choice([1, 2, 3], size=(N_MEMBERS, 1), p=[0.4, 0.4, 0.2])
    place = random.permuted(np.tile(np.arange(n_genres), (N_MEMBERS, 1)), axis=1)
    return np.where(place < n_liked, random.uniform(0.8, 1.2, place.shape), 0.0)


def _seen(appeal: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.bool_]:
    """Draws who rates what: each member 15 to 80 films, drawn without replacement in proportion to exp(appeal)."""
    n_seen = np.clip(random.lognormal(np.log(36), 0.5, len(appeal)), 15, 80).astype(np.int64)
    drawn = np.argsort(-(appeal + random.gumbel(size=appeal.shape)), axis=1)
    seen = np.zeros(appeal.shape, dtype=bool)
    np.put_along_axis(seen, drawn, np.arange(appeal.shape[1]) < n_seen[:, None], axis=1)
    return seen
