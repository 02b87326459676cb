"""Several tasks: on how many of them each verdict holds."""

from __future__ import annotations

from made_evidence import ACCURACY, study

from ablate.analysis.across import across
from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence

A = {"digits": [0.5, 0.52, 0.47, 0.51], "recall": [0.3, 0.31, 0.33, 0.28]}
B = {"digits": [0.9, 0.93, 0.88, 0.91], "recall": [0.32, 0.30, 0.35, 0.27]}


def made(*tasks: str) -> Evidence:
    values = {name: {task: of[task] for task in tasks} for name, of in {"baseline": A, "b": B}.items()}
    return study(values, tasks={task: {"accuracy": ACCURACY} for task in tasks})


def test_verdicts_are_counted_by_task() -> None:
    evidence = made("digits", "recall")
    row = across(evidence.facts, compare(evidence)).iloc[0]
    assert (row["tasks"], row["better"], row["worse"], row["open"]) == (2, 1, 0, 1)
    alone = made("digits")
    assert across(alone.facts, compare(alone)).empty
