"""The sections of a sweep: their tables, their figures, and the page that has them."""

import re

import numpy as np
import pandas as pd
import pytest
import searches
from made_searches import after_search

from ablate.analysis.compare import compare
from ablate.analysis.optuna_study import rebuilt
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder
from ablate.report.section import Picture, ReportData
from ablate.report.sections import SECTIONS
from ablate.report.sections.sweep import best_table, winner_table

TWO = (searches.ACCURACY, searches.PARAMETERS)


def report_data(made, after=None):
    after = after or searches.after(made)
    return ReportData(after_search(made, after), compare(after), pd.DataFrame())


def column(table, key):
    assert table is not None
    return [row[key] for row in table.rows]


def drawn(made):
    """The pictures of the sections of a sweep, by name."""
    of = report_data(made)
    mine = [section for section in SECTIONS if section.name.startswith("sweep") and section.applies(of)]
    return {
        picture.name: picture
        for section in mine
        for picture in section.blocks(of)
        if isinstance(picture, Picture)
    }


def test_the_winners_curse_in_numbers():
    made = searches.sweep(40)
    after = searches.after(made)
    table = winner_table(made, after)
    assert column(table, "variant") == ["winner", "baseline"]
    seen = float(made.trials.loc[made.trials["chosen"] == "winner", "accuracy"].iloc[0])
    mine = after.trials[after.trials["variant"] == "winner"]
    row = table.rows[0]
    assert float(row["tuning"].split(" ± ")[0]) == pytest.approx(seen, abs=1e-3)
    assert float(row["fresh"].split(" ± ")[0]) == pytest.approx(mine["validation_accuracy"].mean(), abs=1e-3)
    assert float(row["test"].split(" ± ")[0]) == pytest.approx(mine["accuracy"].mean(), abs=1e-3)
    change = float(row["change"].replace("−", "-"))
    assert change == pytest.approx(mine["validation_accuracy"].mean() - seen, abs=1e-3)
    assert row["n"] == "5"
    assert "training.lr=0.00" in row["setting"]
    waiting = winner_table(made, searches.after(made, trained=False))
    assert (column(waiting, "fresh")[0], column(waiting, "change")[0]) == ("–", "–")


def test_the_best_come_first_and_of_several_objectives_the_front():
    made = searches.sweep(40)
    numbers = [int(cell.split(",")[0]) for cell in column(best_table(made), "number")]
    values = made.trials.set_index("number")["accuracy"][numbers]
    assert len(numbers) == 20
    assert values.is_monotonic_decreasing
    assert column(best_table(made), "number")[0].endswith(", winner")
    several = searches.sweep(40, TWO)
    shown = {int(cell.split(",")[0]) for cell in column(best_table(several), "number")}
    assert shown == set(several.trials.loc[several.trials["front"], "number"])
    spread = searches.sweep(40, (searches.DIVERGENCE, searches.ACCURACY), trouble=False)
    assert not any("±" in cell for cell in column(best_table(spread), "objective divergence_rate"))
    assert all("±" in cell for cell in column(best_table(spread), "objective accuracy"))


@pytest.mark.parametrize("objectives", [(searches.ACCURACY,), TWO])
def test_the_figures_of_a_sweep(objectives):
    made = searches.sweep(24, objectives)
    found = drawn(made)
    front = {"sweep-front"} if len(objectives) > 1 else set()
    assert set(found) == {"sweep-history", "sweep-importances", "sweep-slices"} | front
    tried = made.trials[made.trials["accuracy"].notna()].sort_values("number")
    history = found["sweep-history"].data
    assert list(history["number"]) == list(tried["number"])
    assert list(history["best"]) == list(tried["accuracy"].cummax())
    names = list(found["sweep-importances"].data["name"])
    assert sorted(names) == sorted(found["sweep-slices"].options[0].values()), "the same words"
    assert found["sweep-slices"].options[1] == ["training.lr", "model.d_model"]


def test_few_settings_have_their_history_alone_and_none_have_nothing():
    assert set(drawn(searches.sweep(4))) == {"sweep-history"}
    made = searches.sweep(6)
    made.trials["status"], made.trials["accuracy"], made.trials["chosen"] = "failed", np.nan, ""
    assert not drawn(made)


def test_a_study_of_optuna_is_rebuilt_from_the_table():
    made = searches.sweep(40, TWO)
    study = rebuilt(made, "", "digits")
    states = {"completed": "COMPLETE", "pruned": "PRUNED", "invalid": "PRUNED", "failed": "FAIL"}
    assert study.metric_names == ["accuracy", "parameters"]
    for trial, row in zip(study.trials, made.trials.to_dict("records"), strict=True):
        if row["status"] != "diverged":
            assert trial.state.name == states[row["status"]]
        if trial.state.name == "COMPLETE":
            assert trial.values == [row["accuracy"], row["parameters"]]
        has = {path for path in made.paths if not pd.isna(row[path])}
        assert trial.params == {path: row[path] for path in has}
        assert trial.distributions["training.lr"].log


def published(folder, made, **options):
    study = StudyFolder.at(folder)
    study.save_evidence(after_search(made, searches.after(made, **options)))
    write_report(study, pytest.fail)
    return folder


@pytest.mark.slow
def test_the_page_of_a_sweep_is_the_same_again(tmp_path):
    made = searches.sweep(24, TWO, winners=2)
    folder, again = (published(tmp_path / name, made, placebo=True) for name in "ab")
    page = (folder / "report.html").read_text(encoding="utf-8")
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:href="#|aria-labelledby="|url\(#)([^")]*)', page)) <= set(identifiers)
    assert {"sweep", "sweep-figures"} <= set(identifiers)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        assert path.read_bytes() == (again / path.relative_to(folder)).read_bytes(), path.name
