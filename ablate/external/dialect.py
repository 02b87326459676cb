"""The dialects of command lines: how each library that parses them writes null, switches, lists and nested keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never, get_args

from ablate.base.errors import AblateError, listed

Dialect = Literal["argparse", "hydra", "fire", "tyro", "click", "absl"]
Lists = Literal["words", "brackets", "commas"]
"""A list in a command: a word for each item; one word, [a,b]; one word, a,b."""


@dataclass(frozen=True)
class Notation:
    """The notation of a dialect."""

    modules: tuple[str, ...]
    """The modules whose import tells the dialect."""
    null: str | None
    """The text of null; None where the library has none, and leaves the option out."""
    true: str
    false: str
    lists: Lists
    nested: str
    """An example of a nested key, for people; empty where there are none."""
    switch: str
    """An example of a flag with two sides, for people; empty where there are no flags."""
    quotes_all: bool = False
    """Whether every text inside brackets is quoted."""
    parts_switches: bool = False
    """Whether a flag takes its value behind `=` alone, so that a word of its own is another argument."""


# Each line was tried with the library itself: `tests/external/test_dialect_libraries.py`.
NOTATIONS: Mapping[Dialect, Notation] = {
    # Python 3.11, docs.python.org/3/library/argparse.html: `nargs`, `BooleanOptionalAction`, and under `type` that
    # bool() makes True of every text that is not empty. Nothing converts a text to None.
    "argparse": Notation(
        modules=("argparse",),
        null=None,
        true="True",
        false="False",
        lists="words",
        nested="--a.b VALUE, where an option has that name",
        switch="--x|--no-x",
    ),
    # hydra-core 1.3.8, hydra.cc/docs/advanced/override_grammar/basic: "Primitives", "Quoted values", lists; and
    # omegaconf 2.3.1, omegaconf.readthedocs.io/en/2.3_branch/usage.html: "From a dot-list", "From command line
    # arguments". None is a text there.
    "hydra": Notation(
        modules=("hydra", "omegaconf"),
        null="null",
        true="true",
        false="false",
        lists="brackets",
        nested="a.b=VALUE",
        switch="",
    ),
    # fire 0.7.1, github.com/google/python-fire/blob/master/docs/guide.md: "Argument Parsing", "Boolean Arguments". A
    # value is a literal of Python where it can be: false, null and [a b] are texts. The second of two words is another
    # argument.
    "fire": Notation(
        modules=("fire",),
        null="None",
        true="True",
        false="False",
        lists="brackets",
        nested="--a={b:VALUE}",
        switch="--x|--nox",
        quotes_all=True,
    ),
    # tyro 1.0.17, brentyi.github.io/tyro: "Booleans and Flags", "Sequences", "Hierarchical Structures". A switch with a
    # default is a flag and takes no value; without one it takes True or False.
    "tyro": Notation(
        modules=("tyro",),
        null="None",
        true="True",
        false="False",
        lists="words",
        nested="--a.b VALUE",
        switch="--x|--no-x",
    ),
    # click 8.5.1, click.palletsprojects.com/en/stable/options: "Boolean", "Multi Value Options"; and
    # parameter-types, BOOL. Neither None nor an empty text is a number or null.
    "click": Notation(
        modules=("click",),
        null=None,
        true="true",
        false="false",
        lists="words",
        nested="",
        switch="--x|--no-x",
    ),
    # absl-py 2.5.1, abseil.io/docs/python/guides/flags: "Flag Types". After `--x false` x is true, and false another
    # argument.
    "absl": Notation(
        modules=("absl.app", "absl.flags"),
        null=None,
        true="true",
        false="false",
        lists="commas",
        nested="--a.b=VALUE, by ml_collections",
        switch="--x|--nox",
        parts_switches=True,
    ),
}
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

_PLAIN = re.compile(r"[A-Za-z_][\w.-]*")
"""A text that needs no quotes inside brackets, unless it is one of the following words."""
WORDS_OF_YAML = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"])
_MAX_DIGITS = 3
"""Digits of a width or a precision in a format."""


class Unwritten(AblateError):
    """A value for which a command has no notation."""

    def __init__(self, name: str, rule: str, hint: str) -> None:
        """`name`: the setting. `rule` and `hint`: as a problem at its place has them."""
        super().__init__(name, rule, hint)
        self.name = name
        self.rule = rule
        self.hint = hint


def described(dialect: Dialect) -> str:
    """Returns the notation of a dialect in words."""
    notation = NOTATIONS[dialect]
    null = "null has no notation" if notation.null is None else f"null is {notation.null}"
    switches = f"a switch {notation.true} or {notation.false}"
    if notation.parts_switches:
        switches += " behind ="
    if notation.switch:
        switches += f", a flag {{x:{notation.switch}}}"
    match notation.lists:
        case "words":
            lists = "a list a word for each item"
        case "brackets":
            lists = "a list [a,b]"
        case "commas":
            lists = "a list a,b"
        case _:
            assert_never(notation.lists)
    parts = [null, switches, lists]
    if notation.nested:
        parts.append(f"a nested key {notation.nested}")
    return "; ".join(parts)


def words_of(name: str, value: Any, spec: str, dialect: Dialect | None, *, is_alone: bool) -> list[str]:
    """Returns the words of a setting in a command: several for a list in some dialects, none for a flag that is off.

    spec: a format of a number; of a switch its text where it is on, or `ON|OFF`. is_alone: whether the placeholder is a
    word of its own. Raises `Unwritten` for a value without a notation, `ValueError` for a spec that does not fit it.
    """
    if isinstance(value, bool) and spec:
        return _texts_of_switch(name, value, spec)
    if spec.startswith("--") or "|" in spec:  # Which only a switch may have.
        raise ValueError(f"{{{name}:{spec}}} is a switch, and {name} is neither on nor off")
    if re.search(rf"\d{{{_MAX_DIGITS + 1}}}", spec):
        raise ValueError(f"a width or a precision has at most {_MAX_DIGITS} digits")
    if not (value is None or isinstance(value, bool | list)):
        return [format(value, spec)]
    if dialect is None:
        raise _without_dialect(name, value)

    notation = NOTATIONS[dialect]
    if value is None and notation.null is None:
        rule = f"is null, for which {dialect} has no notation, and stands as {{{name}}} in workload.command"
        hint = (
            f"Leave the option out where it is off, by `{name}: off` and {{{name}:--{name}=VALUE}}, or give a text "
            "in place of null"
        )
        raise Unwritten(name, rule, hint)
    if isinstance(value, bool) and notation.parts_switches and is_alone:
        rule = f"is {_shown(value)}, and {dialect} takes the word behind a flag for another argument"
        raise Unwritten(name, rule, f"Write --{name}={{{name}}} or {{{name}:{_flags(name, notation)}}}")
    if not isinstance(value, list):
        return [_text(value, spec, notation)]
    texts = [_text_in_list(item, spec, notation) for item in value]
    match notation.lists:
        case "words":
            return texts
        case "brackets":
            return [f"[{','.join(texts)}]"]
        case "commas":
            return [",".join(texts)]
        case _:
            assert_never(notation.lists)


def _texts_of_switch(name: str, value: bool, spec: str) -> list[str]:
    """Returns the text of a switch, or nothing, by `ON` or `ON|OFF`."""
    texts = spec.split("|")
    if len(texts) > 2:
        raise ValueError(f"{{{name}:{spec}}} has more than two sides")
    on, off = [*texts, ""][:2]
    text = on if value else off
    return [text] if text else []


def _text(value: Any, spec: str, notation: Notation) -> str:
    """Returns a value that is no list as a text."""
    if value is None:
        return str(notation.null)
    if isinstance(value, bool):
        return notation.true if value else notation.false
    return format(value, spec)


def _text_in_list(value: Any, spec: str, notation: Notation) -> str:
    """Returns an item of a list as a text. Raises `ValueError` for one that has none."""
    if isinstance(value, dict) or (isinstance(value, list) and notation.lists != "brackets"):
        raise ValueError("an item of a list is a list or a section")
    if value is None and notation.null is None:
        raise ValueError("an item of a list is null")
    if isinstance(value, list):
        return f"[{','.join(_text_in_list(item, spec, notation) for item in value)}]"
    text = _text(value, spec, notation)
    if notation.lists == "commas" and "," in text:
        raise ValueError(f"an item of a list has a comma: {text}")
    if notation.lists != "brackets" or not isinstance(value, str):
        return text
    is_plain = _PLAIN.fullmatch(text) is not None and text.lower() not in WORDS_OF_YAML
    if is_plain and not notation.quotes_all:
        return text
    if "\\" in text:
        raise ValueError(f"an item of a list has a backslash: {text}")
    return json.dumps(text, ensure_ascii=False)


def _without_dialect(name: str, value: Any) -> Unwritten:
    """Returns the error of a value that programs write in different ways, with the ways out."""
    rule = f"is {_shown(value)}, which programs write in different ways, and stands as {{{name}}} in workload.command"
    ways = f"Add `dialect: NAME` under `workload:` ({either(DIALECTS)}), "
    if isinstance(value, bool):
        ways += f"write {{{name}:--{name}|--no-{name}}} or {{{name}:--{name}}} in the command, "
    return Unwritten(name, rule, f"{ways}or give a text in place of it")


def either(words: Sequence[str]) -> str:
    """Returns words of which one is chosen: `a, b or c`."""
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _flags(name: str, notation: Notation) -> str:
    """Returns the flag of a setting with its two sides."""
    return notation.switch.replace("x", name)


def _shown(value: Any) -> str:
    """Returns a value as a study has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"the list [{listed(value, 4)}]"
