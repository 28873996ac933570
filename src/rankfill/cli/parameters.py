"""The parameters of the models as options: derived from their signatures, so that a new model brings its own."""

import inspect
import re
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from rankfill.models import MODELS, Model

MEANINGS = {
    "rank": "How many factors describe a user and an item. More fit finer tastes and need more ratings.",
    "passes": "The most passes over the ratings; with --validation it stops earlier when nothing is gained.",
    "tol": "The relative gain below which a pass counts as none; after three such passes it stops. None: never.",
    "C": "How far one rating may move a row: small is cautious. auto: found on a fifth of the ratings held out.",
    "epsilon": "Errors up to this much are left alone.",
    "slack": "How a rating may be missed: not at all, at a linear cost, at a quadratic cost.",
    "root": "How the step of an update is found: exactly, by bisection, or by a fast approximation.",
    "nonnegative": "Which factors must not be negative; non-negative items make readable topics.",
    "penalty": "Pulls factors and biases to zero. None: chosen from the number and the spread of the ratings.",
    "weighting": "Whether rows with more ratings are pulled harder: the same for all, or by count.",
    "biases": "Learn the mean rating and what each user and item adds to it.",
    "clip": "Keep predictions within the range of the ratings learned from.",
    "seed": "Of the randomness of the model.",
    "loss": "What an error costs.",
    "step": "How the step of a round is chosen.",
    "rate": "The first and largest step. Larger learns faster and, past a point, not at all.",
    "power": "How fast the steps fall when --step is power: 0 not at all, 1 fast.",
    "averaging": "Take the mean of the factors after each pass instead of the last.",
    "effects": "Which averages to use beside the mean rating.",
    "offset": "What is subtracted from the ratings first: nothing, the mean, or the effects of users and items.",
    "gap": "Stop once the objective is proved to be within this share of the best possible. None: do not ask.",
    "shrinkage": "How many ratings of the mean each average or row starts with.",
}
"""Meanings by name. A line `name: meaning` in the docstring of a model comes first."""

_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


def parameters_of(cls: type[Model]) -> dict[str, inspect.Parameter]:
    """The parameters of a model that can be written on a command line."""
    signature = inspect.signature(cls, eval_str=True)
    return {name: each for name, each in signature.parameters.items() if _kinds(each.annotation)}


def meaning_of(cls: type[Model], name: str) -> str:
    written = re.search(rf"^\s*{name}: (.+)$", cls.__doc__ or "", flags=re.MULTILINE)
    return written[1] if written else MEANINGS.get(name, "")


def with_model_parameters(verb: Callable[..., None]) -> Callable[..., None]:
    """Gives a verb that ends in `**parameters` one option for each parameter of any model."""
    own = [each for each in inspect.signature(verb).parameters.values() if each.kind is not each.VAR_KEYWORD]
    taken = {each.name for each in own}
    names = dict.fromkeys(name for cls in MODELS.values() for name in parameters_of(cls) if name not in taken)
    verb.__signature__ = inspect.Signature([*own, *map(_option, names)])  # type: ignore[attr-defined]
    return verb


def make_model(name: str, given: dict[str, Any]) -> Model:
    """The model of that name with the parameters given; None is not given."""
    takes = parameters_of(_class_of(name))
    chosen = {parameter: value for parameter, value in given.items() if value is not None}
    for parameter in chosen:
        if parameter not in takes:
            raise ValueError(
                f"the model {name} takes no {option_name(parameter)}; it takes {', '.join(map(option_name, takes))}"
            )
    return MODELS[name](**{key: _parsed(key, takes[key].annotation, value) for key, value in chosen.items()})


def parse_choices(model: str, lists: Sequence[str], ranges: Sequence[str]) -> dict[str, Any]:
    """What to try for each parameter: a list from NAME=A,B and two ends from NAME=A..B."""
    takes = parameters_of(_class_of(model))
    if not lists and not ranges:
        raise ValueError(f"say what to try, such as --grid rank=8,16; {model} takes {', '.join(takes)}")
    choices: dict[str, Any] = {}
    for option, separator, texts in (("--grid", ",", lists), ("--range", "..", ranges)):
        for text in texts:
            written, _, values = text.partition("=")
            name, parts = written.strip().replace("-", "_"), [part.strip() for part in values.split(separator)]
            if not all(parts) or (separator == ".." and len(parts) != 2):
                raise ValueError(f"{option} must be {written or 'NAME'}=A{separator}B, found {text!r}")
            if name not in takes:
                raise ValueError(f"the model {model} has no parameter {written!r}; it takes {', '.join(takes)}")
            parsed = [_parsed(name, takes[name].annotation, part) for part in parts]
            choices[name] = parsed if separator == "," else tuple(parsed)
    return choices


def _class_of(name: str) -> type[Model]:
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; choose one of {', '.join(MODELS)}")
    return MODELS[name]


def option_name(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def is_flag(parameter: str) -> bool:
    """Whether it is yes or no in every model that has it: --clip and --no-clip."""
    having = [parameters_of(cls)[parameter] for cls in MODELS.values() if parameter in parameters_of(cls)]
    return all(each.annotation is bool for each in having)


def typed(parameter: str, value: Any) -> str:
    """A parameter with its value as it is typed."""
    if is_flag(parameter):
        return option_name(parameter) if value else f"--no-{option_name(parameter)[2:]}"
    return f"{option_name(parameter)} {shown(value)}"


def shape_of(annotation: Any) -> str:
    """What may be written, for a reader: NUMBER, or none|linear|quadratic."""
    words = {int: "INTEGER", float: "NUMBER", str: "TEXT", bool: "yes|no", NoneType: "none", list: "NUMBER,NUMBER,…"}
    return "|".join(words[kind] if isinstance(kind, type) else str(kind) for kind in _kinds(annotation))


def _option(name: str) -> inspect.Parameter:
    having = {model: parameters_of(cls)[name] for model, cls in MODELS.items() if name in parameters_of(cls)}
    flag = is_flag(name)
    switch = option_name(name)
    shapes = dict.fromkeys(shape_of(each.annotation) for each in having.values())
    words = [shape.replace("|", ", ") for shape in shapes if "|" in shape and not flag]
    help_text = [
        next(filter(None, (meaning_of(MODELS[model], name) for model in having)), ""),
        *(f"One of: {each}." for each in words),
        f"[dim]\\[default: {_defaults(having)}][/dim]",
    ]
    info = typer.Option(
        f"{switch}/--no-{switch[2:]}" if flag else switch,
        metavar=None if flag else "WORD" if words else " or ".join(shapes),
        help=" ".join(help_text),
        rich_help_panel=f"Parameters of {next(iter(having)) if len(having) == 1 else 'several models'}",
        show_default=False,
    )
    kind: Any = bool if flag else str
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info]
    )


def _defaults(having: dict[str, inspect.Parameter]) -> str:
    """One value, or where models differ the value of each."""
    values = {model: shown(parameter.default) for model, parameter in having.items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} for {model}" for model, value in values.items())


def shown(value: Any) -> str:
    """A value as it is written on the command line."""
    return {True: "yes", False: "no", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)


def _kinds(annotation: Any) -> list[Any]:
    """The types and the words a parameter may take, `list` for numbers; nothing for what is not written in a word."""
    if annotation == Sequence[float]:
        return [list]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        parts = [_kinds(part) for part in get_args(annotation)]
        return [kind for part in parts for kind in part] if all(parts) else []
    return [annotation] if annotation in (int, float, str, bool, NoneType) else []


def _parsed(name: str, annotation: Any, value: Any) -> Any:
    kinds = _kinds(annotation)
    if isinstance(value, bool):
        return value
    for kind in kinds:
        if not isinstance(kind, type) and str(kind) == value:
            return kind
    if NoneType in kinds and value.lower() == "none":
        return None
    if bool in kinds and value.lower() in (*_YES, *_NO):
        return value.lower() in _YES
    for kind in (int, float, list, str):
        if kind in kinds:
            try:
                return [float(part) for part in value.split(",")] if kind is list else kind(value)
            except ValueError:
                continue
    words = {"INTEGER": "a whole number", "NUMBER": "a number"}
    shape = shape_of(annotation)
    raise ValueError(
        f"{option_name(name)} must be {words.get(shape, 'one of ' + shape.replace('|', ', '))}, found {value!r}"
    )
