"""`ablate sweep` from study to report: what it leaves, what it trains again, what it shares."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest
from click.testing import CliRunner
from harness import made_again_alone, run_here
from searching import PEAK_STUDY, SWEEP
from searching import frame_at as frame
from searching import table_at as load

import ablate
from ablate.analysis.search_table import SearchFacts
from ablate.base.errors import StudyError
from ablate.cli import main
from ablate.commands.show import show
from ablate.records.folder import StudyFolder
from ablate.session.options import RunOutcome

Sweep = Callable[..., tuple[RunOutcome, str]]

MADE, OPTIONS = SWEEP, {"sweep": True}
FAULTY = SWEEP + "training: {fault: FAULT, above: 0.0}\n"
"""About half of the settings go wrong, on all seeds; the baseline is at 0 and does as well."""
LOW = "model: {x: -1}\n"
"""A baseline that is out of the fault's reach."""


@pytest.fixture
def sweep(write: Callable[..., Path]) -> Sweep:
    """Sweeps, or runs, a study; returns the outcome and what was printed."""
    return lambda study=SWEEP, **options: run_here(write(study), **{"sweep": True} | options)


@pytest.fixture
def swept(ran: Path) -> Path:
    """The folder of a study that was swept, to be changed; `sweep` goes on in it."""
    return ran / "peaks"


def variants(folder: Path) -> set[str]:
    return set(ablate.load(folder).trials.variant)


@pytest.mark.slow
def test_a_sweep_leaves_a_table_a_winner_with_a_verdict_and_a_report(sweep):
    outcome, printed = sweep(SWEEP + "claims: [winner beats baseline on score]\n")
    assert outcome.trained == 8 * 2 + 2 * 3
    searched = load(outcome.folder)
    assert list(searched.trials.columns) == [*SearchFacts.columns, "training.lr", "model.x", "score"]
    assert list(searched.trials.number) == list(range(8))
    assert searched.facts.seeds == [10000, 10001]
    found = searched.trials.set_index("number")
    assert (found.chosen == "winner").sum() == 1
    assert found.score.idxmax() == found.index[found.chosen == "winner"][0]
    results = ablate.load(outcome.folder)
    assert set(results.trials.seed) == {0, 1, 2}
    assert variants(outcome.folder) == {"baseline", "winner"}
    assert list(results.comparisons[~results.comparisons.exploratory].verdict) == ["better"]
    assert list(results.claims.verdict) == ["supported"]
    assert "winner" in printed
    assert {"search.parquet", "report.html", "report.md"} <= {path.name for path in outcome.folder.iterdir()}


@pytest.mark.slow
def test_the_same_sweep_again_trains_and_writes_nothing(sweep, swept, write):
    sweep()  # what it copies has other times

    def stamps() -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in swept.parent.rglob("*") if p.is_file()}

    before = stamps()
    words = ["sweep", str(write(SWEEP)), "--results", str(swept.parent), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert (found["study"], found["trained"], found["exit_code"]) == ("peaks", 0, 0)
    assert {row["variant"] for row in found["verdicts"]} == {"winner"}
    assert "Nothing to train" in done.stderr
    assert stamps() == before
    (swept / "search.parquet").unlink()
    assert sweep()[0].trained == 0
    assert len(frame(swept)) == 8
    # A run of the setting that has won finds its trials in the store.
    table = load(swept).trials
    winner = table[table.chosen == "winner"].iloc[0]
    text = PEAK_STUDY.replace("name: peaks", "name: again", 1)
    patches = json.dumps({path: winner[path] for path in ("training.lr", "model.x")})
    again, _ = sweep(f"{text}variants: {{named: {patches}}}\n", sweep=False)
    assert again.trained == 0
    assert list(ablate.load(again.folder).trials.id) == list(ablate.load(swept).trials.id)


@pytest.mark.slow
@pytest.mark.parametrize("fast", [False, True])
def test_a_failed_setting_ends_the_search_until_it_is_mended(sweep, tmp_path, fast):
    text = (FAULTY.replace("FAULT", "raise") + LOW).replace("above", f"until: {tmp_path}/mended, above")
    options = {"fail_fast": True} if fast else {"keep_going": True}
    outcome, printed = sweep(text, **options)
    failed = len(outcome.failed) // 2
    assert len(outcome.failed) == 1 if fast else 0 < failed < 4
    reason = re.compile(r": RuntimeError: the peak gave way \(.*peaks\.py:\d+\)")
    assert all(map(reason.search, outcome.failed))
    assert "warning: failed: setting " in printed
    assert "The search is incomplete; run the same command to continue it." in printed or not fast
    assert not outcome.folder.joinpath("trials.parquet").exists()
    # Once more they fail, and nothing else is trained.
    assert fast or sweep(text, **options)[0].trained == 2 * failed
    (tmp_path / "mended").touch()
    again, _ = sweep(text)
    assert again.failed == []
    mended = frame(again.folder)
    assert list(mended.status) == ["completed"] * 8
    assert fast or again.trained == 2 * failed + 2 * 4 + 2 * 3
    whole = sweep(text, results=tmp_path / "whole")[0].folder
    pd.testing.assert_frame_equal(mended, frame(whole))


@pytest.mark.slow
def test_a_search_without_any_value_has_no_winner_and_says_so(sweep):
    outcome, printed = sweep(FAULTY.replace("FAULT", "diverge").replace("above: 0.0", "above: -9"))
    assert "warning: no setting of the search has a value, so there is no winner" in printed
    assert not outcome.failed
    table = frame(outcome.folder)
    assert list(table.status) == ["diverged"] * 8
    assert not table.chosen.any()
    assert variants(outcome.folder) == {"baseline"}


@pytest.mark.slow
def test_a_winner_that_is_the_baseline_is_not_compared_with_itself(sweep):
    study = f"{PEAK_STUDY}search: {{over: {{model.x: {{choice: [0.3, -1, 1]}}}}, sampler: grid, seeds: 1}}\n"
    outcome, printed = sweep(study + "model: {x: 0.3}\n")
    assert "The winner is the baseline itself" in printed
    assert list(frame(outcome.folder).chosen) == ["winner", "", ""]
    assert variants(outcome.folder) == {"baseline"}


@pytest.mark.slow
def test_several_objectives_and_several_winners_and_a_placebo(sweep):
    more = "trials: 16\n  objectives: [score, parameters]\n  winners: 3\n  sampler: nsga2"
    folder = sweep(SWEEP.replace("trials: 8", more) + "placebo: true\n")[0].folder
    table = frame(folder)
    chosen = table[table.chosen != ""].sort_values("chosen")
    assert list(chosen.chosen) == ["winner", "winner-2", "winner-3"][: len(chosen)]
    assert len(chosen) > 1
    assert chosen.front.all()
    assert variants(folder) == {"baseline", "placebo", *chosen.chosen}


@pytest.mark.slow
def test_other_commands_know_a_sweep(made, tmp_path):
    results = made / "results"
    trials = ablate.load(results / "peaks").trials
    for trial, place in (
        (trials[trials.variant == "winner"].id.iloc[1], "winner on peak, seed 1"),
        (frame(results / "peaks").ids[3][1], "setting 003 on peak, seed 10001"),
    ):
        assert f"peaks: {place}" in show(trial, results, pytest.fail)
    made_again_alone(results / "peaks", tmp_path)


@pytest.mark.slow
def test_the_searches_of_a_study_are_exported_for_optuna(made, tmp_path):
    url, results = f"sqlite:///{tmp_path}/search.db", made / "results"
    words = ["export", str(results / "peaks"), "--results", str(results), "--optuna", url]
    assert CliRunner().invoke(main, words).exit_code == 0
    (kept,) = optuna.get_all_study_summaries(url)
    study = optuna.load_study(study_name=kept.study_name, storage=url)
    table = frame(results / "peaks")
    assert study.metric_names == ["score"]
    assert [trial.value for trial in study.trials] == list(table.score)
    assert [trial.params["model.x"] for trial in study.trials] == list(table["model.x"])
    again = CliRunner().invoke(main, words)
    assert (again.exit_code, "name another storage" in again.output) == (2, True)


@pytest.mark.slow
def test_other_versions_cost_what_they_suggest_otherwise(sweep, swept):
    noted = {"optuna": "0.1", "numpy": np.__version__}
    folder, table = StudyFolder.at(swept), load(swept)
    older = folder.evidence().having(replace(table.facts, versions=noted), table.trials)
    folder.save_evidence(older)
    first = next(iter(table.trials.ids[0]))
    (swept.parent / f"store/trials/{first}.json").unlink()
    outcome, printed = sweep()
    assert "costs at most 16 trainings" in printed
    assert outcome.trained == 1


def test_a_run_without_its_search_writes_nothing(sweep, swept):
    before = {path: path.read_bytes() for path in swept.iterdir() if path.is_file()}
    for factors in ("", "factors: {model.x: [0.1]}\n"):
        with pytest.raises(StudyError, match="Run `ablate sweep"):
            sweep(SWEEP + factors, sweep=False)
    assert {path: path.read_bytes() for path in swept.iterdir() if path.is_file()} == before
