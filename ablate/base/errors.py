"""The errors that a user can cause: each says where, the rule, what was given, what is allowed, what to do next."""

from __future__ import annotations

import difflib
import json
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.base.wording import counted


class _NotGiven:
    """The mark of a problem that is about no value."""

    def __repr__(self) -> str:
        return "nothing"


NOT_GIVEN: Any = _NotGiven()


class AblateError(Exception):
    """The base of every error that a user can cause; `exit_code` is that of the command line."""

    exit_code = 2


@dataclass(frozen=True)
class Problem:
    """A mistake in an input."""

    rule: str  # What must hold, as a sentence without its subject: `must divide d_model = 32`.
    path: tuple[str | int, ...] = ()  # Where, from the root of the study or, inside a part, from the part.
    given: Any = NOT_GIVEN
    allowed: str = ""
    hint: str = ""  # What to do next, for instance the nearest valid name.
    line: int | None = None  # 1-based line in the study file.
    source: str = ""  # File, or option of the command line.

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        rule = ": ".join(filter(None, [place, dotted_path(self.path), self.rule]))
        given = "" if self.given is NOT_GIVEN else f"given {shown(self.given)}"
        allowed = f"allowed: {self.allowed}" if self.allowed else ""
        sentence = "; ".join(filter(None, [rule, given, allowed]))
        return ". ".join(filter(None, [sentence, self.hint]))


class Invalid(AblateError):
    """The problems of an input below some path; parts raise it with a path relative to themselves."""

    def __init__(
        self, field: str, rule: str, given: Any = NOT_GIVEN, allowed: str = "", hint: str = ""
    ) -> None:
        path: tuple[str | int, ...] = tuple(field.split(".")) if field else ()
        self.problems: list[Problem] = [Problem(rule, path, given, allowed, hint)]
        super().__init__(field, rule)

    @classmethod
    def many(cls, problems: Iterable[Problem]) -> Invalid:
        """Returns one error that carries all `problems`."""
        error = cls("", "")
        error.problems = unique(problems)
        return error

    def under(self, *path: str | int) -> Invalid:
        """Returns the same problems with `path` in front of theirs."""
        return Invalid.many(replace(problem, path=(*path, *problem.path)) for problem in self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class StudyError(AblateError):
    """The mistakes in a study, all at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(unique(problems), key=lambda problem: (problem.source, problem.line or 0))
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = counted(len(self.problems), "problem")
        lines = [f"  {problem}" for problem in self.problems]
        return "\n".join([f"{count} in the study; nothing was written or trained:", *lines])


class StoreError(AblateError):
    """A results folder that cannot be used: full, read-only, or not a folder."""

    exit_code = 1


@dataclass
class Gather:
    """A collector of problems, which at the end of its block raises all of them as one `Invalid`.

    >>> with Gather() as at:
    ...     at.refuse(d_model % num_heads, "num_heads", f"must divide d_model = {d_model}", num_heads)
    ...     with at("norm"):
    ...         norm = config.norm.build(sizes)
    """

    problems: list[Problem] = field(default_factory=list)

    def __enter__(self) -> Gather:
        return self

    @contextmanager
    def __call__(self, *path: str | int) -> Iterator[None]:
        """Collects the problems of an `Invalid` that its block raises, with `path` in front of theirs."""
        try:
            yield
        except Invalid as error:
            self.problems += error.under(*path).problems

    def refuse(
        self, fault: object, field: str, rule: str, given: Any = NOT_GIVEN, allowed: str = "", hint: str = ""
    ) -> None:
        """Collects a problem where `fault` is true; the other arguments are those of `Invalid`."""
        if fault:
            self.problems += Invalid(field, rule, given, allowed, hint).problems

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.problems and kind is None:
            raise Invalid.many(self.problems)


def unique(problems: Iterable[Problem]) -> list[Problem]:
    """Returns problems without repetitions; the same mistake is often found once per layer."""
    return list({str(problem): problem for problem in problems}.values())


def dotted_path(path: Iterable[str | int]) -> str:
    """Returns `seeds[0].x` for `("seeds", 0, "x")`; a name that itself holds dots stays readable."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def nearest(name: object, names: Iterable[str]) -> str:
    """Returns `Did you mean 'x'?` for the valid name nearest to `name`, or nothing."""
    close = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.51)
    return f"Did you mean {close[0]!r}?" if close else ""


def listed(names: Iterable[object], limit: int = 12) -> str:
    """Returns `a, b, c` of at most `limit` names, and how many more there are."""
    texts = [str(name) for name in names]
    more = len(texts) - limit
    return ", ".join(texts[:limit]) + (f" and {more} more" if more > 0 else "")


def shown(value: Any, limit: int = 80) -> str:
    """Returns a value as an error message shows it: as YAML, its middle left out beyond `limit` characters."""
    text = _flow(value) if isinstance(value, (dict, list)) else repr(value)
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[half + 1 - limit :]}"


def _flow(value: Any) -> str:
    """Returns a value in YAML's flow style: `{float: [0.1, 1], log: true}`."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def described(error: BaseException, *files: str) -> tuple[str, str | None, int | None]:
    """Returns an error's type and message in one line, and the file and line that led to it.

    The file is one of `files`, and the line the last one there; both are None where the error came from elsewhere.
    """
    message = str(error)
    file: str | None = None
    line: int | None = None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename in files:
            file = frame.filename
            line = frame.lineno
    if isinstance(error, SyntaxError) and error.filename in files:
        message = error.msg
        file = error.filename
        line = error.lineno
    first = next(iter(message.strip().splitlines()), "")[:300]
    return f"{type(error).__name__}: {first}".removesuffix(": "), file, line
