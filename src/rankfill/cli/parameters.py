"""The parameters of the models as they are typed: derived from their signatures, so that a new model brings its own."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from rankfill.cli.docstrings import Entry, parse
from rankfill.cli.errors import as_options
from rankfill.models import MODELS, Model

_WIDEST = 16  # letters
_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


@cache
def parameters_of(cls: type[Model]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a model that can be written on a command line."""
    signature = inspect.signature(cls, eval_str=True)
    return {name: each for name, each in signature.parameters.items() if _kinds(each.annotation)}


def meaning_of(cls: type[Model], name: str, *, whole: bool = True) -> str:
    """The docstring's text about a parameter, or its first sentence, with options as they are typed."""
    entry = parse(cls.__doc__).entries("Parameters").get(name, Entry("", ""))
    return as_options((entry.description if whole else entry.first_sentence).replace("`", ""))


def explain(cls: type[Model], name: str) -> tuple[str, str]:
    """What may be typed for a parameter, and its meaning, which lists the words where there are many."""
    shape, meaning = shape_of(parameters_of(cls)[name].annotation), meaning_of(cls, name)
    if len(shape) <= _WIDEST:
        return shape, meaning
    return "WORD", f"{meaning} One of: {shape.replace('|', ', ')}.".lstrip()


def make_model(name: str, given: dict[str, Any]) -> Model:
    """The model of that name with the parameters given; None is not given."""
    takes = parameters_of(class_of(name))
    chosen = {parameter: value for parameter, value in given.items() if value is not None}
    for parameter in chosen:
        if parameter not in takes:
            raise ValueError(
                f"the model {name} takes no {option_name(parameter)}; it takes {', '.join(map(option_name, takes))}"
            )
    return MODELS[name](**{key: _parse(key, takes[key].annotation, value) for key, value in chosen.items()})


def parse_choices(model: str, lists: Sequence[str], ranges: Sequence[str]) -> dict[str, Any]:
    """Parses the values to try for each parameter: a list from NAME=A,B, two ends from NAME=A..B."""
    takes = parameters_of(class_of(model))
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
            parsed = [_parse(name, takes[name].annotation, part) for part in parts]
            choices[name] = parsed if separator == "," else tuple(parsed)
    return choices


def class_of(name: str) -> type[Model]:
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; choose one of {', '.join(MODELS)}")
    return MODELS[name]


def option_name(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def is_flag(parameter: str) -> bool:
    """Whether it is yes or no in every model that has it: --clip and --no-clip."""
    having = [parameters_of(cls)[parameter] for cls in MODELS.values() if parameter in parameters_of(cls)]
    return all(each.annotation is bool for each in having)


def option_text(parameter: str, value: Any) -> str:
    """A parameter with its value as it is typed."""
    if is_flag(parameter):
        return option_name(parameter) if value else f"--no-{option_name(parameter)[2:]}"
    return f"{option_name(parameter)} {value_text(value)}"


def shape_of(annotation: Any) -> str:
    """What may be written, for a reader: NUMBER, or none|linear|quadratic."""
    words = {int: "INTEGER", float: "NUMBER", str: "TEXT", bool: "yes|no", NoneType: "none", list: "NUMBER,NUMBER,…"}
    return "|".join(words[kind] if isinstance(kind, type) else str(kind) for kind in _kinds(annotation))


def value_text(value: Any) -> str:
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


def _parse(name: str, annotation: Any, value: Any) -> Any:
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
