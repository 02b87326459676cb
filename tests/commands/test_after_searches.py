"""What a search leaves behind: for later runs of the study, its claims, and the commands that read its folder."""

import io
from pathlib import Path

import pandas as pd
import pytest
from harness import TOY, with_database
from planned import print_plan
from rich.console import Console

from ablate.commands._results import Results, load
from ablate.commands.report import rebuild
from ablate.commands.run import execute
from ablate.commands.show import show
from ablate.records.folder import StudyFolder
from ablate.route.options import Options

STUDY = f"""
name: toy
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
seeds: 3
"""
SWEPT = (
    STUDY
    + """
search: {over: {model.effect: {float: [0.1, 1]}}, trials: 2, seeds: 1}
claims: [winner beats baseline on accuracy]
"""
)
TUNED = (
    STUDY
    + """
tune: {over: {model.noise: {float: [0.1, 1]}}, trials: 2, seeds: 1}
factors: {model.effect: [0.2, 0.3]}
claims: [model.effect=0.2 beats baseline on accuracy, model.effect=0.3 beats baseline on accuracy]
"""
)


def run_in(folder: Path, text: str, **options: object) -> Results:
    (folder / "study.yaml").write_text(text)
    every = Options(results=folder / "results", jobs=0, **options)  # type: ignore[arg-type]
    with_database(folder / "results/store")
    return load(execute(folder / "study.yaml", every, Console(file=io.StringIO(), width=200)).folder)


def dates(results: Results) -> dict[str, tuple[str, str]]:
    rows = StudyFolder.at(results.folder).claims()
    return {row["claim"]: (row["declared"], row["exploratory"]) for row in rows}


@pytest.mark.slow
def test_a_claim_on_the_winner_keeps_its_date_through_runs_without_one(tmp_path: Path) -> None:
    first = run_in(tmp_path, SWEPT)
    assert first.claims.empty
    declared = dates(first)
    assert [late for _, late in declared.values()] == ["False"]
    assert run_in(tmp_path, SWEPT, sweep=True).claims.verdict.tolist() == ["supported"]
    assert dates(run_in(tmp_path, SWEPT)) == declared
    rebuild(tmp_path / "results/toy", tmp_path / "results", Console(file=io.StringIO()))
    again = run_in(tmp_path, SWEPT, sweep=True)
    assert dates(again) == declared
    assert again.claims.n.tolist() == [3]


@pytest.mark.slow
def test_a_claim_on_a_variant_that_is_not_tuned_yet_waits(tmp_path: Path) -> None:
    first = run_in(tmp_path, TUNED, only=["model.effect=0.2"])
    assert first.claims.claim.tolist() == ["model.effect=0.2 beats baseline on accuracy"]
    assert first.claims.n.tolist() == [3]
    declared = dates(first)
    second = run_in(tmp_path, TUNED)
    assert len(second.claims) == 2
    assert dates(second) == declared
    assert not second.claims.exploratory.any()


@pytest.mark.slow
def test_a_claim_that_the_study_has_no_more_is_gone(tmp_path: Path) -> None:
    run_in(tmp_path, SWEPT)
    assert dates(run_in(tmp_path, SWEPT.partition("claims")[0])) == {}


@pytest.mark.slow
def test_the_report_of_one_seed_uses_all_untuned_runs_that_are_there(tmp_path: Path) -> None:
    run_in(tmp_path, TUNED)
    folder = run_in(tmp_path, TUNED + "notes: changed\n", seed=1).folder
    untuned = pd.read_parquet(folder / "untuned.parquet")
    assert sorted(untuned.seed.unique()) == [0, 1, 2]


TABLE = "search.parquet"


@pytest.mark.slow
def test_a_plan_does_not_say_that_tuning_is_in_the_store(tmp_path: Path) -> None:
    run_in(tmp_path, TUNED.replace("tune:", "search:").partition("claims")[0])
    (tmp_path / "study.yaml").write_text(TUNED)
    console = Console(file=io.StringIO(), width=200)
    print_plan(tmp_path / "study.yaml", Options(results=tmp_path / "results"), console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "at most 6 trials" in printed


@pytest.mark.slow
def test_a_winner_is_repeated_by_its_sweep(tmp_path: Path) -> None:
    trials = run_in(tmp_path, SWEPT, sweep=True).trials.set_index("variant")["id"]
    shown = {
        name: show(trials[name].iloc[0], tmp_path / "results", lambda message: None)
        for name in set(trials.index)
    }
    assert "\n  ablate sweep " in shown["winner"]


@pytest.mark.slow
def test_a_search_that_stops_half_way_leaves_the_report_and_its_table(tmp_path: Path) -> None:
    folder = run_in(tmp_path, SWEPT, sweep=True).folder
    before = (folder / TABLE).read_bytes()
    failing = SWEPT.replace("trials: 2", "trials: 4") + "training: {fault: raise, fault_seed: 10000}\n"
    run_in(tmp_path, failing, sweep=True, fail_fast=True)
    assert (folder / TABLE).read_bytes() == before
    rebuild(folder, tmp_path / "results", Console(file=io.StringIO()))
    assert "What the sweep found" in (folder / "report.md").read_text()
