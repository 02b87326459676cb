"""The sections of a study whose variants were tuned."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn import drawn_once
from made_searches import by_learning_rate, searched
from matplotlib.backends.backend_agg import FigureCanvasAgg
from synthetic import UGLY, study

from ablate.analysis.compare import compare
from ablate.analysis.tuning import budget_curves, budgets, changes
from ablate.core.evidence import Evidence
from ablate.core.search_table import Parameter, SearchTable
from ablate.records.folder import StudyFolder
from ablate.report.draw import style
from ablate.report.section import Material, Picture
from ablate.report.sections.tuning_budget import TuningBudget
from ablate.report.sections.tuning_changed import change_table
from ablate.report.sections.tuning_given import TuningGiven, budget_table
from ablate.report.tables import Table
from ablate.stages.publish import publish

NORMS = {"model.norm": {"layer": 0.0, "batch": -0.002, "rms": 0.001}}
BEFORE = {"model.norm": {"layer": 0.0, "batch": -0.05, "rms": 0.001}}
BEST = {"baseline": (0.98, 3e-3), "model.norm=batch": (0.97, 0.08), "model.norm=rms": (0.98, 2e-3)}


def norms(effects: Mapping[str, dict[str, float]] = NORMS, **options: object) -> Evidence:
    made = study(factors=dict(effects), named={}, claims=False, trouble=False, **options)  # type: ignore[arg-type]
    return dataclasses.replace(made, facts=dataclasses.replace(made.facts, searched="tuning"))


def material(search: SearchTable, tuned: Evidence, untuned: Evidence | None = None) -> Material:
    before = None if untuned is None else compare(untuned)
    return Material(
        tuned,
        compare(tuned),
        pd.DataFrame(),
        searched=search,
        untuned=untuned,
        untuned_comparisons=before,
    )


def table_of(search: SearchTable, tuned: Evidence) -> Table:
    return budget_table(search, budgets(search, tuned.facts, budget_curves(search, tuned.facts)))


def drawings(search: SearchTable, tuned: Evidence) -> list[Picture]:
    return [block for block in TuningBudget().blocks(material(search, tuned)) if isinstance(block, Picture)]


def published(
    folder: Path, search: SearchTable | None, tuned: Evidence, untuned: Evidence | None = None
) -> Path:
    study = StudyFolder.at(folder)
    study.save_evidence(tuned)
    if search:
        study.save_search_table("tuning", search)
    if untuned:
        study.save_evidence(untuned, untuned=True)
    publish(study, pytest.fail)
    return folder


@pytest.fixture(autouse=True, scope="module")
def _figures_are_drawn_once() -> Iterator[None]:
    with drawn_once():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("tuned"), by_learning_rate(BEST), norms(), norms(BEFORE))


def plain(folder: Path) -> str:
    text = re.sub(r"<[^>]*>", "", (folder / "report.html").read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", text.replace("\u00a0", " "))


def test_the_page_says_what_was_given_and_what_it_changed(folder: Path) -> None:
    text = plain(folder)
    for piece in (
        "Every variant was tuned with the same budget: 12 settings × 2 tuning seeds over training.lr (sampler random)",
        "Tuning changed 1 of 2 verdicts, with 95 % intervals: batch norm was worse (−.0",
        "Untuned (exploratory)",
        "the verdict changed, and so did its difference",
        ".0001 to .1log",
        "The baseline learned: it reached accuracy",
        "Best against budget",
    ):
        assert piece in text, piece
    order = [
        "Every variant was tuned",
        "Tuning changed 1 of 2",
        "it reached accuracy",
        "How to read a verdict",
    ]
    assert sorted(order, key=text.index) == order


def test_the_markdown_says_the_same(folder: Path) -> None:
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "## What tuning changed" in text
    assert (
        "![The best validation accuracy against the number of settings tried, of 3 variants.](figures/budget.png)"
        in text
    )
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count("|") for line in block.strip().split("\n")}) == 1
    assert (folder / "figures/budget.png").is_file()


def test_the_untuned_comparisons_are_exploratory(folder: Path) -> None:
    before = pd.read_csv(folder / "untuned" / "comparisons.csv")
    assert before["exploratory"].all()
    expected = compare(norms(BEFORE))
    pd.testing.assert_series_equal(before["diff"], expected["diff"])
    assert (
        not pd.read_csv(folder / "comparisons.csv")
        .query("variant == 'model.norm=batch'")["exploratory"]
        .iloc[0]
    )


def test_links_lead_somewhere(folder: Path) -> None:
    source = (folder / "report.html").read_text(encoding="utf-8")
    identifiers = re.findall(r'\bid="([^"]*)"', source)
    assert len(set(identifiers)) == len(identifiers)
    assert set(re.findall(r'href="#([^"]*)"', source)) <= set(identifiers)
    assert {"tuning-given", "tuning-changed", "tuning-budget"} <= set(re.findall(r'href="#([^"]*)"', source))


@pytest.mark.parametrize("missing", ["all of it", "trials.parquet", "curves.parquet"])
def test_without_the_untuned_evidence(tmp_path: Path, missing: str) -> None:
    tuned = norms(num_seeds=3)
    if missing != "all of it":
        StudyFolder.at(tmp_path).save_evidence(norms(BEFORE), untuned=True)
        (tmp_path / "untuned" / missing).unlink()
    text = plain(published(tmp_path, by_learning_rate(BEST), tuned))
    assert "What each variant was given" in text
    assert "Tuning changed" not in text
    assert "What tuning changed" not in text


def test_with_untuned_evidence_of_nothing(tmp_path: Path) -> None:
    untuned = norms(BEFORE)
    empty = Evidence(untuned.facts, untuned.trials.iloc[:0], untuned.curves.iloc[:0])
    text = plain(published(tmp_path, by_learning_rate(BEST), norms(num_seeds=3), empty))
    assert "What each variant was given" in text
    assert "What tuning changed" not in text


@pytest.mark.parametrize(("search", "says"), [(None, "tuning"), (by_learning_rate(BEST), "")])
def test_without_searches_the_report_is_as_ever(
    tmp_path: Path, search: SearchTable | None, says: str
) -> None:
    """Also beside a table that an earlier version of the study has left behind."""
    tuned = norms(num_seeds=2, placebo=False)
    given = dataclasses.replace(tuned, facts=dataclasses.replace(tuned.facts, searched=says))
    text = plain(published(tmp_path, search, given))
    assert "tuned" not in text
    assert "What each variant was given" not in text


def test_names_of_the_study_are_text(tmp_path: Path) -> None:
    made = study(factors=NORMS, claims=False, trouble=False)
    tuned = dataclasses.replace(made, facts=dataclasses.replace(made.facts, searched="tuning"))
    source = (
        published(tmp_path, by_learning_rate({**BEST, UGLY: (0.9, 3e-3)}), tuned) / "report.html"
    ).read_text()
    assert "<script>alert" not in source


# Tables


def test_the_table_of_budgets_holds_what_was_lost() -> None:
    values = {"baseline": [0.7, 0.9], "model.norm=batch": [0.6, np.nan], "model.norm=rms": [0.5, 0.4]}
    statuses = {("model.norm=batch", 1): "failed", ("baseline", 0): "diverged"}
    table = table_of(searched(values, statuses=statuses), norms())
    assert [column.heading for column in table.columns] == [
        *("Variant", "Settings", "Tuning seeds", "Trainings", "Diverged", "Failed", "Training seconds"),
        *("lr", "Accuracy, tuning seeds", "Note"),
    ]
    row = table.rows[1]
    assert (row["trainings"], row["failed"], row["of training.lr"], row["best"]) == ("2", "1", ".001", ".600")


def test_a_search_that_chose_nothing_has_a_dash() -> None:
    values = {"baseline": [0.7], "model.norm=batch": [np.nan], "model.norm=rms": [0.5]}
    row = table_of(searched(values, statuses={("model.norm=batch", 0): "failed"}), norms()).rows[1]
    assert (row["of training.lr"], row["best"]) == ("–", "–")


def test_the_table_of_changes_holds_both_verdicts() -> None:
    tuned, untuned = norms(), norms(BEFORE, num_seeds=4)
    row = change_table(changes(tuned, compare(tuned), untuned, compare(untuned))).rows[0]
    assert (row["untuned"], row["verdict"]) == ("worse", "equivalent")
    assert row["note"].endswith("untuned on 4 pairs, tuned on 5")


def test_the_space_is_beside_the_budgets() -> None:
    parameters = [
        Parameter("training.lr", "float", 1e-4, 0.1, log=True),
        Parameter("model.mixer", "choice", choices=["attention", "lstm"]),
        Parameter("model.mixer.num_heads", "int", 2, 8, step=2, when="model.mixer=attention"),
    ]
    settings = [{"training.lr": 1e-3, "model.mixer": "lstm"}]
    search = searched({name: [0.5] for name in BEST}, parameters=parameters, settings=settings)
    given, _, space = TuningGiven().blocks(material(search, norms()))
    assert isinstance(given, Table)
    assert isinstance(space, Table)
    assert [list(row.values()) for row in space.rows] == [
        ["training.lr", "float", ".0001 to .1", "log", "always"],
        ["model.mixer", "choice", "attention, lstm", "–", "always"],
        ["model.mixer.num_heads", "int", "2 to 8", "linear, step 2", "model.mixer=attention"],
    ]
    assert given.rows[0]["of model.mixer"] == "lstm"


# Figures


@pytest.mark.parametrize("sampler", ["random", "tpe"])
@pytest.mark.parametrize("many", [False, True])
def test_nothing_is_written_outside_the_figure(many: bool, sampler: str) -> None:
    evidence = study() if many else norms()
    names = [v.name for v in evidence.facts.variants if not v.placebo]
    (picture,) = drawings(by_learning_rate(dict.fromkeys(names, (0.97, 3e-3)), sampler=sampler), evidence)
    with style.context():
        figure = picture.draw()
        FigureCanvasAgg(figure).draw()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02
    # The baseline and its placebo share a search: the placebo has no panel.
    assert len(figure.axes) == (7 if many else 1)
    assert ("Band: " in picture.caption) == (sampler == "random")


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_the_lines_are_the_curves(sampler: str) -> None:
    (picture,) = drawings(by_learning_rate(BEST, sampler=sampler), norms())
    with style.context():
        (ax,) = picture.draw().axes
    lines = [line for line in ax.lines if len(line.get_xdata()) == 12]  # type: ignore[arg-type]
    assert len(lines) == 3
    for line, name in zip(lines, BEST, strict=True):
        mine = picture.data[picture.data["variant"] == name]
        np.testing.assert_array_equal(line.get_xdata(), mine["n"])
        np.testing.assert_array_equal(line.get_ydata(), mine["best"])
        assert line.get_drawstyle() == ("default" if sampler == "random" else "steps-post")
    bands = [band for band in ax.collections if band.get_paths()]
    assert len(bands) == (3 if sampler == "random" else 0)


def test_one_setting_is_a_figure_too() -> None:
    (picture,) = drawings(searched({name: [0.9] for name in BEST}), norms())
    with style.context():
        FigureCanvasAgg(picture.draw()).draw()


def test_each_task_has_a_figure() -> None:
    evidence = norms(tasks=("recall", "a/<b>"), num_seeds=2)
    found = drawings(by_learning_rate(BEST, tasks=("recall", "a/<b>")), evidence)
    assert [picture.name for picture in found] == ["budget-1-recall", "budget-2-a-b"]
