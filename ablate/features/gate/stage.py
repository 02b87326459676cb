"""One try of a stream: its runs, what the rule says of them, and what the ledger keeps.

Lines of a ledger: the call with the digest of the first base; `run`, a finished run; `try`, the start of one, with its
first seed and the state before it; `confirmation`, the start of one, with the state that it leaves even if it never
ends; `verdict`, what was said of a try, with the state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ablate.base.errors import AblateError
from ablate.external.ledger import Ledger
from ablate.external.measuring import Call, NotMeasured, refuse_equal
from ablate.external.trees import Tree
from ablate.features.gate.rule import FIRST, PAIRS, State, decide

CODES = {"keep": 0, "discard": 1, "retest": 3}
Scores = Callable[[Tree, Iterable[int]], list[float]]  # Of runs under these seeds, oriented.


def gate(
    ledger: Ledger, call: Call, trees: Sequence[Tree], run: Callable[[Tree, int], float]
) -> dict[str, Any]:
    """What is said of the second of the `trees`, which is discarded where a run of it fails; the first is the base.

    Raises `NotMeasured` where a run of the base fails.
    """
    base, head = trees

    def scores(tree: Tree, seeds: Iterable[int]) -> list[float]:
        return [run(tree, seed) * (1 if call.direction == "max" else -1) for seed in seeds]

    entry, fault = _begun(ledger, call, base, head, scores), ""
    state, seeds = State(**entry["state"]), range(entry["seed"] + 1, entry["seed"] + 1 + PAIRS)
    said: dict[str, Any] = {"verdict": "discard"}
    try:
        (screen,) = scores(head, [entry["seed"]])
        decision, after = decide(state, screen)
        if decision.verdict == "confirm":
            ledger.add(confirmation=after.confirmations, state=asdict(after))
            pairs = [(seed, tree) for seed in seeds for tree in ((base, head) if seed % 2 else (head, base))]
            values = {(tree, seed): scores(tree, [seed])[0] for seed, tree in pairs}
            tried, based = ([values[tree, seed] for seed in seeds] for tree in (head, base))
            decision, after = decide(state, screen, tried, based)
        said = asdict(decision)
    except NotMeasured as error:
        if error.tree == base:
            raise
        fault, after = str(error), State(**[line["state"] for line in ledger.lines if "state" in line][-1])
    said |= {
        "smallest_effect": after.smallest,
        "alpha_left": after.left,
        "confirmations": after.confirmations,
    }
    said |= {"fault": fault or None, "exit_code": CODES[said["verdict"]]}
    ledger.add(**said, tree=head.digest, commit=head.commit, state=asdict(after))
    return {"commit": head.commit, **said}


def _begun(ledger: Ledger, call: Call, base: Tree, head: Tree, scores: Scores) -> dict[str, Any]:
    """The line of the try that is under way, or that begins. Refuses another call, and another base."""
    first = (
        ledger.lines[0] if ledger.lines else ledger.add(base=base.digest, commit=base.commit, **call.facts)
    )
    if other := [name for name, value in call.facts.items() if first.get(name) != value]:
        given = f"{other[0]} is {first.get(other[0])!r}"
        raise AblateError(
            f"{ledger.path}: is of another call, whose {given}; repeat that, or name another ledger"
        )
    last = [first, *(line for line in ledger.lines if line.get("verdict") == "keep")][-1]
    if base.digest != last.get("base", last.get("tree")):
        raise AblateError(
            f"--base {base}: is not the base of {ledger.path}, which is {last['commit'][:10]}: name that, or a commit "
            "with the same files; of another base, begin another ledger"
        )
    known = [line["state"] for line in ledger.lines if "state" in line]
    if not known:
        refuse_equal(runs := scores(base, range(FIRST)))
        known = [asdict(State.start(runs))]
    marks = [first, *(line for line in ledger.lines if "try" in line or "verdict" in line)]
    if "try" in marks[-1] and marks[-1]["tree"] == head.digest:
        return marks[-1]
    seed = FIRST + (1 + PAIRS) * sum("try" in line for line in marks)
    return ledger.add(**{"try": head.commit}, tree=head.digest, seed=seed, state=known[-1])
