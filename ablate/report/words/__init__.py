"""All sentences: a Jinja macro for each code, in a file for each subject beside this one.

Templates hold words, lists and plurals, and no rule: what is said is decided where `say` is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ablate.base import wording
from ablate.core.reason import Reason
from ablate.core.short_names import with_name
from ablate.report.tables import difference

MAX_NAMES = 8
"""The most variants that a sentence names; the table has all."""


def say(code: str, *values: Any, **named: Any) -> str:
    """The words of `file.macro` for these values, as one line.

    >>> say("reasons.few", n=1, least=2)
    'only 1 seed; it takes 2'
    """
    file, _, name = code.partition(".")
    found = getattr(_module(file), name)(*values, **named)
    return re.sub(r" ([,;)]|\.(?=\s|$))", r"\1", re.sub(r"[ \n]+", " ", found)).strip()


def because(reason: str, *, short: bool = False) -> str:
    """A reason in the form that tables keep, `code name=number …`, in words; an older table has the words itself."""
    found = Reason.parse(reason)
    if found is None:
        return reason
    numbers = {name: int(value) if value.is_integer() else value for name, value in found.numbers.items()}
    file = "inconclusive" if short and found.code in codes("inconclusive") else "reasons"
    return say(f"{file}.{found.code}", **numbers)


def codes(file: str) -> set[str]:
    """The codes that a file has words for."""
    return {name for name in vars(_module(file)) if not name.startswith("_")}


def some(words: Iterable[str], most: int = MAX_NAMES) -> str:
    """`a, b and 3 more`."""
    every = list(words)
    rest = [f"{len(every) - most} more"] if len(every) > most else []
    return wording.joined([*every[:most], *rest])


@cache
def _module(file: str) -> ModuleType:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "counted": lambda count, noun, ending="s": f"{count} {noun}{ending if count != 1 else ''}",
        "exact": wording.exact,
        "significant": wording.significant,
        "brief": wording.brief,
        "rate": lambda share: wording.exact(round(share, 2)),
        "number": wording.number,
        "percent": wording.in_percent,
        "change": wording.percent,
        "duration": wording.duration,
        "difference": difference,
        "joined": lambda words: wording.joined([str(word) for word in words]),
        "some": some,
        "with_name": with_name,
        "level": level,
        "grouped": lambda count: f"{count:,.0f}",
    }
    found: Any = environment.get_template(f"{file}.j2").module
    return found


def level(alpha: float) -> str:
    """`95 %`, `99.3 %`: the level of an interval at 1 − `alpha`."""
    shown = f"{100 * (1 - alpha):.4g}" if alpha < 0.001 else f"{100 * (1 - alpha):.3g}"
    return f"{shown} %"
