"""One case of the campaign: its folder, what it does there, and what it found."""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .process import ROOT, SLOWEST_REFUSAL, Done, Started

MOST_PATIENCE = 6
"""How often its time a command may take on a machine that others use."""
OUTCOMES = ("refused", "accepted", "recovered")
BIDIRECTIONAL = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u200e", "\u200f"}


class Skipped(Exception):
    """This machine, or this user, cannot do what the case asks for; the message says why."""


@dataclass
class Place:
    """The folder of one case and of what it shares with others, and the violations that it has found."""

    path: Path
    "Empty; removed when the case is over."
    shared: Shared
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    "What the case did beside being one case, such as kills."
    heard: list[str] = field(default_factory=list)
    "Each command, its exit code and what it printed."

    def violation(self, text: str) -> None:
        """Notes that an invariant does not hold."""
        self.violations.append(text)

    def start(self, *arguments: object, **options: object) -> Started:
        """Starts `ablate` with these arguments in the folder of the case; see `Started`."""
        options.setdefault("cwd", self.path)
        return Started([str(argument) for argument in arguments], **options)  # type: ignore[arg-type]

    def ablate(
        self, *arguments: object, limit: float = 60, slowest: float = SLOWEST_REFUSAL, **options: object
    ) -> Done:
        """Runs `ablate` to its end, and holds it to the invariants of every command."""
        done = self.start(*arguments, **options).wait(limit)
        if arguments[0] == "plan" and done.code != 0 and done.seconds > slowest:
            # Once more: the machine may have been busy.
            done = self.start(*arguments, **options).wait(limit)
        return self.hold(done, slowest=slowest)

    def hold_quick(
        self, started: Started, slowest: float, codes: tuple[int, ...], own_code: bool = False
    ) -> Done:
        """Waits for a command that has little to do, and holds it to an end in time, longer on a busy machine."""
        others = os.getloadavg()[0] / (os.cpu_count() or 1)
        patience = slowest * min(MOST_PATIENCE, max(1.0, others))
        return self.hold(started.wait(patience), codes, slowest=patience, own_code=own_code)

    def hold_struck(self, done: Done, codes: tuple[int, ...], own_code: bool = False) -> Done:
        """Notes what a command may not do that was sent a signal: go on, show a traceback."""
        if done.code in (-9, -15, -2):
            # It had no chance of a word.
            self.heard.append(f"$ ablate {' '.join(done.arguments)}\n[{done.code}]\n{done.output}")
            if _shows_traceback(done.output, own_code):
                self.violation(f"a traceback after a signal: {done.output[-300:]!r}")
            if done.code not in codes:
                self.violation(f"ended with {done.code} after a signal: {done.output[-300:]!r}")
            return done
        return self.hold(done, codes, own_code=own_code)

    def hold(
        self,
        done: Done,
        codes: tuple[int, ...] = (0, 1, 2),
        slowest: float = SLOWEST_REFUSAL,
        own_code: bool = False,
    ) -> Done:
        """Notes what no command may do: hang, crash, show a traceback, refuse late or without a word.

        own_code: whether the tracebacks of a user's program may be shown.
        """
        self.heard.append(
            f"$ ablate {' '.join(done.arguments)}\n[{done.code}, {done.seconds:.1f} s]\n{done.output}"
        )
        said = f"`ablate {' '.join(done.arguments)}`"[:300]
        if done.code is None:
            self.violation(f"{said} did not end within {done.seconds:.0f} s")
            return done
        if _shows_traceback(done.output, own_code):
            last = [line for line in done.output.splitlines() if line.strip()][-1]
            self.violation(f"{said}: traceback: {last[:300]}")
        elif done.code not in codes:
            self.violation(f"{said} ended with {done.code}: {done.output[-300:]!r}")
        elif not done.output.strip():
            self.violation(f"{said} ended with {done.code} and without a word")
        if done.refused and done.seconds > slowest:
            self.violation(f"{said}: refused after {done.seconds:.0f} s: {done.output.strip()[:200]!r}")
        if strange := {c for c in done.output if c not in "\n\t" and (ord(c) < 32 or 127 <= ord(c) < 160)}:
            self.violation(f"{said}: control characters {sorted(strange)} reach the terminal")
        if strange := BIDIRECTIONAL & set(done.output):
            self.violation(f"{said}: bidirectional characters {sorted(strange)} reach the terminal")
        return done


def _shows_traceback(text: str, own_code: bool) -> bool:
    """Whether there is a traceback; of a user's program, one that does not end in the program."""
    if not own_code:
        return "Traceback (most recent call last)" in text
    return bool(re.search(rf'File "{re.escape(str(ROOT / "ablate"))}/(?!external/runner\.py)', text))


Attack = Callable[[random.Random, Place], str]


@dataclass
class Kind:
    """A kind of attack, and the number of its cases in a whole campaign."""

    name: str
    attack: Attack
    cases: int


class Shared:
    """What cases have in common and is made once: reference tables, and results to be damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: dict[str, object] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def once(self, name: str, make: Callable[[Path], object]) -> object:
        """What `make` returns, given an empty folder that stays; made by whoever asks first."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                folder = self.path / name
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                self._made[name] = make(folder)
            return self._made[name]


@dataclass
class Result:
    """What became of one case."""

    kind: str
    number: int
    outcome: str = ""
    "One of OUTCOMES; empty where it was skipped or broke."
    skipped: str = ""
    violations: list[str] = field(default_factory=list)
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
