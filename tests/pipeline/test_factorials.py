"""A factorial of two changes, each good alone and bad with the other: every command speaks of its main effects."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from harness import ablate_here, toy_changed

from ablate.records.folder import StudyFolder
from ablate.report.verdicts import planned_rows

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


def test_a_confirmation_has_every_cell_and_the_same_main_effects(crossed):
    again = report(crossed, "cross@confirm")
    assert {variant.name for variant in again.facts().variants} == CELLS
    for of in (report(crossed), again):
        found = main_effects(of)
        assert found["baseline"].to_dict() == {EFFECT: "model.effect=0.0", WIDTH: "model.width=4"}
        assert set(found["verdict"]) == {"equivalent"}
    assert not set(again.facts().seeds) & set(report(crossed).facts().seeds)


def test_a_confirmation_of_one_main_effect_alone_has_every_cell(tmp_path):
    written(tmp_path, STUDY.replace("[8]", "[8, 5]").replace("margin: 0.02", "margin: 0.006"))
    first = run(tmp_path)
    verdicts = main_effects(first)["verdict"]
    assert 0 < (verdicts == "inconclusive").sum() < len(verdicts)
    again = run(tmp_path, "--confirm", "--seeds", 3)
    assert {variant.name for variant in again.facts().variants} == {v.name for v in first.facts().variants}


def test_cells_that_a_run_leaves_out_leave_no_main_effects(tmp_path):
    written(tmp_path, TUNED)
    part = run(tmp_path, "--only", EFFECT, "--only", WIDTH)
    assert part.facts().left_out == [BOTH]
    found = main_effects(part)
    assert found["baseline"].to_dict() == {EFFECT: "baseline", WIDTH: "baseline"}
    assert set(found["verdict"]) == {"better"}


def test_a_plan_says_what_its_main_effects_detect(crossed):
    planned = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=crossed).stdout)
    [task] = planned["power"]["tasks"]
    found = main_effects(report(crossed))
    assert planned["power"]["comparisons"] == len(found)
    detectable = {row["variant"]: row["detectable"] for row in task["prospects"]}
    assert detectable == pytest.approx(found["mde"].astype(float).to_dict())
    assert [row["against"] for row in task["prospects"]] == found["baseline"].to_list()


def test_two_reports_are_compared_by_their_main_effects(crossed):
    done = ablate_here("diff", "cross", "cross@confirm", cwd=crossed)
    assert done.stdout.startswith("Same verdicts; 2 of 2 comparisons have other numbers")


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
