"""A reason in words, for the time being: codes of `core.reason` and their templates."""

from __future__ import annotations

from ablate.analysis.power import MAX_SEEDS
from ablate.base.wording import counted, exact, in_percent
from ablate.core.reason import Reason
from ablate.report.tables import text

TEMPLATES = {
    "incomplete": "{missing} of the planned pairs failed or are missing",
    "few": "{n} available, at least {least} needed",
    "unstable": "{diverged} diverged",
    "scale": "a side is at the metric's bound, where differences shrink whatever the parts do",
    "ceiling": "every run reaches the best possible value; failures of up to {failures} of runs are not excluded",
    "unsolved": "no run solved the task",
    "floor": "no run is better than guessing",
    "degenerate": "every difference is 0",
    "groups": "runs of one variant fall into groups, which a mean hides",
    "several": "a side is several variants, whose seeds cannot be paired",
    "untrained": "no learning rate trains it on {seeds} of {of} seeds",
    "late": "{runs} never reach the target in {steps} steps, and others train for {longest}",
    "rate": "rests on learning rate {rate}",
    "slack": "the margin is below the noise floor or 2 % ({slack})",
    "unmeasured": "not measured: `ablate bench` does it",
    "unknown": "no task has this metric",
    "open": "about {seeds} seeds would settle it if the observed difference is the true one",
    "examples": "more examples, not more seeds, would settle it",
    "unseen": "failures of up to {failures} of runs are not excluded",
    "pairs": "no pair with the baseline is known",
    "pool": "every seed draws from one pool of examples: more examples, not more seeds",
}
"""Code → the words, with its numbers."""
MANY = f"more than {MAX_SEEDS:,} seeds would be needed to settle the observed difference"


def words_of(reason: object) -> str:
    """Of a reason or its text; of an older table, the sentence that stands there."""
    found = reason if isinstance(reason, Reason) else Reason.parse(text(reason))
    if found is None or found.code not in TEMPLATES:
        return text(reason)
    numbers = dict(found.numbers)
    if found.code == "open" and numbers.get("seeds", 0) > MAX_SEEDS:
        return MANY
    if found.code == "open" and "seeds" not in numbers:
        return ""
    if found.code == "few":
        (what, count), least = (
            next(pair for pair in numbers.items() if pair[0] != "least"),
            numbers["least"],
        )
        noun = {"n": "pair", "rates": "learning rate", "processes": "process"}[what]
        return f"{counted(round(count), noun)} available, at least {least:g} needed"
    shown = {name: _shown(name, value) for name, value in numbers.items()}
    untested = "; without a floor, groups of runs are not looked for" if "untested" in numbers else ""
    return TEMPLATES[found.code].format(**shown) + untested


def _shown(name: str, value: float) -> str:
    if name in ("failures", "slack"):
        return in_percent(value)
    if name in ("diverged", "runs"):
        return counted(round(value), "run")
    return exact(value)
