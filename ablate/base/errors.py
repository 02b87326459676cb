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

NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda self: "nothing"})()


class AblateError(Exception):
    """Base of every error that a user can cause; `exit_code` is that of the command line."""

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
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        said = ": ".join(filter(None, (where, dotted_path(self.path), self.rule)))
        given = "" if self.given is NOT_GIVEN else f"given {shown(self.given)}"
        allowed = self.allowed and f"allowed: {self.allowed}"
        return ". ".join(filter(None, ("; ".join(filter(None, (said, given, allowed))), self.hint)))


class Invalid(AblateError):
    """Problems that were found below some path; parts raise it with a path relative to themselves."""

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
        return Invalid.many(replace(p, path=(*path, *p.path)) for p in self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class StudyError(AblateError):
    """All the mistakes in a study, at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(unique(problems), key=lambda problem: (problem.source, problem.line or 0))
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = counted(len(self.problems), "problem")
        lines = [f"  {problem}" for problem in self.problems]
        return "\n".join([f"{count} in the study; nothing was written or trained:", *lines])


class StoreError(AblateError):
    """The results folder cannot be used (full, read-only, not a folder)."""

    exit_code = 1


@dataclass
class Gather:
    """Runs several steps that may each be `Invalid` and raises all their problems as one.

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
        """Collects what is `Invalid` inside, with `path` in front."""
        try:
            yield
        except Invalid as error:
            self.problems += error.under(*path).problems

    def refuse(
        self, fault: object, field: str, rule: str, given: Any = NOT_GIVEN, allowed: str = "", hint: str = ""
    ) -> None:
        """Collects the problem that the other arguments describe, as `Invalid` takes them, where `fault` is true."""
        if fault:
            self.problems += Invalid(field, rule, given, allowed, hint).problems

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.problems and kind is None:
            raise Invalid.many(self.problems)


def unique(problems: Iterable[Problem]) -> list[Problem]:
    """Returns `problems` without repetitions (the same mistake is often found once per layer)."""
    return list({str(problem): problem for problem in problems}.values())


def dotted_path(path: Iterable[str | int]) -> str:
    """Writes `("seeds", 0, "x")` as `seeds[0].x`; a name that itself holds dots stays readable."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
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
    """Returns the message of an error in a line, and the file and last line of `files` that led to it, None without."""
    said, frames = str(error), traceback.extract_tb(error.__traceback__)
    places = [(frame.filename, frame.lineno) for frame in frames if frame.filename in files]
    if isinstance(error, SyntaxError) and error.filename in files:
        said, places = error.msg, [(error.filename, error.lineno)]
    first = (said.strip().splitlines() or [""])[0][:300]
    return f"{type(error).__name__}: {first}".removesuffix(": "), *(places[-1] if places else (None, None))
