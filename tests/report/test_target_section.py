"""The table of the time to a target."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
from timings import material, study

from ablate.report.section import Table
from ablate.report.sections.target import TimeToTarget

TARGETS = pd.DataFrame(
    [
        (
            "baseline",
            "recall",
            "accuracy",
            0.95,
            4,
            4,
            250.0,
            -20.0,
            300.0,
            0.9,
            3e9,
            *[math.nan] * 4,
            "",
            "EVERY",
        ),
        (
            *("slow", "recall", "accuracy", 0.95, 4, 3, 400.0, 300.0, 500.0, math.nan, math.nan, -150.0),
            *(-200.0, -100.0, 0.01, "worse", "1 of 4 runs never get there; EVERY"),
        ),
    ],
    columns=[
        *(
            "variant",
            "task",
            "metric",
            "target",
            "n",
            "reached",
            "steps",
            "steps_low",
            "steps_high",
            "seconds",
        ),
        *("flops", "diff", "ci_low", "ci_high", "p", "verdict", "note"),
    ],
)


def test_runs_that_never_get_there_are_counted() -> None:
    made = material(study())
    table, _ = TimeToTarget().blocks(replace(made, targets=TARGETS))
    assert isinstance(table, Table)
    base, slow = table.rows
    assert (base["reached"], base["steps"], base["seconds"], base["flops"]) == (
        "4 of 4",
        "250 [0, 300]",
        "900 ms",
        "3G",
    )
    assert (base["difference"], base["p"], base["verdict"], base["note"]) == ("–", "–", "–", "")
    assert (slow["reached"], slow["seconds"], slow["flops"], slow["verdict"]) == (
        "3 of 4",
        "–",
        "–",
        "slower (exploratory)",
    )
    assert slow["note"] == "1 of 4 runs never get there"
    assert table.caption.startswith("Until accuracy .95 on validation data")
    assert table.caption.endswith("EVERY")
    assert not TimeToTarget().applies(made)
