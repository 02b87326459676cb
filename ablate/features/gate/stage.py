"""One try of a stream: its runs, what the rule says of them, and what the ledger keeps.

Lines of a ledger: the call and the first base; `run`, a finished run; `try`, the start of one, with its first seed and
the state before it; `confirmation`, the start of one, with the state that it leaves even if it never ends; `verdict`,
what was said of a try, with the state after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data
from ablate.external.bench import Bench, NotMeasured, refuse_equal
from ablate.external.commits import Tree
from ablate.features.gate.rule import FIRST, PAIRS, State, decide, start

CODES = {"keep": 0, "discard": 1, "retest": 3}


def gate(bench: Bench) -> dict[str, Any]:
    """What is said of the second tree, which is discarded where a run of it fails; the first is the base.

    Raises `NotMeasured` where a run of the base fails.
    """
    base, head = bench.trees
    entry = _begun(bench, base, head)
    before = after = State(**entry["state"])
    seeds = range(entry["seed"] + 1, entry["seed"] + 1 + PAIRS)
    said: dict[str, Any] = {"verdict": "discard"}
    try:
        (screen,) = _scores(bench, head, [entry["seed"]])
        decision, after = decide(before, screen)
        if decision.verdict == "confirm":
            bench.add(confirmation=after.confirmations, state=asdict(after))
            pairs = [(tree, seed) for seed in seeds for tree in ((base, head) if seed % 2 else (head, base))]
            for tree, seed in pairs:
                bench.run(tree, seed)
            decision, after = decide(before, screen, *(_scores(bench, tree, seeds) for tree in (head, base)))
        said = asdict(decision)
    except NotMeasured as error:
        if error.tree == base:
            raise
        said["fault"] = str(error)
    said |= {
        "smallest_effect": after.smallest,
        "alpha_left": after.left,
        "confirmations": after.confirmations,
    }
    said |= {"commit": head.commit, "tree": head.digest, "exit_code": CODES[said["verdict"]]}
    bench.add(**said, state=asdict(after))
    return said


def _begun(bench: Bench, base: Tree, head: Tree) -> dict[str, Any]:
    """The line of the try that is under way, or that begins. Refuses another call, and another base."""
    lines, call = bench.lines, asdict(bench.call)
    first = lines[0] if lines else bench.add(call=call, commit=base.commit, tree=base.digest)
    if digest_of_data(first.get("call")) != digest_of_data(call):
        raise AblateError(f"{bench.path}: is of another call, {first}; repeat that, or name another ledger")
    last = [first, *(line for line in lines if line.get("verdict") == "keep")][-1]
    if base.digest != last["tree"]:
        raise AblateError(
            f"--base {base}: is not the base of {bench.path}, {last['commit'][:10]}; name that, or another ledger"
        )
    states = [line["state"] for line in lines if "state" in line]
    if not states:
        refuse_equal(values := _scores(bench, base, range(FIRST)))
        states = [asdict(start(values))]
    marks = [line for line in lines if "try" in line or "verdict" in line]
    if marks and "try" in marks[-1] and marks[-1]["tree"] == head.digest:
        return marks[-1]
    seed = FIRST + (1 + PAIRS) * sum("try" in line for line in marks)
    return bench.add(**{"try": head.commit}, tree=head.digest, seed=seed, state=states[-1])


def _scores(bench: Bench, tree: Tree, seeds: Iterable[int]) -> list[float]:
    way = 1 if bench.call.direction == "max" else -1
    return [way * bench.run(tree, seed) for seed in seeds]
