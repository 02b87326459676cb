"""`ablate gate`: a try judged by the rule of `commits.stream`, and the ledger that remembers all of them."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.commits.bench import Bench, opened
from ablate.commits.lines import (
    FORMAT,
    OLDEST,
    Answered,
    Begun,
    Call,
    Confirmation,
    FailedRun,
    Run,
    StateLine,
)
from ablate.commits.repeated import note_on_repeats
from ablate.commits.stream import NUM_BASE_RUNS, Answer, State, attempt
from ablate.commits.treatment import changed_measures, failed_before, measured_otherwise, slower, time_ratio

EXIT_CODES = {"keep": 0, "discard": 1, "retest": 3}
REMEDY = "Restore the ledger, or start a new one with the last kept commit as --base"
SAME = "its files are the same as the base's, so it was not run, and uses none of the error rate"


def gate(call: Call, ledger: Path, names: Sequence[str], measures: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the second commit against the first, appends the answer to the ledger and returns it.

    measures: patterns of the files that measure a try. Raises `NotMeasured`.
    """
    with opened(call, ledger, names, REMEDY) as bench:
        _check_begun(bench)
        changed = changed_measures(bench, measures)
        _begin(bench)
        lines = _state_lines(bench)
        if bench.head.digest == bench.base.digest:
            return _printed(bench, Answer("discard", 0.0, None, None), lines[-1].state, [SAME], [])
        kept = _kept(bench, lines)
        if kept is not None:
            return kept

        answer, after = _judge(bench, lines)
        sentences = (_repeating(bench), measured_otherwise(changed), slower(bench), failed_before(bench))
        notes = [note for note in sentences if note]
        printed = _printed(bench, answer, after, notes, changed)
        written = {name: value for name, value in printed.items() if name != "exit_code"}
        bench.journal.add(Answered(**written, state=after))
        return printed


def _check_begun(bench: Bench) -> None:
    """Raises `AblateError` for a ledger of another format, and for one that does not begin with its first base."""
    has_begun = False
    for number, line in enumerate(bench.journal.lines, 1):
        if isinstance(line, Run | FailedRun):
            continue
        if isinstance(line, Begun) and line.format not in range(OLDEST, FORMAT + 1):
            raise AblateError(
                f"{bench.path}: is a ledger of format {line.format}; this version reads {OLDEST} to {FORMAT}. Use the "
                "version that wrote it, or start a new ledger with the last kept commit as --base"
            )
        if isinstance(line, Begun) == has_begun:
            raise AblateError(
                f"{bench.path}:{number}: must state the call, or follow a line that does. {REMEDY}"
            )
        has_begun = True


def _begin(bench: Bench) -> None:
    """Runs the base of a new ledger, and writes its first state."""
    if any(isinstance(line, Begun) for line in bench.journal.lines):
        return
    [values] = bench.values([bench.base], range(NUM_BASE_RUNS))
    bench.journal.add(
        Begun(
            format=FORMAT,
            call=bench.call,
            data=bench.data_identity,
            verdict="keep",
            commit=bench.base.name,
            tree=bench.base.digest,
            state=State.at_start(values),
        )
    )


def _state_lines(bench: Bench) -> list[StateLine]:
    """Returns the lines with a state. Raises `AblateError` where they are of another call, base or data."""
    lines = [line for line in bench.journal.lines if not isinstance(line, Run | FailedRun)]
    base = [line for line in lines if line.verdict == "keep"][-1]
    begun = lines[0]
    assert isinstance(begun, Begun)
    if begun.data != bench.data_identity:
        raise AblateError(
            f"{bench.path}: the --link data differ from those that its runs used; restore them, or name another "
            "ledger"
        )
    is_base = base.tree == bench.base.digest or _kept(bench, lines) is not None
    if begun.call != bench.call or not is_base:
        raise AblateError(
            f"{bench.path}: was begun with {' '.join(begun.call.command)}, and its base is {base.commit}; repeat the "
            "call that began it with this --base, or name another ledger"
        )
    return lines


def _kept(bench: Bench, state_lines: Sequence[StateLine]) -> dict[str, Any] | None:
    """Returns the last answer as it is printed, where it has kept this try on this base.

    A call that was killed may not have said so.
    """
    last = state_lines[-1]
    trees = [line.tree for line in state_lines if line.verdict == "keep"]
    if not isinstance(last, Answered) or trees[-2:] != [bench.base.digest, bench.head.digest]:
        return None
    if last.verdict != "keep":
        return None
    printed = asdict(last)
    del printed["state"]
    return {**printed, "exit_code": EXIT_CODES["keep"]}


def _judge(bench: Bench, state_lines: Sequence[StateLine]) -> tuple[Answer, State]:
    """Screens the head commit, confirms it if it is promising, and returns the answer and the state after it."""
    head = bench.head
    before = list(state_lines)
    # A confirmation that was killed starts again from the state before it.
    while isinstance(before[-1], Confirmation) and before[-1].tree == head.digest:
        before.pop()
    return attempt(
        before[-1].state,
        screen=lambda seed: bench.run(head, seed),
        run_both=lambda seeds: bench.values([bench.base, head], seeds),
        on_confirmation=lambda state: bench.journal.add(
            Confirmation("confirm", commit=head.name, tree=head.digest, state=state)
        ),
    )


def _repeating(bench: Bench) -> str:
    """Returns a note where the seeds of the base, or of the try, repeat one another; empty where none do."""
    sides = {
        tree.name: {run.seed: run.value for run in bench.runs if run.tree == tree.digest}
        for tree in (bench.base, bench.head)
    }
    return note_on_repeats(sides)


def _printed(
    bench: Bench, answer: Answer, state: State, notes: list[str], changed: list[str]
) -> dict[str, Any]:
    """Returns the answer as it is printed."""
    ratio = time_ratio(bench)
    return {
        **asdict(answer),
        "confirmations": state.confirmations,
        "smallest_effect": state.smallest_effect,
        "alpha_left": state.alpha_left,
        "time_ratio": None if ratio is None else round(ratio, 3),
        "changed_measures": changed,
        "notes": notes,
        "commit": bench.head.name,
        "tree": bench.head.digest,
        "exit_code": EXIT_CODES[answer.verdict],
    }
