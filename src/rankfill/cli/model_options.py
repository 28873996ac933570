"""The parameters of the models as options of a verb, explained by the docstrings of the models.

Every parameter of every model is an option, so that one that the chosen model does not take is refused by name. Help
shows those that most models take, or with `--model NAME` all those of that model.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from rankfill.cli.parameters import explain, is_flag, meaning_of, option_name, parameters_of, value_text
from rankfill.models import MODELS

_FLAGS = ("--model", "-m")


def with_model_parameters(verb: Callable[..., None]) -> Callable[..., None]:
    """Gives a verb that ends in `**parameters` one option for each parameter of any model."""
    own = [each for each in inspect.signature(verb).parameters.values() if each.kind is not each.VAR_KEYWORD]
    taken = {each.name for each in own}
    names = dict.fromkeys(name for cls in MODELS.values() for name in parameters_of(cls) if name not in taken)
    verb.__signature__ = inspect.Signature([*own, *map(_option, names)])  # type: ignore[attr-defined]
    verb.command_class = ModelCommand  # type: ignore[attr-defined]
    return verb


class ModelCommand(TyperCommand):
    """A verb with a `--model`, whose help depends on the model that is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        model, models_taking = _model_named_in(args), _models_by_parameter()
        for name in ("seed", "liked"):  # a verb has its own, which it hands to the model
            del models_taking[name]
        for option in self.params:
            if option.name in models_taking:
                _explain(option, model, models_taking[option.name])
        if model is not None:  # its parameters in the order of its signature, after the verb's own
            order = [name for name in parameters_of(MODELS[model]) if name in models_taking]
            self.params.sort(key=lambda option: order.index(option.name) if option.name in order else -1)
        return super().parse_args(ctx, args)


def _option(name: str) -> inspect.Parameter:
    switch, flag = option_name(name), is_flag(name)
    info = typer.Option(f"{switch}/--no-{switch[2:]}" if flag else switch, show_default=False)
    kind: Any = bool if flag else str
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info]
    )


def _explain(option: Any, model: str | None, taking: list[str]) -> None:
    """Writes the help of an option for one model, or for all of those taking it."""
    if model is None:
        option.hidden = 5 * len(taking) < 2 * len(MODELS)
        option.rich_help_panel = "Parameters of many models; --model NAME --help shows all those of one"
        defaults = {value_text(parameters_of(MODELS[each])[option.name].default) for each in taking}
        metavars = {explain(MODELS[each], option.name)[0] for each in taking}
        meaning = meaning_of(MODELS[taking[0]], option.name, whole=False)
    else:
        option.hidden = model not in taking
        if option.hidden:
            return
        option.rich_help_panel = f"Parameters of {model}; rankfill models {model} explains the model"
        defaults = {value_text(parameters_of(MODELS[model])[option.name].default)}
        metavar, meaning = explain(MODELS[model], option.name)
        metavars = {metavar}
    if not is_flag(option.name):
        option.metavar = metavars.pop() if len(metavars) == 1 else "VALUE"
    default = defaults.pop() if len(defaults) == 1 else "depends on the model"
    option.help = f"{escape(meaning)} [dim]\\[default: {default}][/dim]".lstrip()


def _models_by_parameter() -> dict[str, list[str]]:
    takes: dict[str, list[str]] = {}
    for model, cls in MODELS.items():
        for name in parameters_of(cls):
            takes.setdefault(name, []).append(model)
    return takes


def _model_named_in(args: Sequence[str]) -> str | None:
    """The model that a command line names last, where there is such a model."""
    named = None
    for position, argument in enumerate(args):
        flag, equals, value = argument.partition("=")
        if flag in _FLAGS:
            named = value if equals else "".join(args[position + 1 : position + 2])
    return named if named in MODELS else None
