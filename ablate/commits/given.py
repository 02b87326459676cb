"""A base whose runs exist: their numbers screen tries in place of ten new runs, and do nothing else."""

import csv
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from ablate.base import numerals
from ablate.base.errors import AblateError
from ablate.base.kept import FINITE, Journal, content_of, validated
from ablate.base.wording import counted
from ablate.commits.bench import MAX_VALUE, Bench
from ablate.commits.lines import LINE, Begun, FailedRun, Run
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS, State
from ablate.commits.trees import git
from ablate.core.metric import sign
from ablate.external.command import split
from ablate.records.environment import machine

REMEDY = (
    "Give a file as `ablate guide compare` shows it, or leave --base-values out: then the base runs ten times"
)
UNNAMED_SEED = 1000
"""The first seed of a ledger whose earlier runs do not name theirs: few people have used one so large."""
_MIN_HASH = 7
_COLUMNS = ("commit", "machine", "command", "value")


@dataclass(frozen=True)
class BaseValues:
    """The numbers of earlier runs of one commit, with all that they depend on."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    commit: str
    machine: str
    command: list[str] | str
    values: list[float]
    """As the runs printed them."""
    seeds: list[Annotated[int, Field(ge=0)]] = field(default_factory=list)
    """The seeds that these runs, and others of the same ledger, have had; empty where they are not known."""


_SCHEMA = TypeAdapter(BaseValues)


def state_of_given(path: Path, bench: Bench) -> tuple[State, list[str]]:
    """Returns the state of a new ledger on a base that is given, and notes on it.

    Raises `AblateError` for values of another commit or command, and for fewer or larger ones than the rule takes.
    """
    given = _of_ledger(path, bench) if path.suffix == ".jsonl" else _of_file(path)
    _check_commit(path, given.commit, bench)
    _check_command(path, given.command, bench)
    if len(given.values) < PAIRS:
        raise AblateError(
            f"{path}: has {counted(len(given.values), 'value')} of the base, and {PAIRS} are the fewest. {REMEDY}"
        )
    largest = max(given.values, key=abs)
    if abs(largest) > MAX_VALUE:
        raise AblateError(f"{path}: has the value {largest:g}, and {MAX_VALUE:g} is the largest. {REMEDY}")
    seed = max([NUM_BASE_RUNS - 1, *given.seeds]) + 1 if given.seeds else UNNAMED_SEED
    state = State.on_given_base([sign(bench.call) * value for value in given.values], seed)
    return state, _notes(path, given.machine)


def _notes(path: Path, earlier: str) -> list[str]:
    """Returns a note where the earlier runs are not known to be of this machine."""
    here = machine()
    if earlier in (here, platform.node()):
        return []
    where = (
        f"are of another machine: {earlier}, and this is {here}" if earlier else "do not name their machine"
    )
    return [f"the values of {path} {where}; they screen, and each confirmation runs the base here"]


def _check_commit(path: Path, commit: str, bench: Bench) -> None:
    """Raises `AblateError` for a commit, by its hash, whose files are not those of the base."""
    is_hash = len(commit) >= _MIN_HASH and not set(commit) - set("0123456789abcdef")
    if is_hash:
        try:
            if git("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}") == bench.base.digest:
                return
        except AblateError:
            pass  # It is of another repository, which the message says.
    raise AblateError(
        f"{path}: its values are of the commit {commit}, and --base is {bench.base.name}. Give the hash of this "
        "commit, with values of its runs"
    )


def _check_command(path: Path, command: Sequence[str] | str, bench: Bench) -> None:
    """Raises `AblateError` where the given values are of another command than that of the call."""
    try:
        words = [*split(command)]
    except ValueError as error:
        raise AblateError(f"{path}: its command {command} cannot be split into words: {error}") from None
    if words != [*bench.call.command]:
        raise AblateError(
            f"{path}: its values are of the command {' '.join(words)}, and this call runs "
            f"{' '.join(bench.call.command)}"
        )


def _of_file(path: Path) -> BaseValues:
    """Reads a JSON object, or a CSV table of which each row is a run. Raises `AblateError`."""
    content = content_of(path, REMEDY)
    if content is None:
        raise AblateError(f"{path}: does not exist. {REMEDY}")
    if path.suffix != ".csv":
        return validated(_SCHEMA, content, path, REMEDY)
    rows = [*csv.DictReader(StringIO(content.decode("utf-8-sig", errors="replace")))]
    if not rows or not {*_COLUMNS} <= {*rows[0]}:
        raise AblateError(
            f"{path}: must have the columns {', '.join(_COLUMNS)}, and a row for each run. {REMEDY}"
        )
    runs = {(row["commit"], row["machine"], row["command"]) for row in rows}
    if len(runs) > 1:
        raise AblateError(f"{path}: has runs of several commits, machines or commands; keep those of one")
    [(commit, of_machine, command)] = runs
    values = _numbers_in(path, rows, "value", numerals.FINITE)
    seeds: list[int] = []
    if "seed" in rows[0]:
        seeds = [int(seed) for seed in _numbers_in(path, rows, "seed", numerals.COUNT)]
    return BaseValues(commit, of_machine, command, values, seeds)


def _numbers_in(
    path: Path, rows: Sequence[Mapping[str, str]], column: str, domain: numerals.Domain
) -> list[float]:
    """Returns the numbers of a column. Raises `AblateError` for a cell outside of the domain."""
    numbers: list[float] = []
    for line, row in enumerate(rows, 2):
        number = domain.read(row[column] or "")  # None in a row that is too short.
        if number is None:
            raise AblateError(f"{path}:{line}: {column}: must be {domain}, not {row[column]!r}")
        numbers.append(number)
    return numbers


def _of_ledger(path: Path, bench: Bench) -> BaseValues:
    """Returns the runs of the base in another ledger. Raises `AblateError` where it measures otherwise."""
    lines = Journal(path, LINE, REMEDY).lines
    begun = [line for line in lines if isinstance(line, Begun)]
    if not begun:
        raise AblateError(f"{path}: is no ledger of `ablate gate` that has begun. {REMEDY}")
    call = begun[0].call
    _check_command(path, call.command, bench)
    if call != bench.call or begun[0].data != bench.data_identity:
        raise AblateError(f"{path}: differs from this call in --read, --direction or the data of --link")
    runs = [line for line in lines if isinstance(line, Run)]
    values = [run.value for run in runs if run.tree == bench.base.digest]
    # Of this ledger, whose seeds must be new to the base.
    seeds = [line.seed for line in lines if isinstance(line, Run | FailedRun)]
    commit = bench.base.commit if values else begun[0].commit
    return BaseValues(commit, begun[0].machine, [*call.command], values, seeds)
