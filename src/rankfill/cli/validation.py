"""What `tune` and `cross-validate` have in common: options, the model asked for, the ratings as they are to be read."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from rankfill.cli.parameters import make_model, parameters_of
from rankfill.cli.shared import console, described, note, parse_columns
from rankfill.data import Ratings, read_batches, read_ratings
from rankfill.data.batches import FileBatches
from rankfill.data.ratings import Duplicates
from rankfill.evaluation import CrossValidation, cross_validate
from rankfill.evaluation.fold_errors import FoldErrors
from rankfill.models import MODELS, Bias, Model
from rankfill.objectives.measures import Measure

RatingsFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="RATINGS", help="One rating a line: .csv, .tsv, .dat (::), gzipped, or .parquet.")
]
ModelName: TypeAlias = Annotated[
    str, typer.Option("--model", "-m", metavar="NAME", help=f"Which model: {', '.join(MODELS)}.")
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
    Measure | None, typer.Option(help="The error to go by; the model's own by default.", show_default=False)
]
Repeats: TypeAlias = Annotated[
    Duplicates, typer.Option(help="What to do when a user rates an item twice: refuse, or keep which.")
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Of all randomness: the folds and the start of the model.")]


def asked_model(name: str, parameters: dict[str, Any], seed: int, stream: bool) -> tuple[Model, int | None]:
    """The model with its parameters, and for a stream how often it is to be read."""
    reads = None
    if stream:
        text = parameters.pop("passes") or "1"
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"--passes must be a whole number of at least 1, found {text!r}")
        reads = int(text)
    takes_seed = name in MODELS and "seed" in parameters_of(MODELS[name])
    return make_model(name, parameters | ({"seed": seed} if takes_seed else {})), reads


def open_ratings(path: Path, columns: str | None, duplicates: Duplicates, stream: bool) -> Ratings | FileBatches:
    names = parse_columns(columns)
    if stream:
        return read_batches(path, names, duplicates=duplicates)
    return read_ratings(path, columns=names, duplicates=duplicates, timestamps=duplicates in ("first", "last"))


def introduce(path: Path, data: Ratings | FileBatches) -> None:
    """One line on what was read; of a stream nothing is known yet."""
    if isinstance(data, Ratings):
        console().print(described(path.name, data), end="\n\n")


def bias_errors(
    model: str, data: Ratings | FileBatches, folds: int, measure: Measure, seed: int
) -> CrossValidation | None:
    """What the bias model misses in the same folds; None for itself and for a stream."""
    if model == "bias" or not isinstance(data, Ratings):
        return None
    return cross_validate(Bias(), data, folds, measure=measure, seed=seed)


def in_words(result: FoldErrors, baseline: FoldErrors | None) -> str:
    """The error, and how far it is from that of the bias model."""
    line = f"{result.measure} {result.error:.4f} ± {result.std_error:.4f} over {len(result.errors)} folds"
    if baseline is None:
        return f"{line}."
    side = "below" if result.error < baseline.error else "above"
    return f"{line}, {abs(1 - result.error / baseline.error):.1%} {side} the bias model ({baseline.error:.4f})."


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """What the library warns of, in a line each once all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)
