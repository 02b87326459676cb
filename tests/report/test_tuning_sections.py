"""The section of a study whose variants were tuned."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_searches import by_learning_rate, searched
from matplotlib.backends.backend_agg import FigureCanvasAgg
from synthetic import UGLY, study

from ablate.analysis.compare import compare
from ablate.core.facts import Evidence
from ablate.features.search.budgets import budget_curves, budgets, changes
from ablate.features.search.sections.tuning import Tuning, budget_table, change_table
from ablate.features.search.table import SearchTable
from ablate.records.folder import StudyFolder
from ablate.report.draw import style
from ablate.report.section import Material, Picture
from ablate.report.words import Table
from ablate.route.publish import publish

NORMS = {"model.norm": {"layer": 0.0, "batch": -0.002, "rms": 0.001}}
BEFORE = {"model.norm": {"layer": 0.0, "batch": -0.05, "rms": 0.001}}
BEST = {"baseline": (0.98, 3e-3), "model.norm=batch": (0.97, 0.08), "model.norm=rms": (0.98, 2e-3)}
BATCH, RMS = "model.norm=batch", "model.norm=rms"
TWO = {"baseline": [0.6, 0.8, 0.7], BATCH: [0.5, 0.9, 0.4], RMS: [0.5, 0.9, 0.4]}


def norms(effects: Mapping[str, dict[str, float]] = NORMS, **options: object) -> Evidence:
    made = study(factors=dict(effects), named={}, claims=False, trouble=False, **options)  # type: ignore[arg-type]
    return dataclasses.replace(made, facts=dataclasses.replace(made.facts, searched="tuning"))


def found(search: SearchTable, tuned: Evidence, untuned: Evidence | None = None) -> Evidence:
    known = tuned.having("search", search.trials, dataclasses.asdict(search.facts))
    if untuned is None:
        return known
    return dataclasses.replace(known, frames={**known.frames, "untuned": untuned.trials})


def material(search: SearchTable, tuned: Evidence, untuned: Evidence | None = None) -> Material:
    return Material(found(search, tuned, untuned), compare(tuned), pd.DataFrame())


def table_of(search: SearchTable, tuned: Evidence) -> Table:
    return budget_table(search, budgets(search, tuned.facts, budget_curves(search)))


def findings(search: SearchTable, untuned: Evidence | None = None, **options: object) -> list[str]:
    return Tuning().findings(material(search, norms(placebo=False, **options), untuned))


def drawings(search: SearchTable, tuned: Evidence) -> list[Picture]:
    return [block for block in Tuning().blocks(material(search, tuned)) if isinstance(block, Picture)]


def published(folder: Path, search: SearchTable, tuned: Evidence, untuned: Evidence | None = None) -> str:
    at = StudyFolder.at(folder)
    at.save_evidence(found(search, tuned, untuned))
    publish(at, pytest.fail)
    text = re.sub(r"<[^>]*>", "", (folder / "report.html").read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", text.replace("\u00a0", " "))


@pytest.mark.slow
def test_the_page_has_the_budget_and_what_it_changed(tmp_path: Path) -> None:
    text = published(tmp_path, by_learning_rate(BEST), norms(), norms(BEFORE))
    for piece in (
        "the same budget: 12 settings × 2 tuning seeds",
        "Tuning moved",
        "Best against budget",
        "Moved by",
    ):
        assert piece in text, piece
    assert (tmp_path / "figures/budget.png").is_file()


def test_without_the_untuned_trials() -> None:
    blocks = Tuning().blocks(material(by_learning_rate(BEST), norms()))
    assert sum(isinstance(block, Table) for block in blocks) == 2


def test_names_of_the_study_are_text(tmp_path: Path) -> None:
    made = study(factors=NORMS, claims=False, trouble=False)
    tuned = dataclasses.replace(made, facts=dataclasses.replace(made.facts, searched="tuning"))
    published(tmp_path, by_learning_rate({**BEST, UGLY: (0.9, 3e-3)}), tuned)
    assert "<script>alert" not in (tmp_path / "report.html").read_text()


def test_the_table_of_budgets_holds_what_was_lost() -> None:
    values = {"baseline": [0.7, 0.9], BATCH: [0.6, np.nan], RMS: [np.nan, np.nan]}
    statuses = {(BATCH, 1): "failed", ("baseline", 0): "diverged", (RMS, 0): "failed", (RMS, 1): "failed"}
    table = table_of(searched(values, statuses=statuses), norms())
    assert [column.heading for column in table.columns] == [
        *("Variant", "Settings", "Tuning seeds", "Trainings", "Diverged", "Failed", "Training seconds"),
        *("lr", "Accuracy, tuning seeds", "Note"),
    ]
    _, batch, rms, *_ = table.rows
    assert (batch["trainings"], batch["failed"], batch["training.lr"], batch["best"]) == (
        "2",
        "1",
        ".001",
        ".600",
    )
    assert (rms["training.lr"], rms["best"]) == ("–", "–")


def test_the_table_of_changes_holds_both_differences() -> None:
    tuned, untuned = norms(), norms(BEFORE, num_seeds=4)
    row = change_table(changes(tuned, untuned.trials), "accuracy").rows[0]
    assert row["untuned"].startswith("−.047")
    assert row["tuned"].startswith("−.00")
    assert row["shift"].startswith("+.0")


@pytest.mark.parametrize(
    ("search", "numbers"),
    [
        (searched(TWO, seeds=2), [3, 2, 18]),
        (searched(TWO, trials=12), [12, 2, 18]),
        (searched(TWO, pruner="median", statuses={(BATCH, 2): "pruned"}), [5, 6, 3, 2, 17, 1]),
        (
            searched(TWO, statuses={(BATCH, 0): "diverged", (RMS, 0): "failed", (RMS, 2): "invalid"}),
            [2, 6, 3, 2, 14, 1, 1, 1],
        ),
        (searched({"baseline": [0.5] * 4, BATCH: [0.5] * 3, RMS: [0.5] * 4}), [3, 4, 4, 2, 22]),
    ],
)
def test_the_parity_of_budgets_in_numbers(search: SearchTable, numbers: list[int]) -> None:
    said = findings(search)[0]
    assert [int(number) for number in re.findall(r"(?<![\w.])\d+", said)] == numbers
    assert said.startswith("Not every") == (len({*search.trials.groupby("variant").size()}) > 1)


def test_what_may_be_wrong_with_a_budget_is_named() -> None:
    nothing = searched({**TWO, BATCH: [math.nan] * 3}, statuses={(BATCH, i): "failed" for i in range(3)})
    assert any("no setting that was tried has a value: batch norm" in said for said in findings(nothing))
    lrs = {"baseline": [1e-3, 2e-3, 3e-3], BATCH: [1e-3, 0.0912, 2e-3], RMS: [1e-3, 0.09, 2e-3]}
    *_, edge = findings(searched(TWO, lrs=lrs))
    assert "training.lr lies at the upper edge" in edge
    assert "(.0912)" in edge
    assert "(.09)" in edge
    rising = {"baseline": [0.5] * 6, BATCH: [0.5] * 5 + [0.8], RMS: [0.8, 0.81, 0.8, 0.8, 0.8, 0.8]}
    assert "batch norm" in findings(searched(rising))[-1]
    assert len(findings(searched(rising, sampler="grid"))) == 1


def test_a_difference_that_tuning_moved_is_named() -> None:
    before = norms(BEFORE, placebo=False)
    assert findings(searched(TWO), before)[-1].endswith("1 of 2 comparisons: batch norm.")
    assert "not shown to have moved" in findings(searched(TWO), norms(placebo=False))[-1]


def test_the_lines_are_the_curves() -> None:
    (picture,) = drawings(by_learning_rate(BEST), norms())
    with style.context():
        (ax,) = picture.draw().axes
    lines = [line for line in ax.lines if len(line.get_xdata()) == 12]  # type: ignore[arg-type]
    assert len(lines) == 3
    for line, name in zip(lines, BEST, strict=True):
        mine = picture.data[picture.data["variant"] == name]
        np.testing.assert_array_equal(line.get_xdata(), mine["n"])
        np.testing.assert_array_equal(line.get_ydata(), mine["best"])
    assert len([band for band in ax.collections if band.get_paths()]) == 3


@pytest.mark.parametrize("many", [False, True])
def test_nothing_is_written_outside_the_figure(many: bool) -> None:
    evidence = study() if many else norms()
    names = [v.name for v in evidence.facts.variants if not v.placebo]
    (picture,) = drawings(by_learning_rate(dict.fromkeys(names, (0.97, 3e-3))), evidence)
    with style.context():
        figure = picture.draw()
        FigureCanvasAgg(figure).draw()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02
    # The baseline and its placebo share a search: the placebo has no panel.
    assert len(figure.axes) == (7 if many else 1)


def test_each_task_has_a_figure_and_a_grid_none() -> None:
    evidence = norms(tasks=("recall", "a/<b>"), num_seeds=2)
    found = drawings(by_learning_rate(BEST, tasks=("recall", "a/<b>")), evidence)
    assert [picture.name for picture in found] == ["budget-1-recall", "budget-2-a-b"]
    assert not drawings(by_learning_rate(BEST, sampler="grid"), norms())
    assert len(drawings(searched({name: [0.9] for name in BEST}), norms())) == 1
