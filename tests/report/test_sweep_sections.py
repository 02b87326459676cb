"""The sections of a sweep: their tables, their sentences, and the page that has them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import searches

from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.core.search_table import SearchTable
from ablate.records.folder import StudyFolder
from ablate.report.markdown import markdown_table
from ablate.report.searches import value
from ablate.report.section import Material, Text
from ablate.report.sections.sweep_importances import SweepImportances
from ablate.report.sections.sweep_tried import MAX_REASONS, space_table, status_table
from ablate.report.sections.sweep_winners import SweepWinners, best_table, winner_table
from ablate.report.tables import Table
from ablate.search.importances import importances
from ablate.stages.publish import publish

TWO = (searches.ACCURACY, searches.PARAMETERS)


def sentences(made: SearchTable, after: Evidence) -> list[str]:
    return SweepWinners().findings(Material(after, compare(after), pd.DataFrame(), searched=made))


def column(table: Table | None, key: str) -> list[str]:
    assert table is not None
    return [row[key] for row in table.rows]


def test_the_winners_curse_in_numbers() -> None:
    made = searches.sweep(40)
    after = searches.after(made)
    table = winner_table(made, after)
    assert column(table, "variant") == ["winner", "baseline"]
    seen = float(made.trials.loc[made.trials["chosen"] == "winner", "accuracy"].iloc[0])
    mine = after.trials[after.trials["variant"] == "winner"]
    row = table.rows[0]  # type: ignore[union-attr]
    assert float(row["tuning"].split(" ± ")[0]) == pytest.approx(seen, abs=1e-3)
    assert float(row["fresh"].split(" ± ")[0]) == pytest.approx(mine["validation_accuracy"].mean(), abs=1e-3)
    assert float(row["test"].split(" ± ")[0]) == pytest.approx(mine["accuracy"].mean(), abs=1e-3)
    change = float(row["change"].replace("−", "-"))
    assert change == pytest.approx(mine["validation_accuracy"].mean() - seen, abs=1e-3)
    assert row["n"] == "5"
    assert "training.lr=.00" in row["setting"]


def test_only_the_task_of_the_search_counts() -> None:
    made = searches.sweep(40)
    after = searches.after(made)
    other = after.trials.assign(task="other", accuracy=0.0, validation_accuracy=0.0)
    tasks = [*after.facts.tasks, dataclasses.replace(after.facts.tasks[0], name="other")]
    both = dataclasses.replace(
        after, facts=dataclasses.replace(after.facts, tasks=tasks), trials=pd.concat([after.trials, other])
    )
    assert winner_table(made, both) == winner_table(made, after)


def test_a_winner_that_has_not_been_trained() -> None:
    made = searches.sweep(40)
    waiting = searches.after(made, trained=False)
    table = winner_table(made, waiting)
    assert column(table, "fresh")[0] == "–"
    assert column(table, "change")[0] == "–"
    assert "has not been trained on fresh ones yet" in sentences(made, waiting)[1]


def test_the_best_come_first() -> None:
    made = searches.sweep(40)
    numbers = [int(cell.split(",")[0]) for cell in column(best_table(made), "number")]
    values = made.trials.set_index("number")["accuracy"][numbers]
    assert len(numbers) == 10
    assert values.is_monotonic_decreasing
    assert column(best_table(made), "number")[0].endswith(", winner")


def test_of_several_objectives_the_front_is_shown() -> None:
    made = searches.sweep(40, TWO)
    front = set(made.trials.loc[made.trials["front"], "number"])
    shown = {int(cell.split(",")[0]) for cell in column(best_table(made), "number")}
    assert shown == front


def test_every_setting_is_counted() -> None:
    made = searches.sweep(40)
    table = status_table(made)
    assert sum(map(int, column(table, "n"))) == 40
    reasons = column(table, "reason")
    assert searches.REASONS["invalid"] in reasons
    assert "given up by the pruner at step 200" in reasons
    longer = SearchTable(dataclasses.replace(made.facts, trials=50), made.trials)
    assert status_table(longer).rows[-1]["n"] == "10"
    many = made.trials.assign(status="failed", reason=[f"reason {i}" for i in range(40)])
    rows = status_table(SearchTable(made.facts, many)).rows
    assert (len(rows), rows[-1]["n"]) == (MAX_REASONS + 1, "20")


def test_the_space_as_it_was_searched() -> None:
    table = space_table(searches.sweep(3))
    rows = {row["path"]: row for row in table.rows}
    assert rows["training.lr"]["range"] == ".0001 to .1"
    assert rows["training.lr"]["scale"] == "log"
    assert rows["model.dropout.residual"]["scale"] == "linear, step .05"
    assert rows["model.mixer.num_heads"]["when"] == "model.mixer=attention"
    assert markdown_table(table).count("\n") == 1 + len(searches.SPACE)


def test_the_sentences() -> None:
    made = searches.sweep(40)
    after = searches.after(made)
    first, second = sentences(made, after)
    assert first == (
        "Of 40 settings, 28 completed, 5 diverged, 5 were pruned, 1 failed and 1 could not be built."
    )
    verdict = compare(after).set_index("variant").loc["winner", "verdict"]
    assert verdict == "better"
    assert re.search(r"^The winner reached validation accuracy \.9\d+", second)
    assert "on 5 fresh ones, where it is better than the baseline on accuracy: +." in second


def test_sentences_without_a_winner_or_before_the_end() -> None:
    made = searches.sweep(40)
    none = SearchTable(dataclasses.replace(made.facts, trials=44), made.trials.assign(chosen=""))
    after = searches.after(none)
    (only,) = sentences(none, after)
    assert only.startswith("Of 44 settings, 28 completed")
    assert only.endswith("4 are still to be tried.")
    material = Material(after, compare(after), pd.DataFrame(), searched=none)
    assert SweepWinners().answers(material) == [
        "No setting was chosen: there is no winner to compare with the baseline."
    ]


def test_the_answer_of_a_sweep_has_every_winner_with_its_setting_and_what_it_reached() -> None:
    made = searches.sweep(24, TWO, winners=2)
    after = searches.after(made)
    first, *winners = SweepWinners().answers(Material(after, compare(after), pd.DataFrame(), searched=made))
    assert (
        first == "24 settings tried; best trade-offs of validation accuracy and parameters on tuning seeds:"
    )
    assert [line.partition(":")[0] for line in winners] == ["winner", "winner-2"]
    best = made.winners.to_dict("records")[0]
    assert f"lr {value(best['training.lr'])}" in winners[0]
    assert winners[0].endswith(f"{best['parameters']:,.0f} parameters")


def published(folder: Path, made: SearchTable, *, found: bool = True, **options: bool) -> Path:
    study = StudyFolder.at(folder)
    study.save_search_table("sweep", made)
    if found:
        study.save_importances(importances(made, resamples=2))
    study.save_evidence(searches.after(made, **options))  # type: ignore[arg-type]
    publish(study, pytest.fail)
    return folder


@pytest.mark.slow
def test_the_page_of_a_sweep(tmp_path: Path) -> None:
    folder = published(tmp_path / "a", searches.sweep(24, TWO, winners=2), placebo=True)
    page, text = ((folder / f"report.{end}").read_text(encoding="utf-8") for end in ("html", "md"))
    for piece in ("What the sweep found", "fANOVA", "Pareto front", "What was tried", "validation accuracy"):
        assert piece in page, piece
        assert piece in text, piece
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:href="#|aria-labelledby="|url\(#)([^")]*)', page)) <= set(identifiers)
    assert {"sweep-winners", "sweep-front", "sweep-contour", "sweep-tried"} <= set(identifiers)
    pictures = re.findall(r"!\[[^\]]{30,}\]\((.*?)\)", text)
    assert sorted(pictures) == sorted(str(p.relative_to(folder)) for p in (folder / "figures").glob("*.png"))
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count("|") for line in block.strip().split("\n")}) == 1
    assert text.index("Of 24 settings") < text.index("## Verdicts")


@pytest.mark.slow
def test_the_same_sweep_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (published(tmp_path / name, searches.sweep(10), found=False) for name in "ab")
    for path in sorted(p for p in first.rglob("*") if p.is_file()):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes(), path.name


def test_a_page_without_importances_or_winner(tmp_path: Path) -> None:
    made = searches.sweep(10)
    made.trials["chosen"] = ""
    folder = published(tmp_path / "a", made, found=False)
    assert not (folder / "importances.csv").exists()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Importances have not been computed" in page
    assert "What the search saw of a winner" not in page


def test_a_sweep_of_which_nothing_completed(tmp_path: Path) -> None:
    made = searches.sweep(6)
    made.trials["status"], made.trials["accuracy"], made.trials["chosen"] = "failed", np.nan, ""
    page = (published(tmp_path / "a", made) / "report.html").read_text(encoding="utf-8")
    assert "0 settings with a value are too few" in page
    assert 'id="sweep-tried"' in page


def test_a_winner_that_is_the_baseline() -> None:
    made = searches.sweep(40)
    after = searches.after(made)
    baseline = [v for v in after.facts.variants if v.name == "baseline"]
    alone = dataclasses.replace(
        after,
        facts=dataclasses.replace(after.facts, variants=baseline),
        trials=after.trials[after.trials["variant"] == "baseline"],
    )
    _, second = sentences(made, alone)
    assert second.endswith("on 5 fresh ones; it is the baseline itself, so that nothing is left to compare.")
    winner, base = winner_table(made, alone).rows  # type: ignore[union-attr]
    assert winner["fresh"] == base["fresh"] != "–"


def test_a_winner_by_a_cost_has_been_trained() -> None:
    made = searches.sweep(40, (searches.PARAMETERS, searches.ACCURACY))
    after = searches.after(made)
    _, second = sentences(made, after)
    assert re.search(r"has parameters \d+ and was trained on fresh seeds, where ", second)


def test_the_spread_over_seeds_is_that_of_the_metric() -> None:
    made = searches.sweep(40, (searches.DIVERGENCE, searches.ACCURACY), trouble=False)
    table = best_table(made)
    assert not any("±" in cell for cell in column(table, "objective divergence_rate"))
    assert all("±" in cell for cell in column(table, "objective accuracy"))


def test_what_a_setting_costs_lacks_no_importances() -> None:
    for trials, reasons in ((40, []), (4, ["validation accuracy"])):
        made = searches.sweep(trials, TWO)
        empty, found = pd.DataFrame(), importances(made, resamples=1)
        material = Material(searches.after(made), empty, empty, searched=made, importances=found)
        texts = [block.words for block in SweepImportances().blocks(material) if isinstance(block, Text)]
        assert [words.partition(":")[0] for words in texts] == reasons
