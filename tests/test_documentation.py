"""Whatever is public is documented: every parameter with its default, every learned attribute, an example that runs.

The command line prints what the docstrings of the models say, so a gap here is a gap in `rankfill fit --help`.
"""

import ast
import dataclasses
import inspect
import re
import types
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf
from rankfill import evaluation, images, linear, plots
from rankfill.cli.docstrings import parse
from rankfill.data import datasets, synthetic

MODULES = (rf, evaluation, images, linear, plots, datasets, synthetic)
SOURCES = Path(rf.__file__).parents[1]


def public_things():
    """Every public class and function by its name, each once."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or (inspect.isclass(thing) and not isinstance(thing, types.GenericAlias)):
                found.setdefault(thing, name)
    return {name: thing for thing, name in found.items()}


def public_methods(things):
    """The methods of public classes by Class.name, where rankfill defines them."""
    found = {}
    for cls in filter(inspect.isclass, things):
        for base in cls.__mro__:
            for name, method in vars(base).items() if base.__module__.startswith("rankfill.") else ():
                function = inspect.unwrap(getattr(method, "__func__", method))
                if inspect.isfunction(function) and not name.startswith("_"):
                    found.setdefault(function, f"{base.__name__}.{name}")
    return {name: function for function, name in found.items()}


THINGS = public_things()
METHODS = public_methods(THINGS.values())


def is_record(thing):
    """Made by rankfill for a user to read, not the other way round: its fields are attributes."""
    return dataclasses.is_dataclass(thing) or (inspect.isclass(thing) and issubclass(thing, tuple))


def fields(record):
    return [each.name for each in dataclasses.fields(record)] if dataclasses.is_dataclass(record) else record._fields


def missing_parameters(thing):
    """What to add to, change in or take out of a section Parameters to agree with the signature."""
    written = parse(thing.__doc__).entries("Parameters")
    made_by_users = not (is_record(thing) or inspect.isabstract(thing))
    taken = {name: each for name, each in inspect.signature(thing).parameters.items() if made_by_users}
    taken = {name: each for name, each in taken.items() if name not in ("self", "cls")}
    for name, parameter in taken.items():
        if name not in written:
            yield f"under Parameters, add `{name} : type{default_words(parameter)}` and what it means"
            continue
        kind, description = written[name]
        if not description:
            yield f"under {name}, say what it means"
        if not states_default(kind, parameter):
            yield f"let the line of {name} end in `{default_words(parameter) or 'its type'}`, found {kind!r}"
    yield from (f"take {name} out of Parameters: there is none" for name in written if name not in taken)
    if set(taken) == set(written) and list(taken) != list(written):
        yield f"put the parameters in the order of the signature: {', '.join(taken)}"


def default_words(parameter):
    if parameter.default is parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
        return ""
    return ", optional" if parameter.default is None else f", default={parameter.default!r}".replace("'", '"')


def states_default(kind, parameter):
    _, stated, value = kind.partition("default=")
    if parameter.default is parameter.empty:
        return bool(kind) and not stated and "optional" not in kind
    if not stated:
        return kind.endswith("optional") and parameter.default in (None, ())
    try:
        return ast.literal_eval(value) == parameter.default
    except (ValueError, SyntaxError):
        return False


def missing_attributes(thing):
    """The fields of a record, and what an instance has learned."""
    written = parse(thing.__doc__).entries("Attributes")
    if is_record(thing):
        known = list(fields(thing))
    elif inspect.isclass(thing) and hasattr(thing, "fit") and not inspect.isabstract(thing):
        fitted = learn(thing)
        known = [name for name in dir(fitted) if is_learned(name) and hasattr(fitted, name)]
        yield from (f"take {each} out of Attributes: there is none" for each in written if not hasattr(fitted, each))
    else:
        known = []
    yield from (f"under Attributes, add `{name} : type` and what it is" for name in known if name not in written)
    for name, (kind, description) in written.items():
        if not (kind and description):
            yield f"under Attributes, say of {name} its type and what it is"


def is_learned(name):
    return name.endswith("_") and not name.startswith("_")


def learn(cls):
    if cls is rf.LowRankImputer:
        return cls().fit(np.random.default_rng(0).normal(size=(30, 4)))
    if cls in (linear.SparseRegression, linear.SparseClassifier):
        return cls().fit(np.eye(4), [1, 0, 1, 0])
    model = cls()
    quick = {"passes": 3, "sweeps": 3, "rank": 3, "variances": [1.0, 0.3]}
    model.set_params(**{name: value for name, value in quick.items() if name in model.get_params()})
    return model.fit(synthetic.low_rank(40, 25, n_ratings=400, rank=2, seed=0))


def missing_words(thing):
    summary = parse(thing.__doc__).summary
    if not summary.endswith((".", "?")):
        yield "begin with one line that says what it is or does, and end it with a full stop"
    if summary.startswith("Of "):
        yield "begin with a noun or a verb instead of 'Of …'"


def missing_parts(thing):
    yield from missing_words(thing)
    if ">>>" not in parse(thing.__doc__).sections.get("Examples", ""):
        yield "add a section Examples with one that runs"


def test_there_are_public_things():
    assert len(THINGS) > 40
    assert set(rf.MODELS.values()) <= set(THINGS.values())


@pytest.mark.parametrize("name", THINGS)
def test_every_public_thing_is_documented(name):
    thing = THINGS[name]
    report(name, thing, [*missing_parts(thing), *missing_parameters(thing), *missing_attributes(thing)])


@pytest.mark.parametrize("name", METHODS)
def test_every_public_method_is_documented(name):
    method = METHODS[name]
    report(name, method, [*missing_words(method), *missing_parameters(method)])


def test_no_sentence_anywhere_begins_with_of():
    """A docstring names its subject; 'Of one side' leaves the reader to look for it."""
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno}"
        for path in sorted((SOURCES / "rankfill").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and str(node.value.value)[:3] == "Of "
    ]
    assert not found, f"begin these with a noun or a verb: {', '.join(found)}"


def messages():
    """Every text in the sources, with a gap where a value is put in."""
    for path in sorted((SOURCES / "rankfill").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            if isinstance(node, ast.JoinedStr):
                yield "".join(each.value if isinstance(each, ast.Constant) else "\0" for each in node.values)


def test_messages_in_the_catalogue_of_warnings_and_errors_are_those_of_the_library():
    page = (SOURCES.parent / "docs" / "warnings.md").read_text()
    terms = re.findall(r"^(.*)\n: ", page, flags=re.MULTILINE)
    quoted = [each for term in terms for each in re.findall("`([^`]+ [^`]+)`", term)]
    assert len(quoted) >= 30
    everything = list(messages())
    unknown = []
    for message in quoted:
        parts = [part.strip(" ;:,") for part in re.split(r"<[^>]*>|…|'\d+'", message)]
        wanted = [part for part in parts if len(part) > 3]
        if not any(all(part in text for part in wanted) for text in everything):
            unknown.append(message)
    assert not unknown, "docs/warnings.md quotes what the library does not say: " + "; ".join(unknown)


def report(name, thing, problems):
    where = Path(inspect.getfile(thing)).relative_to(SOURCES)
    lines = "".join(f"\n  - {problem}" for problem in problems)
    assert not problems, f"In the docstring of {name} ({where}):{lines}"
