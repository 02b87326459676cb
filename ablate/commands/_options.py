"""The fields of dataclasses as options of the command line, and as keywords in Python."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import click

from ablate.base.errors import listed, nearest
from ablate.session.option import Option, options_in, read_options

P = ParamSpec("P")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
OptionsT = TypeVar("OptionsT")
Subject = TypeVar("Subject")
Result = TypeVar("Result")

_WIDTH = 110
"""The most characters of a line of a docstring."""


def options_of(kind: type, *names: str, **otherwise: Any) -> Callable[[Decorated], Decorated]:
    """Returns a decorator that adds the click options of these fields of a dataclass; without names, all of them.

    otherwise: what a command says otherwise of them, such as its own `help`.
    """
    unknown = {*names} - {*options_in(kind)}
    assert not unknown, f"{kind.__name__} has no option {listed(unknown)}"

    def decorate(command: Decorated) -> Decorated:
        # click shows the option that is added last first.
        for name, declared in reversed([*_in_order(options_in(kind))]):
            if declared.flag is not None and (name in names or not names):
                flag = declared.flag or f"--{name.replace('_', '-')}"
                settings = {"help": declared.help, **declared.click, **otherwise}
                command = click.option(flag, name, **settings)(command)
        return command

    return decorate


def _in_order(options: Mapping[str, Option]) -> Iterator[tuple[str, Option]]:
    """Yields options by name, each behind the one that it names, if any."""
    for name, declared in options.items():
        if not declared.after:
            yield name, declared
        for later, follower in options.items():
            if follower.after == name:
                yield later, follower


def in_python(
    make: Callable[P, OptionsT],
) -> Callable[[Callable[[Subject, OptionsT], Result]], Callable[Concatenate[Subject, P], Result]]:
    """Returns a decorator that gives a function the fields of its options as keywords: `analyse(runs, metric="loss")`.

    Its signature and the lines of its docstring come from the fields. An unknown keyword is a `TypeError` that names
    the nearest.
    """

    def decorate(act: Callable[[Subject, OptionsT], Result]) -> Callable[Concatenate[Subject, P], Result]:
        def function(*subject: Subject, **keywords: Any) -> Result:
            refuse_unknown(function, keywords)
            arguments = signature.bind(*subject, **keywords).arguments
            return act(arguments.pop(first.name), read_options(make, arguments))

        first = next(iter(inspect.signature(act).parameters.values()))
        signature = inspect.Signature(
            [first, *_keywords(make)], return_annotation=act.__annotations__["return"]
        )
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.__name__ = function.__qualname__ = act.__name__
        function.__module__ = act.__module__
        function.__doc__ = _docstring(act.__doc__ or "", options_in(cast(type, make)))
        return cast(Callable[Concatenate[Subject, P], Result], function)

    return decorate


def _keywords(make: Callable[..., object]) -> Iterator[inspect.Parameter]:
    """Yields the parameters of a dataclass that are options."""
    for each in fields(cast(Any, make)):
        if each.name in options_in(cast(type, make)):
            default = each.default if each.default_factory is MISSING else each.default_factory()
            yield inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=each.type
            )


def _docstring(text: str, options: Mapping[str, Option]) -> str:
    """Returns the docstring of a function, with a line on each option."""
    lines = [text.rstrip()]
    for name, declared in options.items():
        line = f"{name}: {declared.in_python}"
        lines.append(textwrap.fill(line, _WIDTH, initial_indent="    ", subsequent_indent="        "))
    return "\n".join(lines) + "\n    "


def refuse_unknown(function: Callable[..., object], keywords: Mapping[str, object]) -> None:
    """Raises `TypeError` for a keyword that a function does not have, with the nearest that it has."""
    parameters = inspect.signature(function).parameters
    unknown = [name for name in keywords if name not in parameters]
    if unknown:
        known = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
        hint = nearest(unknown[0], known) or f"It has {listed(known, len(known))}"
        raise TypeError(f"{function.__name__}() has no keyword {unknown[0]!r}. {hint}")
