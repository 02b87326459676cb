"""An option, declared once: a field of a dataclass, which the command line and Python take alike.

`commands/_options.py` makes the click options and the keywords in Python of the fields.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import click

from ablate.base.errors import Gather, Invalid, listed
from ablate.base.numerals import Domain
from ablate.session.option_types import NumberType

Default = TypeVar("Default")
OptionsT = TypeVar("OptionsT")
Reader = Callable[[Any], Any]
"""Makes the value of a field of what click has parsed, or Python gives; may raise `Invalid`."""

_OPTION = "option"


@dataclass(frozen=True)
class Option:
    """The declaration of an option, in the metadata of a field."""

    flag: str | None
    """The flag on the command line; empty: the name of the field; None: the command line has no such option."""
    help: str
    in_python: str
    domain: Domain | None
    choices: Sequence[str]
    texts: bool
    read: Reader
    report: bool
    after: str
    click: Mapping[str, Any]

    def check(self, name: str, value: Any, kind: Any) -> None:
        """Raises `Invalid` for a value of the field of that name, and of that kind, that the option does not take."""
        if value is None and _fits(value, kind):
            return
        if self.domain is not None:
            self.domain.check(name, value)
        if self.choices and value not in self.choices:
            raise Invalid(name, "must be one of these", value, listed(self.choices))
        if self.click.get("is_flag") and not isinstance(value, bool):
            raise Invalid(name, "must be true or false", value)
        if self.texts and not are_texts(value):
            raise Invalid(name, "must be a list of texts", value)
        if not _fits(value, kind):
            kinds = [_KINDS[part] for part in _alternatives(kind) if part in _KINDS]
            raise Invalid(name, f"must be {' or '.join(kinds) or 'a mapping of texts'}", value)


_KINDS: Mapping[object, str] = {str: "a text", Path: "a path", NoneType: "None"}
"""The kinds of values that neither a domain nor choices tell, in words."""


def _alternatives(kind: Any) -> Sequence[Any]:
    """Returns the kinds of which a value has one."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _fits(value: object, kind: Any) -> bool:
    """Returns whether a value is of the kind of a field; numbers and lists are told by what the option declares."""
    alternatives = _alternatives(kind)
    if len(alternatives) > 1:
        return any(_fits(value, alternative) for alternative in alternatives)
    if get_origin(kind) is Mapping:
        _, of_values = get_args(kind)
        return isinstance(value, Mapping) and all(_fits(one, of_values) for one in value.values())
    if kind is Path:
        return isinstance(value, os.PathLike)
    if kind in _KINDS:
        return isinstance(value, kind)
    return value is not None


def option(
    default: Default,
    help: str,
    /,
    *,
    flag: str | None = "",
    in_python: str = "",
    domain: Domain | None = None,
    choices: Sequence[str] = (),
    texts: bool = False,
    read: Reader | None = None,
    report: bool = False,
    after: str = "",
    **click_settings: Any,
) -> Default:
    """Makes a field that is an option of the command line, and a keyword in Python.

    The order of the fields is that of the options in `--help`. A field that is true or false is a flag.

    flag: where it is not the name of the field with dashes; None where the command line has no such option.
    help: the text on it. in_python: the text in Python, where values are written otherwise there.
    domain, choices: the numbers or words that either way takes.
    texts: whether it is a list of texts, of which one may stand alone; on the command line it may be repeated.
    read: makes the value of what is given.
    report: whether it changes the report of a document. Then it is in the name of the report's folder, and in
        the digest by which a report is known to be up to date, as is what `--set` and `--seeds` change of the document.
    after: the field that it follows in `--help`, where a class adds it to the fields of another.
    click_settings: of the click option.
    """
    settings = dict(click_settings)
    if isinstance(default, (str, int, float, Path)):
        settings.setdefault("default", default)
    if isinstance(default, bool):
        settings["is_flag"] = True
    if domain is not None:
        settings["type"] = NumberType(domain)
    if choices:
        settings["type"] = click.Choice(choices)
    if texts:
        settings.setdefault("multiple", True)
    declared = Option(
        flag=flag,
        help=help,
        in_python=in_python or help,
        domain=domain,
        choices=choices,
        texts=texts,
        read=read or (as_texts if texts else as_given),
        report=report,
        after=after,
        click=settings,
    )
    metadata = {_OPTION: declared}
    if isinstance(default, dict):
        return cast(Default, field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)


def options_in(kind: type) -> dict[str, Option]:
    """Returns the name of each field of a dataclass that is an option → what it declares."""
    options: dict[str, Option] = {}
    for each in fields(kind):
        if _OPTION in each.metadata:
            options[each.name] = each.metadata[_OPTION]
    return options


def check_options(options: object) -> None:
    """Raises `Invalid` for values that their options do not take; for `__post_init__`, which Python passes too."""
    with Gather() as at:
        kinds = get_type_hints(type(options))
        for name, declared in options_in(type(options)).items():
            with at():
                declared.check(name, options.__dict__[name], kinds[name])


def read_options(make: Callable[..., OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """Returns options from values by name, each read as its field declares. Raises `Invalid` with all mistakes."""
    readers = {name: declared.read for name, declared in options_in(cast(type, make)).items()}
    values: dict[str, Any] = {}
    with Gather() as at:
        for name, value in given.items():
            with at():
                values[name] = readers.get(name, as_given)(value)
    return make(**values)


def as_given(value: Any) -> Any:
    """Returns a value as it is."""
    return value


def are_texts(given: object) -> bool:
    """Returns whether something is a list, or a tuple, of texts."""
    return isinstance(given, list | tuple) and all(isinstance(text, str) for text in given)


def as_texts(given: str | Iterable[str]) -> Sequence[str]:
    """Returns one text, or several, as a tuple; what is neither comes back as it is, to be refused."""
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, Iterable) else given


def as_path(given: object, name: str) -> Path:
    """Returns the path that an argument of that name gives. Raises `Invalid` for what is none."""
    if not isinstance(given, str | os.PathLike) or not str(given) or "\0" in str(given):
        raise Invalid(name, "must be the path of a file or folder, as text or a `Path`", given)
    return Path(given)


def pairs_in(given: object, name: str) -> list[tuple[Any, Any]]:
    """Returns the pairs of a mapping or of a list of pairs; none for None. Raises `Invalid` for anything else.

    name: of the option, in the refusal.
    """
    if given is None:
        return []
    pairs: Any = [*given.items()] if isinstance(given, Mapping) else given
    is_list = isinstance(pairs, list | tuple)
    if not is_list or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise Invalid(name, 'must be a mapping, such as {"NAME": "VALUE"}', given)
    return [(first, second) for first, second in pairs]


def pairs_by_name(flag: str, rule: str) -> Reader:
    """Returns a reader that makes a dict of a mapping or of pairs, and refuses anything else.

    It raises `Invalid` with the `rule` for a name that is given twice. flag: of the option.
    """

    def by_name(given: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> dict[str, Any]:
        pairs = pairs_in(given, flag.removeprefix("--").replace("-", "_"))
        names = [name for name, _ in pairs]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise Invalid(flag, rule, listed(repeated))
        return dict(pairs)

    return by_name
