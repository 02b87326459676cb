"""The noise floor in words: a small table and a short paragraph, whatever is missing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ablate.report.brief.noise_floor import noise_blocks
from ablate.report.brief.verdicts import verdict_table
from made_evidence import LOSS, study
from rich.console import Console

from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, Sampling
from ablate.records.folder import StudyFolder
from ablate.records.verdicts import NOISE
from ablate.report.section import Material, Text
from ablate.report.tables import Table, rows_of
from ablate.report.terminal import print_verdicts
from ablate.stages.publish import describe

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
BOTH = {"baseline": BASE, "a": BASE + WOBBLE}
HINT = "none: “placebo: on” in the study adds one"


def shown(evidence: Evidence) -> tuple[dict[str, str], str]:
    """The cells of the one table, and the paragraph."""
    blocks = list(noise_blocks(Material(evidence, compare(evidence), pd.DataFrame())))
    (table,) = [block for block in blocks if isinstance(block, Table)]
    cells = {row["noise"]: row["value"] for row in table.rows}
    return cells, " ".join(block.words for block in blocks if isinstance(block, Text))


@pytest.mark.parametrize(
    ("evidence", "spread", "placebo", "detectable", "said"),
    [
        (
            study(BOTH | {"again": BASE - WOBBLE}, placebos=["again"], sampling=Sampling("fresh", 20_000)),
            "sd .0027 [.0016, .0078]; test set: about 32 % of the variance",
            ".0000 [−.0020, .0020], inconclusive",
            ".0027 with 80 % power",
            "About 32 % (at least 4 %) of the variance over seeds is the draw of 20,000 test examples for each seed",
        ),
        (
            study({"baseline": [0.9], "a": [0.8]}),
            "unknown: the baseline has one run",
            HINT,
            "unknown: fewer than",
            "",
        ),
        (
            study({"baseline": [0.9] * 3, "a": BASE[:3]}),
            "none: all 3 seeds gave .9000",
            HINT,
            "with 80 % power",
            "",
        ),
        (
            study({"baseline": [np.nan] * 3, "a": BASE[:3]}),
            "unknown: no run of the baseline has a value",
            HINT,
            "unknown: fewer than two pairs",
            "",
        ),
        (study({"baseline": BASE}), "sd .0027", HINT, "nothing was compared", ""),
        (
            study(BOTH, statuses={("baseline", 0): "diverged"}),
            "sd .38 [.23, 1.09]",
            HINT,
            "",
            "1 of 5 baseline runs diverged and count with the metric’s floor.",
        ),
        (
            study(BOTH, statuses={("baseline", 0): "diverged"}, metrics={"accuracy": Metric("max")}),
            "sd .0030 [.0017, .0111]",
            HINT,
            "",
            "1 baseline run diverged, left out of the spread: the metric has no floor.",
        ),
        (
            study({"baseline": [0.2, 0.9], "a": [0.9, 0.2]}),
            "sd .5 [.2, 15.8]",
            HINT,
            "no difference that the metric can show, with 80 % power",
            "1 of 1 difference is smaller than what these seeds detect: within the noise, marked ~.",
        ),
        (
            study({"baseline": [0.99] * 2, "a": [0.98] * 2}, outcome="all_or_nothing"),
            "none: all 2 seeds",
            HINT,
            "so few seeds tell no failure rate from 0",
            "",
        ),
        (
            study({"baseline": [0.99] * 10, "a": [0.98] * 10}, outcome="all_or_nothing"),
            "none",
            HINT,
            "a failure rate of .58 against 0, with 80 % power",
            "",
        ),
        (
            study(BOTH | {"b": BASE + 3 * WOBBLE}),
            "sd .0027",
            HINT,
            "(median of 2; .0032 to .0097)",
            "2 of 2",
        ),
    ],
)
def test_what_is_known_is_said_and_what_is_not_is_no_number(
    evidence: Evidence, spread: str, placebo: str, detectable: str, said: str
) -> None:
    cells, words = shown(evidence)
    assert cells["Seed spread"].startswith(spread)
    assert cells["Placebo"] == placebo
    assert detectable in cells["Detectable"]
    assert said in words
    assert not [text for text in [*cells.values(), words] if "nan" in text.lower() or "None" in text]


def test_shared_examples_are_not_said_to_be_drawn_anew() -> None:
    outcomes = BASE[:, None] + np.array([0.3, -0.3, 0.1, -0.1]) * np.array([1, -1, 2, -2, 0])[:, None]
    values = outcomes.mean(axis=1)
    shared = {"sampling": Sampling("held_out", 4), "metric": "loss", "metrics": {"loss": LOSS}}
    evidence = study(
        {"baseline": values, "a": values}, examples={"baseline": outcomes, "a": outcomes}, **shared
    )
    cells, words = shown(evidence)
    assert "test set: about 100 % of the variance" in cells["Seed spread"]
    assert "would go with many more test examples than these 4, on which runs differ one by one" in words
    assert "draw" not in words


def test_only_what_lies_within_the_noise_is_marked() -> None:
    table = compare(study(BOTH | {"worse": BASE - 0.1 + WOBBLE, "again": BASE + WOBBLE}, placebos=["again"]))
    cells = {row["variant"]: row["difference"] for row in verdict_table(rows_of(table)).rows}
    assert [name for name, words in cells.items() if words.startswith("~ ")] == ["a"]


def test_each_task_has_a_table() -> None:
    tasks = {name: {"accuracy": Metric("max", floor=0.1, ceiling=1.0)} for name in ("recall", "sort")}
    evidence = study(BOTH, tasks=tasks)
    blocks = noise_blocks(Material(evidence, compare(evidence), pd.DataFrame()))
    heads = [block.columns[1].heading for block in blocks if isinstance(block, Table)]
    assert heads == [f"accuracy on {task}, 5 seeds" for task in tasks]


def test_it_is_below_the_answer_in_page_terminal_mlflow_and_a_file(folder: Path) -> None:
    found = StudyFolder.at(folder)
    buffer = io.StringIO()
    print_verdicts(found, Console(file=buffer, width=80))
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    first = lines.index("Noise floor  accuracy, 5 seeds")
    assert [line.split("  ")[0] for line in lines[first + 1 : first + 4]] == [
        "Seed spread",
        "Placebo",
        "Detectable",
    ]
    assert lines[first + 4] == ""
    assert first < next(i for i, line in enumerate(lines) if "variant − baseline" in line)
    assert "| Noise floor | accuracy, 5 seeds |" in describe(found)
    assert [row["metric"] for row in found.beside(NOISE)] == ["accuracy"]
    page = (folder / "report.md").read_text()
    assert page.index("## Answer") < page.index("| Seed spread |") < page.index("The baseline learned")
