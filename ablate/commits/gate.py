"""`ablate gate`: a try judged by the rule of `commits.stream`, and the ledger that remembers all of them.

Lines of a ledger: `run`, a finished run; and those with the `state` after them, by their verdict: the first base, with
the call and the format; `confirm`, the start of a confirmation; what was said of a try.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.commits.bench import FORMAT, Bench, Call, opened
from ablate.commits.stream import FIRST, Answer, State, attempt
from ablate.commits.treatment import changed_measures, measured_otherwise, slower, time_ratio

EXIT_CODES = {"keep": 0, "discard": 1, "retest": 3}
SAME = "its files are those of the base: it was not run, and spends nothing"


def gate(call: Call, ledger: Path, names: Sequence[str], measures: Sequence[str] = ()) -> dict[str, Any]:
    """Returns what is said of the second commit; the first is the base. Raises `NotMeasured`.

    measures: patterns of the files that measure a try.
    """
    with opened(call, ledger, names) as bench:
        _refuse_another_format(bench)
        changed = changed_measures(bench, measures)
        _begin(bench)
        decided = _decided_lines(bench)
        if bench.head.digest == bench.base.digest:
            state = State.from_data(decided[-1]["state"])
            return _shown(bench, Answer("discard", 0.0, None, None), state, [SAME], [])

        answer, after = _judge(bench, decided)
        notes = [note for note in (measured_otherwise(changed), slower(bench)) if note]
        shown = _shown(bench, answer, after, notes, changed)
        kept = {name: value for name, value in shown.items() if name != "exit_code"}
        bench.add(**kept, state=after.as_data())
        return shown


def _refuse_another_format(bench: Bench) -> None:
    """Refuses a ledger of another version of the package. Raises `AblateError`."""
    begun = [line for line in bench.lines if "call" in line]
    if not bench.lines or (begun and begun[0].get("format") == FORMAT):
        return
    if not begun and "tree" in bench.lines[0]:
        return  # The first runs of the base were cut short.
    found = begun[0].get("format", 1) if begun else 1
    raise AblateError(
        f"{bench.path}: is a ledger of format {found}; this version reads format {FORMAT}, in which each run has a "
        "fresh copy of the files, and levels are others. Name another ledger, and begin it with what was kept last as "
        "--base"
    )


def _begin(bench: Bench) -> None:
    """Runs the base for the first time, where that was not done."""
    if any("state" in line for line in bench.lines):
        return
    [values] = bench.values([bench.base], range(FIRST))
    bench.add(
        format=FORMAT,
        call=bench.call.as_data(),
        data=bench.data_identity,
        verdict="keep",
        commit=bench.base.name,
        tree=bench.base.digest,
        state=State.at_start(values).as_data(),
    )


def _decided_lines(bench: Bench) -> list[dict[str, Any]]:
    """Returns the lines with a state. Raises `AblateError` where they are of another call, base or data."""
    lines = [line for line in bench.lines if "state" in line]
    kept = [line for line in lines if line["verdict"] == "keep"][-1]
    call = lines[0]["call"]
    if lines[0].get("data", []) != bench.data_identity:
        raise AblateError(
            f"{bench.path}: the data under --link are not those on which its runs stand; restore them, or name another "
            "ledger"
        )
    if call != bench.call.as_data() or kept["tree"] != bench.base.digest:
        raise AblateError(
            f"{bench.path}: is of {' '.join(call['command'])} and the base {kept['commit']}; repeat the "
            "call that began it with this --base, or name another ledger"
        )
    return lines


def _judge(bench: Bench, decided: list[dict[str, Any]]) -> tuple[Answer, State]:
    """Runs a try, and returns what is said of it, and the state after it."""
    head = bench.head
    before = list(decided)
    # What a kill has cut short goes on from before.
    while before[-1]["verdict"] == "confirm" and before[-1]["tree"] == head.digest:
        before.pop()
    return attempt(
        State.from_data(before[-1]["state"]),
        screen=lambda seed: bench.run(head, seed),
        pairs=lambda seeds: bench.values([bench.base, head], seeds),
        begun=lambda state: bench.add(
            verdict="confirm", commit=head.name, tree=head.digest, state=state.as_data()
        ),
    )


def _shown(
    bench: Bench, answer: Answer, state: State, notes: list[str], changed: list[str]
) -> dict[str, Any]:
    """Returns the answer as it is printed."""
    ratio = time_ratio(bench)
    return {
        **asdict(answer),
        "confirmations": state.confirmations,
        "smallest_effect": state.smallest_effect,
        "alpha_left": state.level_left,
        "time_ratio": None if ratio is None else round(ratio, 3),
        "changed_measures": changed,
        "notes": notes,
        "commit": bench.head.name,
        "tree": bench.head.digest,
        "exit_code": EXIT_CODES[answer.verdict],
    }
