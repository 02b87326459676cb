"""A factorial of two changes, each good alone and bad with the other: every command speaks of its main effects."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here, toy_changed
from made_evidence import crossed as made
from tex import rows

from ablate import load
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.interactions import interactions
from ablate.core.metric import Metric
from ablate.records.folder import StudyFolder
from ablate.report.section import ReportData
from ablate.report.sentences.answer import answers_by_task
from ablate.report.tables.verdicts import planned_rows

EFFECT = "model.effect=0.2"
WIDTH = "model.width=8"
BOTH = f"{EFFECT},{WIDTH}"
CELLS = {"baseline", EFFECT, WIDTH, BOTH}
CROSSING = (
    'value = 0.8 + model["effect"] + model["noise"] * float(np.mean(draws))',
    'value = 0.5 + 0.1 * ((model["effect"] > 0) != (model["width"] > 4)) + 0.05 * float(np.mean(draws))\n'
    '        value += 0.008 * float(numpy_stream(trial.seed, f"{model}", trial.stream).normal())',
)
"""What the toy makes of its settings → an accuracy that either change raises by 0.1, and both together do not."""
STUDY = f"""\
factors: {{{EFFECT.replace("=", ": [")}], {WIDTH.replace("=", ": [")}]}}
design: factorial
metric: {{name: accuracy, margin: 0.02}}
seeds: 10
"""
TUNED = (
    STUDY.replace("seeds: 10", "seeds: 4")
    + "tune: {over: {training.steps: {int: [2, 3]}}, trials: 2, seeds: 3}\n"
)


def written(folder: Path, study: str = STUDY) -> Path:
    """A study of the crossing toy in a folder, beside its plugin."""
    head = toy_changed(folder, "cross", CROSSING).replace("name: toy", "name: cross").partition("factors")[0]
    path = folder / "study.yaml"
    path.write_text(head + study)
    return path


def run(folder: Path, *options: object) -> StudyFolder:
    """The report of a run, the newest in the folder."""
    done = ablate_here("run", "study.yaml", "--jobs", 0, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = re.search(r"^Report: (\S+)/report\.html", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return StudyFolder.at(folder / found[1])


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a factorial that has run, and was confirmed."""
    folder = tmp_path_factory.mktemp("crossed")
    written(folder)
    run(folder)
    run(folder, "--confirm")
    return folder


def report(folder: Path, name: str = "cross") -> StudyFolder:
    """A report of the study."""
    return StudyFolder(folder / "results", name)


def main_effects(of: StudyFolder) -> pd.DataFrame:
    """The planned comparisons of a report, by the level of each."""
    return pd.DataFrame(planned_rows(of.comparisons())).set_index("variant")


@pytest.mark.slow
def test_a_confirmation_has_every_cell_and_the_same_main_effects(crossed):
    again = report(crossed, "cross@confirm")
    assert {variant.name for variant in again.facts().variants} == CELLS
    for of in (report(crossed), again):
        found = main_effects(of)
        assert found["baseline"].to_dict() == {EFFECT: "model.effect=0.0", WIDTH: "model.width=4"}
        assert set(found["verdict"]) == {"equivalent"}
    assert not set(again.facts().seeds) & set(report(crossed).facts().seeds)


@pytest.mark.slow
def test_a_confirmation_of_one_main_effect_alone_has_every_cell(tmp_path):
    written(tmp_path, STUDY.replace("[8]", "[8, 5]").replace("margin: 0.02", "margin: 0.006"))
    first = run(tmp_path)
    verdicts = main_effects(first)["verdict"]
    assert 0 < (verdicts == "inconclusive").sum() < len(verdicts)
    again = run(tmp_path, "--confirm", "--seeds", 3)
    assert {variant.name for variant in again.facts().variants} == {v.name for v in first.facts().variants}


@pytest.mark.slow
def test_cells_that_a_run_leaves_out_leave_no_main_effects(tmp_path):
    written(tmp_path, TUNED)
    part = run(tmp_path, "--only", EFFECT, "--only", WIDTH)
    assert part.facts().plan.left_out == [BOTH]
    found = main_effects(part)
    assert found["baseline"].to_dict() == {EFFECT: "baseline", WIDTH: "baseline"}
    assert set(found["verdict"]) == {"better"}


@pytest.mark.slow
def test_a_plan_says_what_its_main_effects_detect(crossed):
    planned = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=crossed).stdout)
    [task] = planned["power"]["tasks"]
    found = main_effects(report(crossed))
    assert planned["power"]["comparisons"] == len(found)
    detectable = {row["variant"]: row["detectable"] for row in task["prospects"]}
    assert detectable == pytest.approx(found["mde"].astype(float).to_dict())
    assert [row["against"] for row in task["prospects"]] == found["baseline"].to_list()


@pytest.mark.slow
def test_two_reports_are_compared_by_their_main_effects(crossed):
    done = ablate_here("diff", "cross", "cross@confirm", cwd=crossed)
    assert done.stdout.startswith("Same verdicts; 2 of 2 comparisons have other numbers")


@pytest.mark.slow
def test_a_main_effect_is_no_comparison_with_the_baseline(crossed, tmp_path):
    shutil.copytree(crossed, tmp_path, dirs_exist_ok=True)
    written(tmp_path, STUDY.replace("factorial", "one_factor").replace("design", "name: single\ndesign"))
    text = (tmp_path / "study.yaml").read_text().replace("name: cross\n", "", 1)
    (tmp_path / "study.yaml").write_text(text)
    assert run(tmp_path).name == "single"
    done = ablate_here("diff", "cross", "single", cwd=tmp_path)
    assert done.stdout.startswith(
        "No planned comparison is in both; 2 comparisons only in A; 2 comparisons only in B"
    )


def values(words: str) -> list[float]:
    """The numbers of a text that have decimals, in order."""
    words = words.replace("$-$", "-").replace("−", "-")
    return [float(found) for found in re.findall(r"[+-]?\d+\.\d+", words)]


@pytest.mark.slow
def test_the_answer_says_what_is_averaged_and_that_the_changes_interact(crossed):
    folder = report(crossed)
    [row] = folder.beside("interactions.csv")
    assert row["clear"] == "True"
    alone = float(row["first_alone"])
    joint = alone + float(row["diff"])
    assert (alone, joint) == pytest.approx((0.1, -0.1), abs=0.02)
    answer = folder.answer()[0]
    assert answer.startswith("Averaged over the other factor, within 0.02 of the baseline’s level: ")
    *_, effect_alone, effect_joint = values(answer)
    assert (effect_alone, effect_joint) == pytest.approx((alone, joint), abs=0.001)
    assert "with width 4 and by" in answer
    # It is said once.
    assert len([line for line in folder.answer() if "nteract" in line]) == 1


def test_a_note_of_the_interaction_stands_below_each_verdict(crossed):
    folder = report(crossed)
    done = ablate_here("run", "study.yaml", "--jobs", 0, cwd=crossed)
    pages = [done.stdout, (folder.path / "report.md").read_text(), folder.report_file.read_text()]
    for page in pages:
        notes = re.findall(r"interacts \(exploratory\): (\S+) with [^,]+, (\S+) with", " ".join(page.split()))
        assert len(notes) == 2
        for alone, joint in notes:
            assert values(f"{alone} {joint}") == pytest.approx([0.1, -0.1], abs=0.02)


@pytest.mark.slow
def test_each_table_of_a_paper_has_means_of_one_kind(crossed):
    done = ablate_here("export", "cross", "--out", "paper", cwd=crossed)
    assert done.returncode == 0, done.stderr
    found = main_effects(report(crossed))
    _, *levels = rows((crossed / "paper" / "results.tex").read_text())
    shown = [[float(row[1]), float(row[3]), values(row[4])[0]] for row in levels]
    means = found[["mean_variant", "mean_baseline", "diff"]].astype(float)
    assert np.array(shown) == pytest.approx(means.to_numpy(), abs=0.001)

    trials = load(crossed / "results" / "cross").evidence.trials
    spread = trials.groupby("variant", sort=False)["accuracy"].agg(["mean", "std"]).astype(float)
    head, *cells = rows((crossed / "paper" / "cells.tex").read_text())
    assert len(head) == 2
    assert [values(row[1]) for row in cells] == [pytest.approx(row, abs=0.002) for row in spread.to_numpy()]


@pytest.mark.slow
def test_a_forest_says_the_level_of_each_group(crossed):
    ablate_here("export", "cross", "--only", "forest", "--out", "forest", cwd=crossed)
    paper = (crossed / "forest" / "forest.tex").read_text().replace("\\", "")
    for page in (paper, (report(crossed).path / "report.md").read_text()):
        assert re.search(r"main effects.* 97\.5 % intervals; cells.* 95 % intervals", page)


def test_of_a_loss_effects_are_told_in_its_own_direction():
    rng = np.random.default_rng(7)

    def loss(levels, seed):
        return 2.0 + 0.3 * (levels["a"] != "x") * (levels["b"] == "p") + 0.01 * rng.normal()

    factors = {"a": ["x", "y"], "b": ["p", "q"], "c": ["u", "v"]}
    evidence = made(factors, loss, metric="loss", metrics={"loss": Metric("min")})
    tables = {"interactions": interactions(evidence)}
    data = ReportData(evidence, compare(evidence), judge_claims(evidence), tables=tables)
    [answer] = answers_by_task(data)
    assert "averaged over the other factors" in answer
    size, _, _, alone, joint = values(answer.partition("But")[2])
    assert (alone, joint, size) == pytest.approx((0.3, 0.0, -0.3), abs=0.03)
