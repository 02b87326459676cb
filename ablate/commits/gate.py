"""`ablate gate`: tries judged by the rule of `commits.stream`, and the ledger that remembers all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from ablate.analysis.level_of_tries import LevelLeft
from ablate.base.errors import AblateError
from ablate.base.text import safe
from ablate.commits.bench import Bench, NotMeasured, Wanted, in_turn, opened, sides_of
from ablate.commits.given import state_of_given
from ablate.commits.ledger import (
    REMEDY,
    before_unfinished,
    check_begun,
    kept_before,
    level_left,
    lines_of_call,
    state_lines,
)
from ablate.commits.lines import FORMAT, Answered, Begun, Call, Confirmation, StateLine
from ablate.commits.repeated import note_on_repeats
from ablate.commits.stream import NUM_BASE_RUNS, Answer, Sides, State, attempt
from ablate.commits.treatment import changed_measures, failed_before, measured_otherwise, slower, time_ratio
from ablate.records.environment import machine

EXIT_CODES = {"keep": 0, "retest": 3, "discard": 1}
"""Verdict → exit code; that of a wave is the first of these that one of its tries has."""
SAME = "its files are the same as the base's, so it was not run, and uses none of the error rate"
PASSED = "it passed, but a try with a larger gain was kept: try it again on the new base"


def gate(
    call: Call,
    ledger: Path,
    names: Sequence[str],
    measures: Sequence[str] = (),
    *,
    jobs: int = 1,
    base_values: Path | None = None,
) -> list[dict[str, Any]]:
    """Runs one head or more against the base, appends the answers to the ledger and returns them by head.

    names: the base, and the heads. measures: patterns of the files that measure a try. jobs: the most runs at once.
    base_values: a file of earlier runs of the base, with which a new ledger begins.
    Raises `NotMeasured` where no head is measured; one of several that is not has no answer.
    """
    with opened(call, ledger, names, REMEDY, jobs=jobs) as bench:
        _refuse_equal_heads(bench)
        check_begun(bench)
        changed = {head.digest: changed_measures(bench.of(head), measures) for head in bench.heads}
        notes = _begin(bench, base_values)
        lines = lines_of_call(bench)
        answers = kept_before(bench, lines)
        if bench.tried and not answers:
            answers = _Wave(bench, lines, changed, notes).judge()
        by_tree = {answer.tree: answer for answer in answers}
        heads = [head for head in bench.heads if head not in bench.tried or head.digest in by_tree]
        return [_printed(by_tree.get(head.digest) or _unchanged(bench.of(head), notes)) for head in heads]


def exit_code_of(answers: Sequence[Mapping[str, Any]]) -> int:
    """Returns the exit code of all answers of a call."""
    codes = [answer["exit_code"] for answer in answers]
    return next(code for code in EXIT_CODES.values() if code in codes)


def _refuse_equal_heads(bench: Bench) -> None:
    """Raises `AblateError` for two heads of the same files, which would be tested twice."""
    heads = {head.digest: head for head in bench.tried}
    for head in bench.tried:
        other = heads[head.digest]
        if other is not head:
            raise AblateError(f"{head.name} and {other.name} have the same files: name one of them")


def _begin(bench: Bench, base_values: Path | None) -> list[str]:
    """Writes the first state of a new ledger, after runs of its base where none are given; returns notes on it."""
    begun = [line for line in bench.journal.lines if isinstance(line, Begun)]
    if begun:
        is_in_vain = base_values is not None and not begun[0].state.base_is_given
        said = f"{base_values} was not read: this ledger has begun with runs of its own"
        return [said] if is_in_vain else []
    notes: list[str] = []
    if base_values is None:
        [values] = bench.values([bench.base], range(NUM_BASE_RUNS))
        state = State.at_start(values)
    else:
        state, notes = state_of_given(base_values, bench)
    bench.journal.add(
        Begun(
            format=FORMAT,
            call=bench.call,
            data=bench.data_identity,
            verdict="keep",
            commit=bench.base.name,
            tree=bench.base.digest,
            state=state,
            machine=machine(),
        )
    )
    return notes


@dataclass
class _Wave:
    """The tries of a call on their base, one or more."""

    bench: Bench
    lines: Sequence[StateLine]
    changed: Mapping[str, list[str]]
    """The files that measure and that a try changes, by the digest of the try."""
    notes: Sequence[str]
    """What is to be known of the ledger."""

    def __post_init__(self) -> None:
        self.tries = self.bench.tried
        # A wave that was killed in its confirmations starts again from the state before them.
        self.before = before_unfinished(self.bench, self.lines)
        self.is_resumed = len(self.before) < len(self.lines)
        self.failures: dict[int, AblateError] = {}

    def judge(self) -> list[Answered]:
        """Screens and confirms the tries, writes the answers and returns them.

        Raises `NotMeasured` where none of the tries is measured.
        """
        judged = attempt(
            self.before[-1].state,
            level_left(self.before),
            len(self.tries),
            screen=self._screen,
            confirm=self._confirm,
            on_confirmations=self._write_confirmations,
        )
        if len(self.failures) == len(self.tries):
            raise self.failures[min(self.failures)]
        for failure in self.failures.values():
            click.echo(safe(f"not measured, and without an answer: {failure}"), err=True)
        answers: list[Answered] = []
        for head, answer in zip(self.tries, judged.answers, strict=True):
            if answer is not None:
                bench = self.bench.of(head)
                changed = self.changed[head.digest]
                notes = [*self.notes, *_notes(bench, answer, changed)]
                answers.append(_answered(bench, answer, judged.state, judged.left, notes, changed))
        self.bench.journal.add(*answers)
        return answers

    def _screen(self, seeds: Sequence[int]) -> list[float | None]:
        """Returns the number of each try under its seed; None where its run fails, or had failed before a kill."""
        runs = [*zip(self.tries, seeds, strict=True)]
        if self.is_resumed:
            # The order of the confirmations is fixed: no try may join them.
            for number, run in enumerate(runs):
                if not self.bench.is_finished(run):
                    tree, seed = run
                    self.failures[number] = NotMeasured(
                        f"{tree.name}, seed {seed}: failed before the interruption"
                    )
        to_run = [number for number in range(len(runs)) if number not in self.failures]
        values: dict[int, float] = {}
        for number, result in zip(to_run, self.bench.measure([[runs[i]] for i in to_run]), strict=True):
            if isinstance(result, NotMeasured):
                self.failures[number] = result
            else:
                values[number] = result[runs[number]]
        return [values.get(number) for number in range(len(runs))]

    def _confirm(self, seeds: Mapping[int, Sequence[int]]) -> dict[int, Sides]:
        """Returns the runs of both sides of each confirmation, by the number of its try, where none fails."""
        base = self.bench.base
        groups: list[list[Wanted]] = []
        for number, own_seeds in seeds.items():
            groups.append(in_turn([base, self.tries[number]], own_seeds))
        sides: dict[int, Sides] = {}
        for number, result in zip(seeds, self.bench.measure(groups), strict=True):
            if isinstance(result, NotMeasured):
                self.failures[number] = result
                continue
            try:
                of_base, tried = sides_of(result, [base, self.tries[number]], seeds[number])
                both = Sides(of_base, tried)
                both.check()
            except AblateError as error:
                self.failures[number] = error
            else:
                sides[number] = both
        return sides

    def _write_confirmations(self, order: Sequence[int], state: State) -> None:
        """Writes the start of the confirmations, all at once, so that no kill changes their levels."""
        if self.is_resumed:
            return
        wave = [head.digest for head in self.tries]
        first = state.confirmations - len(order) + 1
        starts: list[Confirmation] = []
        for place, number in enumerate(order, first):
            head = self.tries[number]
            begun = replace(state, confirmations=place)
            starts.append(Confirmation("confirm", head.name, head.digest, begun, wave))
        self.bench.journal.add(*starts)


def _unchanged(bench: Bench, notes: Sequence[str]) -> Answered:
    """Returns the answer to the base itself, which is not written."""
    lines = state_lines(bench)
    answer = Answer("discard", 0.0, None, None)
    return _answered(bench, answer, lines[-1].state, level_left(lines), [*notes, SAME], [])


def _notes(bench: Bench, answer: Answer, changed: Sequence[str]) -> list[str]:
    """Returns what is to be known of a try beside its verdict."""
    has_passed = answer.p is not None and answer.alpha is not None and answer.p <= answer.alpha
    sentences = (
        PASSED if answer.verdict == "retest" and has_passed else "",
        _repeating(bench),
        measured_otherwise(changed),
        slower(bench),
        failed_before(bench),
    )
    return [sentence for sentence in sentences if sentence]


def _repeating(bench: Bench) -> str:
    """Returns a note where the seeds of the base, or of the try, repeat one another; empty where none do."""
    sides = {
        tree.name: {run.seed: run.value for run in bench.runs_of(tree)} for tree in (bench.base, bench.head)
    }
    return note_on_repeats(sides)


def _answered(
    bench: Bench, answer: Answer, state: State, left: LevelLeft, notes: list[str], changed: list[str]
) -> Answered:
    """Returns the line of an answer."""
    ratio = time_ratio(bench)
    return Answered(
        **asdict(answer),
        confirmations=state.confirmations,
        smallest_effect=state.smallest_effect(left.next_level),
        alpha_left=left.to_come,
        time_ratio=None if ratio is None else round(ratio, 3),
        changed_measures=changed,
        notes=notes,
        commit=bench.head.name,
        tree=bench.head.digest,
        state=state,
    )


def _printed(line: Answered) -> dict[str, Any]:
    """Returns an answer as it is printed."""
    printed = asdict(line)
    del printed["state"]
    return {**printed, "exit_code": EXIT_CODES[line.verdict]}
