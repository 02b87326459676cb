"""A user's own training code whose source, output, files, children or settings are hostile; run, killed, run again.

Each program notes what it was given and what it printed: a record's metric is what was printed for its setting and
seed.
"""

import ast
import json
import math
import subprocess
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from .case import Place
from .intervals import close, paired
from .mutations import names
from .process import Done, Started
from .programs import Program, program
from .repositories import GIT, mark_of
from .signals import CODES, struck
from .survivors import VARIABLE, survivors
from .values import ODD, changed

SLOWEST = 15
"""Seconds of a run whose trials take none, on an idle machine."""
TIME = 3
"""Seconds that a trial may take where it may hang."""
LEVELS = (0.1, 0.2)
SEEDS = 2
READS = (
    r"^(a+)+$",
    r"loss (\S+)",
    "(.)",
    "()",
    "(loss)",
    r"(?P<x>\S+)$",
    r"loss\s*(.*)",
    "(" * 200 + ")" * 200,
    r"(\S+",
)
"""Patterns, one of which takes for ever, and some of which match what is no number."""


@dataclass
class Case:
    """The study of one case, its program, and the files in which it is watched."""

    place: Place
    program: Program
    mark: str
    ledger: Path
    study: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the setting."""
        return "X" if self.program.form == "script" else "x"

    def start(self, *words: object, cold: bool = False) -> Started:
        """Starts `ablate`, without MLflow."""
        environment = {VARIABLE: self.mark, "ABLATE_TRACKING": "off"} | GIT
        return self.place.start(*words, cold=cold, environment=environment)

    def hold(self, *words: object) -> Done:
        """Runs `ablate` to its end, and looks for what survives it."""
        slowest = SLOWEST + (2 * SEEDS * len(LEVELS) * TIME if self.may_hang else 0)
        done = self.place.hold_quick(self.start(*words), slowest, codes=(0, 1, 2), own_code=True)
        self.look_for_survivors(f"after `{words[0]}`")
        return done

    def jobs(self, rng: Random) -> int:
        """How many workers: one where what the program prints may not be shown as it is."""
        return 1 if self.program.prints_control else rng.choice((0, 0, 2))

    @property
    def may_hang(self) -> bool:
        """Whether trials have a limit of time."""
        return "resources" in self.study["workload"]

    def look_for_survivors(self, when: str) -> None:
        """Notes the processes that outlive a command."""
        if left := survivors(self.mark):
            self.place.violation(f"{when}: {len(left)} processes survive: {left[0][:100]!r}")

    def noted(self, word: str) -> list[list[Any]]:
        """What the program has noted under a word."""
        text = self.ledger.read_text() if self.ledger.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line[1:] for line in lines if line[0] == word]

    def begun(self) -> Counter[tuple[float, int]]:
        """How often each setting and seed has begun."""
        return Counter((x, seed) for x, _, seed in self.noted("begin"))

    def records(self) -> dict[tuple[float, int], Mapping[str, Any]]:
        """The stored record of each setting and seed."""
        found = {}
        for path in (self.place.path / "results" / "store" / "trials").glob("[!.]*.json"):
            data = json.loads(path.read_text())
            x = data["config"]["config"].get(self.key)
            found[x, data["seed"]] = data
        return found

    def finished(self) -> set[tuple[float, int]]:
        """The settings and seeds that have completed."""
        return {run for run, record in self.records().items() if record["status"] == "completed"}


def own(rng: Random, place: Place) -> str:
    """One program, in one of several ways."""
    ledger = place.path.parent / "noted.txt"
    mark = mark_of(rng)
    case = Case(place, program(rng, ledger, mark), mark, ledger)
    case.study = _study(rng, case.program)
    way = rng.choices(("run", "killed", "mutated"), (6, 2, 2))[0]
    if rng.random() < 0.5:
        place.path.joinpath(".gitignore").write_text("results\n")
        subprocess.run(["git", "init", "-q"], cwd=place.path, check=True, env=None)
    case.program.write(place.path)
    place.counts[f"{case.program.form}, {way}"] += 1
    before = len(place.violations)
    outcome = WAYS[way](rng, case)
    said = (
        f"{way}; {case.program.form}, {case.program.way}: {case.program.act!r} where {case.program.condition}"
    )
    place.violations[before:] = [f"{text} [{said}]" for text in place.violations[before:]]
    return outcome


def _study(rng: Random, program: Program) -> dict[str, Any]:
    workload: dict[str, Any] = {
        "function": {"function": "train.py:train"},
        "command": {"command": "python train.py {x} {seed}"},
        "script": {"script": "train.py", "seed": "SEED"},
    }[program.form]
    if program.form != "function":
        workload["read"] = {"loss": r"loss (\S+)"}
    if program.act in ("hangs", "ignores signals and hangs", "prints for ever"):
        workload["resources"] = {"time": TIME}
    if program.act == "its memory":
        workload["resources"] = {"memory": 0.5, "time": TIME}
    key = "X" if program.form == "script" else "x"
    study = {
        "name": "mine",
        "workload": workload,
        "config": {key: LEVELS[0]},
        "metrics": {"loss": {"direction": "min", "margin": 0.01}},
        "factors": {f"config.{key}": [*LEVELS[1:]]},
        "seeds": SEEDS,
    }
    if rng.random() < 0.2:
        workload["parallel"] = True
    if rng.random() < 0.1:
        workload["isolate"] = False
    return study


def _write(case: Case) -> None:
    from ruamel.yaml import YAML

    with (case.place.path / "study.yaml").open("w") as file:
        YAML(typ="safe", pure=True).dump(case.study, file)


def _run(rng: Random, case: Case) -> str:
    """To its end, and once more, which trains only what has failed."""
    _write(case)
    done = case.hold("run", "study.yaml", "--jobs", case.jobs(rng))
    if done.code == 2 and not case.records():
        if case.program.way in ("harmless", "fatal") and case.program.encoding == "utf-8":
            case.place.violation(f"refused: {done.output[-300:]!r}")
        return "refused"
    _check(case, done)
    begun, finished = case.begun(), case.finished()
    again = case.hold("run", "study.yaml", "--jobs", case.jobs(rng))
    _none_again(case, begun, finished, "run again")
    if done.code == 0 and again.code != 0 and case.program.way != "doubtful":
        case.place.violation(f"run again, it ends with {again.code}: {again.output[-300:]!r}")
    failed = [record["id"] for record in case.records().values() if record["status"] != "completed"]
    if failed:
        case.hold("show", rng.choice(sorted(failed)))
    return "accepted"


def _killed(rng: Random, case: Case) -> str:
    """Killed at random moments, and then run to its end."""
    train = case.place.path / "train.py"
    text = train.read_bytes()
    train.write_bytes(text.replace(b'note("begin"', b'time.sleep(0.3); note("begin"', 1))
    case.program.write(case.place.path) if case.program.encoding == "utf-16" else None
    _write(case)
    for _ in range(rng.choice((1, 2))):
        started = case.start("run", "study.yaml", "--jobs", case.jobs(rng), cold=rng.random() < 0.1)
        number, done = struck(rng, started, 5)
        if done is not None:
            case.place.hold(done, own_code=True)
            break
        case.place.hold_struck(started.wait(30), (*CODES[number], 0, 1, 2), own_code=True)
        case.place.counts["kills"] += 1
        case.look_for_survivors(f"after {number.name}")
        begun, finished = case.begun(), case.finished()
        _none_again(case, begun, finished, "after a kill")
    begun, finished = case.begun(), case.finished()
    done = case.hold("run", "study.yaml", "--jobs", case.jobs(rng))
    _none_again(case, begun, finished, "after kills")
    if done.code != 2:
        _check(case, done)
    return "recovered"


def _mutated(rng: Random, case: Case) -> str:
    """The study is changed at random below `workload:`, `config:` or `metrics:`; what `plan` accepts is run."""
    for _ in range(rng.choice((1, 1, 2))):
        section = rng.choice(("workload", "workload", "config", "metrics"))
        if rng.random() < 0.2 and case.program.form != "function":
            case.study["workload"]["read"] = {"loss": rng.choice(READS)}
        elif rng.random() < 0.3:
            key = rng.choice(
                ("data", "exclude", "keep", "resume", "isolate", "resources", "parallel", "read", "seed")
            )
            case.study["workload"][key] = rng.choice(ODD)
        elif isinstance(case.study.get(section), dict):
            changed(rng, case.study[section], names())
    case.study.setdefault("workload", {})
    try:
        _write(case)
    except Exception:  # a tree that YAML cannot write
        return "refused"
    plan = case.place.hold_quick(case.start("plan", "study.yaml"), SLOWEST, codes=(0, 1, 2))
    if plan.code != 0:
        return "refused"
    started = case.start("run", "study.yaml", "--jobs", case.jobs(rng))
    # What was asked for may take long, and may be any number that is read.
    done = started.wait(45)
    if done.code is not None:
        case.place.hold(done, own_code=True)
    case.look_for_survivors("after a mutated study")
    return "accepted"


def _none_again(
    case: Case, begun: Counter[tuple[float, int]], finished: set[tuple[float, int]], when: str
) -> None:
    """Notes trials that had completed and have begun again, or are gone."""
    now = case.begun()
    for run in finished:
        if now[run] > begun[run]:
            case.place.violation(f"{when}: the finished trial {run} was trained again")
    if lost := finished - case.finished():
        case.place.violation(f"{when}: the finished trials {lost} are lost")


def _check(case: Case, done: Done) -> None:
    """Holds records and comparison to what the program has noted."""
    place, program = case.place, case.program
    if len({y for _, y, _ in case.noted("begin")}) > 1:
        place.violation("another constant was changed, too")
    said: dict[tuple[float, int], set[str]] = {}
    for x, seed, token, _ in case.noted("end"):
        said.setdefault((x, seed), set()).add(token)
    records = case.records()
    for (x, seed), record in records.items():
        met = eval(program.condition, {"x": x, "seed": seed})
        status = record["status"]
        run = f"x {x}, seed {seed}"
        if status == "completed":
            value = record["metrics"]["loss"]
            if not any(_is_number(token, value) for token in said.get((x, seed), ())):
                place.violation(f"{run}: its record has {value!r}, and it printed {said.get((x, seed))}")
            if program.way == "fatal" and met:
                place.violation(f"{run}: completed although it had no number")
        elif program.way == "harmless" or (program.way == "fatal" and not met and not case.may_hang):
            place.violation(f"{run}: {status}, though it printed a number: {record['reason'][:200]!r}")
    if program.way == "harmless" and done.code != 0:
        place.violation(f"ended with {done.code}: {done.output[-300:]!r}")
    _check_comparison(case, records, done)


def _is_number(token: str, value: float) -> bool:
    with suppress(ValueError):
        return float(token) == value
    # What Python's `float` takes is a number, be it true, bytes or a fraction.
    with suppress(ValueError, ZeroDivisionError):
        return float(Fraction(token)) == value
    with suppress(ValueError, SyntaxError, TypeError):
        return float(ast.literal_eval(token)) == value
    return False


def _check_comparison(case: Case, records: Mapping[tuple[float, int], Mapping[str, Any]], done: Done) -> None:
    """Holds the interval of the comparison to that of scipy, where all trials have completed."""
    import pandas as pd

    path = case.place.path / "results" / "mine" / "comparisons.csv"
    if (
        done.code != 0
        or {record["status"] for record in records.values()} != {"completed"}
        or not path.is_file()
    ):
        return
    base, head = (
        [-records[x, seed]["metrics"]["loss"] for seed in range(SEEDS) if (x, seed) in records]
        for x in LEVELS
    )
    if len(base) != SEEDS or len(head) != SEEDS or base == head:
        return
    row = pd.read_csv(path).iloc[0]
    expected = paired(base, head, row["level"])
    given = (float(row["diff"]), float(row["ci_low"]), float(row["ci_high"]))
    if all(map(math.isfinite, given)) and not close(given, expected):
        case.place.violation(f"difference and interval are {given}, by scipy {expected}")


WAYS = {"run": _run, "killed": _killed, "mutated": _mutated}
