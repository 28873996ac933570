"""What `tune` and `cross-validate` have in common: options, the model asked for, the ratings as they are to be read."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer

from rankfill.cli.parameters import make_model, parameters_of
from rankfill.cli.shared import console, described, note, parse_columns
from rankfill.data import Ratings, read_batches, read_ratings
from rankfill.data.batches import FileBatches, StoreBatches
from rankfill.data.duplicates import TIMED, Duplicates
from rankfill.data.liked import Liked
from rankfill.evaluation import CrossValidation, cross_validate
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import DEFAULT_MODEL, MODELS, Bias, Model

Batches: TypeAlias = FileBatches | StoreBatches

STREAM_MODEL = "sgd"
"""The default model of a stream, where ratings go by once."""

RatingsFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS", help="One rating per line: .csv, .tsv, .dat (::), gzipped, or .parquet; or a store."
    ),
]
ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help=f"Which model: {', '.join(MODELS)}. By default {DEFAULT_MODEL}, with --stream {STREAM_MODEL}.",
    ),
]
Folds: TypeAlias = Annotated[int, typer.Option(metavar="N", help="Into how many parts the ratings are dealt.")]
Stream: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read the file in batches and never hold it: models learn side by side as the ratings go by. "
        "--passes is then how often the file is read; once by default.",
    ),
]
MeasureName: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What to go by: rmse, mae, nmae, or one of lists such as ndcg@10; see evaluate."),
]
LikedRule: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--liked",
        metavar="RULE",
        help="Which ratings are of liked items: above-mean (of training, the usual rule), above-user-mean, all, or "
        "from a number.",
    ),
]
Repeats: TypeAlias = Annotated[
    Duplicates, typer.Option(help="What to do when a user rates an item twice: refuse, keep which, or add up.")
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Seed of all randomness: the folds and the start of the model.")]


def model_name(named: str | None, stream: bool) -> str:
    """The model that is named, or the usual one."""
    return named or (STREAM_MODEL if stream else DEFAULT_MODEL)


def model_options(name: str, **options: Any) -> dict[str, Any]:
    """The options of a verb that are parameters of the model as well, where they are given."""
    takes = parameters_of(MODELS[name]) if name in MODELS else {}
    return {option: value for option, value in options.items() if value is not None and option in takes}


def asked_model(name: str, parameters: dict[str, Any], stream: bool, **options: Any) -> tuple[Model, int | None]:
    """The model with its parameters, and for a stream how often it is to be read."""
    reads = None
    if stream:
        text = parameters.pop("passes") or "1"
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"--passes must be a whole number of at least 1, found {text!r}")
        reads = int(text)
    return make_model(name, parameters | model_options(name, **options)), reads


def open_ratings(
    path: Path, columns: str | None, duplicates: Duplicates, stream: bool, timed: bool
) -> Ratings | Batches:
    """The ratings of a file; times are read where they say which of a pair is the last, and where these are `timed`."""
    names = parse_columns(columns)
    if stream:
        return read_batches(path, names, duplicates=duplicates)
    return read_ratings(path, columns=names, duplicates=duplicates, timestamps=timed or duplicates in TIMED)


def introduce(path: Path, data: Ratings | Batches) -> None:
    """One line on what was read; of a stream nothing is known yet."""
    if isinstance(data, Ratings):
        console().print(described(path, data), end="\n\n")


def bias_errors(
    model: str, data: Ratings | Batches, folds: int, measure: str, liked: str | None, seed: int
) -> CrossValidation | None:
    """The error of the bias model in the same folds; None for itself and for a stream."""
    if model == "bias" or not isinstance(data, Ratings):
        return None
    return cross_validate(Bias(), data, folds, measure=measure, liked=parse_liked(liked), seed=seed)


def in_words(result: FoldErrors, baseline: FoldErrors | None) -> str:
    """The error, and how far it is from that of the bias model."""
    line = f"{result.measure} {result.error:.4f} ± {result.std_error:.4f} over {len(result.errors)} folds"
    if baseline is None:
        return f"{line}."
    side = "below" if result.error < baseline.error else "above"
    return f"{line}, {abs(1 - result.error / baseline.error):.1%} {side} the bias model ({baseline.error:.4f})."


def parse_liked(text: str | None) -> Liked:
    """A number where it is one, the usual rule where none is given; words are checked by the library."""
    if text is None:
        return "above-mean"
    try:
        return float(text)
    except ValueError:
        return cast("Liked", text)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Shows the warnings of the library, one line each, when all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)
