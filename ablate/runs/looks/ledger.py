"""The analyses of runs so far: `store/analyses.jsonl` of a results folder, or in Python those of this process.

Each call on the same runs, under another metric, margin, baseline, filter or step, is another look at them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from pydantic import TypeAdapter

from ablate.analysis.chances import NOMINAL
from ablate.base.kept import FINITE, Journal
from ablate.base.locks import Say, exclusive
from ablate.base.text import masked, printable
from ablate.core.facts import Evidence
from ablate.core.other_looks import EarlierCalls, LookedAt, RunChoice
from ablate.records.folder import StudyFolder
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import message
from ablate.runs.content import MOST_KEPT, digest_of_judged, sample_of, share_runs
from ablate.runs.declared import deciding_thresholds
from ablate.runs.looks.calls import NOT_GIVEN, differences, tested
from ablate.runs.looks.kept_runs import KeptRuns, RunCounts
from ablate.runs.reading import RunTable

LEDGER = "analyses.jsonl"
_REMEDY = "Restore it, or remove it: earlier analyses of the same runs are then no longer known"


@dataclass(frozen=True)
class Analysis:
    """A line of the ledger: a call, the runs that it read, and its verdicts."""

    __pydantic_config__: ClassVar[object] = FINITE

    date: str
    report: str
    """The name of its report; empty of one in Python that was not kept."""
    source: str
    """RUNS as the call has it; empty of a DataFrame."""
    runs: list[str]
    """Digests of the runs or rows that were read, as `sample_of` chooses them."""
    num_runs: int
    """The number of different runs or rows that were read."""
    call: dict[str, str]
    verdicts: list[str]
    """Each verdict in words: `gelu better`."""
    row_chance: float = 0.0
    """The probability that a row is equal to that of other runs with the same names and seeds."""
    numbers: Sequence[str] = ()
    """A sample of the digests of its measured numbers."""
    judged: str = ""
    """The digest of what it judged, without columns beside that; empty in lines of older versions."""
    deciding: dict[str, str] | None = None
    """The thresholds that change the tested numbers, with what they are; None in lines of older versions."""
    counts: RunCounts | None = None
    """The variants and seeds that the call could see; None in lines of older versions."""
    level: float = NOMINAL
    """The most that the probability of a false verdict can be of this analysis alone."""

    def looked_as(self, other: Analysis) -> bool:
        """Returns whether it asked the same of the same runs, so that it is no other look."""
        return self.call == other.call and self.judged_as(other)

    def judged_as(self, other: Analysis) -> bool:
        """Returns whether it judged the same numbers of the same runs."""
        if self.judged and other.judged:
            return self.judged == other.judged
        return self.read_as(other)

    def read_as(self, other: Analysis) -> bool:
        """Returns whether it read the same rows, or files."""
        return (self.runs, self.num_runs) == (other.runs, other.num_runs)

    def is_within(self, other: Analysis) -> bool:
        """Returns whether `other` covers all runs of this analysis, as far as the kept samples of digests tell."""
        return self.judged_as(other) or _are_within(self.runs, other.runs)

    def is_part_of(self, other: Analysis) -> bool:
        """Returns whether another has all its runs, whatever they are called there."""
        return self.is_within(other) or (bool(self.numbers) and _are_within(self.numbers, other.numbers))


def _are_within(digests: Sequence[str], others: Sequence[str]) -> bool:
    """Returns whether all of some digests are among others, as far as samples tell."""
    # Only what is not larger than the largest that the others keep can be looked for.
    largest = others[-1] if len(others) == MOST_KEPT else "g"
    return {digest for digest in digests if digest <= largest} <= {*others}


_LINE = TypeAdapter(Analysis)


class Lines(Protocol):
    """Lines that are kept and added to."""

    lines: list[Analysis]

    def add(self, line: Analysis) -> None:
        """Keeps a line."""


class _OfThisProcess:
    """The analyses in Python whose reports were not kept, for as long as the process lasts."""

    def __init__(self) -> None:
        self.lines: list[Analysis] = []

    def add(self, line: Analysis) -> None:
        """Keeps a line."""
        self.lines.append(line)


OF_THIS_PROCESS = _OfThisProcess()


@contextmanager
def opened(results: Path, say: Say) -> Iterator[Lines]:
    """Yields the ledger of a results folder, which no other process changes meanwhile.

    Raises `AblateError` for one that was damaged.
    """
    path = results / "store" / LEDGER
    with exclusive(path.parent, path.name, say):
        yield Journal(path, _LINE, _REMEDY)


def line_of(table: RunTable, evidence: Evidence, *, source: str) -> Analysis:
    """Returns the line of an analysis, before it has verdicts."""
    return Analysis(
        date="",
        report="",
        source=masked(source),
        runs=sample_of(table.content),
        num_runs=len({*table.content}),
        call=dict(table.call),
        verdicts=[],
        row_chance=table.row_chance,
        numbers=table.numbers,
        judged=digest_of_judged(table.judged_rows, has_seeds=table.has_seeds),
        deciding=deciding_thresholds(evidence),
        counts=None if table.kept_runs is None else table.kept_runs.seen,
    )


def earlier_calls(
    now: Analysis, lines: Sequence[Analysis], kept_runs: KeptRuns | None = None
) -> EarlierCalls:
    """Returns the earlier analyses of some of the same runs that asked something else, the last of each call and rows.

    With them goes what `now` keeps of the variants and seeds that it or they have, and the most that the probability
    of any false verdict can be over all different tests, that of `now` among them; None where they are one test.
    """
    others: dict[tuple[object, ...], Analysis] = {}
    for line in lines:
        is_of_these_runs = share_runs(line, now) or line.judged_as(now)
        if is_of_these_runs and not line.looked_as(now):
            others[tuple(sorted(line.call.items())), _rows_of(line, now)] = line
    looks = [LookedAt(line.report, _differences(now, line), line.verdicts) for line in others.values()]
    choices = _choices(now, lines, kept_runs)
    levels = {(_tested(now, now), _rows_of(now, now)): level_of(choices)}
    for line in others.values():
        test = (_tested(line, now), _rows_of(line, now))
        levels[test] = max(line.level, levels.get(test, 0.0))
    level = min(1.0, sum(levels.values())) if len(levels) > 1 else None
    return EarlierCalls(looks, level, choices)


def _choices(now: Analysis, lines: Sequence[Analysis], kept_runs: KeptRuns | None) -> list[RunChoice]:
    """Returns what an analysis keeps of the variants and seeds that it can see, or an earlier one has read."""
    if kept_runs is None:
        return []
    larger = []
    for line in lines:
        if line.counts is not None and share_runs(line, now) and now.is_part_of(line):
            larger.append(line.counts)
    return kept_runs.with_seen_in(larger).choices()


def level_of(choices: Sequence[RunChoice]) -> float:
    """Returns the most that the probability of a false verdict can be of one analysis that keeps a choice of runs."""
    level = NOMINAL
    for choice in choices:
        # As many choices show a false `worse`.
        level = 1.0 if choice.rate is None else max(level, 2 * choice.rate)
    return level


def _tested(line: Analysis, now: Analysis) -> tuple[tuple[str, str], ...]:
    """Returns what an analysis tests, of an older version by the thresholds that decide in `now`."""
    if line.deciding is not None:
        return tested(line.call, line.deciding)
    deciding = {}
    for name, value in (now.deciding or {}).items():
        is_same = line.call.get(name) == now.call.get(name)
        deciding[name] = value if is_same else line.call.get(name, NOT_GIVEN)
    return tested(line.call, deciding)


def _rows_of(line: Analysis, now: Analysis) -> tuple[str, ...]:
    """Returns a key of the rows that an analysis judged: that of `now` where both judged the same numbers."""
    if line.judged_as(now):
        return (str(now.num_runs), *now.runs)
    # Of many runs only some digests are kept, which other rows may share.
    rows = (str(line.num_runs), *line.runs)
    # Of the same files, what lies beside them may say that other runs ended well.
    return (*rows, line.judged) if line.read_as(now) else rows


def _differences(now: Analysis, line: Analysis) -> list[str]:
    """Returns how an earlier call differs from one, in its runs too."""
    named = differences(now.call, line.call)
    has_same_rows = line.read_as(now) or line.judged_as(now)
    if not has_same_rows:
        named += _other_rows(now, line, is_same_test=_tested(now, now) == _tested(line, now))
    if not named:
        named.append(message("analyse.other_ends"))
    return [printable(text) for text in named]


def _other_rows(now: Analysis, line: Analysis, *, is_same_test: bool) -> Iterator[str]:
    """Yields how the rows of an earlier call differ.

    Of as many rows, what another test judges does not tell whether they differ in more than columns.
    """
    if line.num_runs != now.num_runs:
        yield f"rows={line.num_runs}"
    elif is_same_test:
        yield message("analyse.other_rows") if line.judged else message("analyse.other_rows_or_columns")


def last_of(report: str, lines: Sequence[Analysis]) -> Analysis | None:
    """Returns the last analysis that was reported under a name; None where the ledger has none."""
    of_report = [line for line in lines if line.report == report]
    return of_report[-1] if of_report else None


def call_differences(held: Analysis, now: Analysis) -> list[str]:
    """Returns how a call differs from the one whose report has its name; that runs were added is no difference."""
    named = differences(held.call, now.call)
    is_same_source = held.source == now.source != ""
    if not is_same_source and not held.is_within(now):
        named.append(f"runs={now.source or now.runs[0][:6]}")
    return named


def verdicts_in(folder: StudyFolder) -> list[str]:
    """Returns the verdicts of a report in words: `gelu better`."""
    facts = folder.facts()
    several_tasks = len(facts.tasks) > 1 and not facts.over.joins_conditions
    words = []
    for row in planned_rows(folder.comparisons()):
        where = f" on {row['task']}" if several_tasks else ""
        words.append(printable(f"{row['variant']}{where} {row['verdict']}"))
    return words
