"""`ablate gate`: a try judged by the rule of `commits.stream`, and the ledger that remembers all of them.

A ledger has lines of four kinds, all but the first with the `state` after them:

    run                              a finished run
    verdict keep, call and format    the first base
    verdict confirm                  the start of a confirmation
    verdict keep, discard or retest  the answer to a try
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.commits.bench import FORMAT, Bench, Call, opened
from ablate.commits.stream import NUM_BASE_RUNS, Answer, State, attempt
from ablate.commits.treatment import changed_measures, measured_otherwise, slower, time_ratio

EXIT_CODES = {"keep": 0, "discard": 1, "retest": 3}
SAME = "its files are the same as the base's: it was not run, and uses up none of the error rate"


def gate(call: Call, ledger: Path, names: Sequence[str], measures: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the second commit against the first, appends the answer to the ledger and returns it.

    measures: patterns of the files that measure a try. Raises `NotMeasured`.
    """
    with opened(call, ledger, names) as bench:
        _refuse_another_format(bench)
        changed = changed_measures(bench, measures)
        _begin(bench)
        lines = _state_lines(bench)
        if bench.head.digest == bench.base.digest:
            state = State.from_data(lines[-1]["state"])
            return _printed(bench, Answer("discard", 0.0, None, None), state, [SAME], [])

        answer, after = _judge(bench, lines)
        notes = [note for note in (measured_otherwise(changed), slower(bench)) if note]
        printed = _printed(bench, answer, after, notes, changed)
        written = {name: value for name, value in printed.items() if name != "exit_code"}
        bench.add(**written, state=after.as_data())
        return printed


def _refuse_another_format(bench: Bench) -> None:
    """Raises `AblateError` for a ledger of another version of the package."""
    first_lines = [line for line in bench.lines if "call" in line]
    if not bench.lines or (first_lines and first_lines[0].get("format") == FORMAT):
        return
    if not first_lines and "tree" in bench.lines[0]:
        return  # The first runs of the base were cut short.
    version = first_lines[0].get("format", 1) if first_lines else 1
    raise AblateError(
        f"{bench.path}: is a ledger of format {version}; this version reads format {FORMAT}. Start a new ledger, with "
        "the last kept commit as --base"
    )


def _begin(bench: Bench) -> None:
    """Runs the base of a new ledger, and writes its first state."""
    if any("state" in line for line in bench.lines):
        return
    [values] = bench.values([bench.base], range(NUM_BASE_RUNS))
    bench.add(
        format=FORMAT,
        call=bench.call.as_data(),
        data=bench.data_identity,
        verdict="keep",
        commit=bench.base.name,
        tree=bench.base.digest,
        state=State.at_start(values).as_data(),
    )


def _state_lines(bench: Bench) -> list[dict[str, Any]]:
    """Returns the lines with a state. Raises `AblateError` where they are of another call, base or data."""
    lines = [line for line in bench.lines if "state" in line]
    base = [line for line in lines if line["verdict"] == "keep"][-1]
    call = lines[0]["call"]
    if lines[0].get("data", []) != bench.data_identity:
        raise AblateError(
            f"{bench.path}: the --link data differ from those that its runs used; restore them, or name another "
            "ledger"
        )
    if call != bench.call.as_data() or base["tree"] != bench.base.digest:
        raise AblateError(
            f"{bench.path}: was begun with {' '.join(call['command'])}, and its base is {base['commit']}; repeat the "
            "call that began it with this --base, or name another ledger"
        )
    return lines


def _judge(bench: Bench, state_lines: Sequence[dict[str, Any]]) -> tuple[Answer, State]:
    """Runs a try, and returns the answer and the state after it."""
    head = bench.head
    before = list(state_lines)
    # A confirmation that was killed starts again from the state before it.
    while before[-1]["verdict"] == "confirm" and before[-1]["tree"] == head.digest:
        before.pop()
    return attempt(
        State.from_data(before[-1]["state"]),
        screen=lambda seed: bench.run(head, seed),
        run_both=lambda seeds: bench.values([bench.base, head], seeds),
        on_confirmation=lambda state: bench.add(
            verdict="confirm", commit=head.name, tree=head.digest, state=state.as_data()
        ),
    )


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
