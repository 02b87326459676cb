"""`ablate sweep` from study to report: what it leaves, what it trains again, what it shares."""

import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from click.testing import CliRunner
from harness import with_database
from rich.console import Console
from scipy.stats import ttest_rel
from searching import GRID, PEAK_STUDY, SWEEP, TIMES, prepared, train

import ablate
from ablate.base.errors import AblateError
from ablate.cli import main
from ablate.commands.clean import clean
from ablate.commands.report import rebuild
from ablate.commands.run import execute
from ablate.commands.show import show
from ablate.features.search.table import COLUMNS, SearchTable, table_of
from ablate.records.folder import StudyFolder
from ablate.route.options import Options, Outcome

Sweep = Callable[..., tuple[Outcome, str]]

FAULTY = SWEEP + "training: {fault: FAULT, above: 0.0}\n"
"""About half of the settings go wrong, on all seeds; the baseline is at 0 and does as well."""
LOW = "model: {x: -1}\n"
"""A baseline that is out of the fault's reach."""


@pytest.fixture
def sweep(tmp_path: Path, write: Callable[..., Path]) -> Sweep:
    """Sweeps, or runs, a study; returns the outcome and what was printed."""

    def sweep(study: str | Path = SWEEP, **options: Any) -> tuple[Outcome, str]:
        console = Console(file=io.StringIO(), width=200)
        options = {"results": tmp_path / "results", "jobs": 0, "sweep": True} | options
        path = study if isinstance(study, Path) else write(study)
        with_database(options["results"] / "store")
        outcome = execute(path, Options(**options), console)
        return outcome, console.file.getvalue()  # type: ignore[attr-defined]

    return sweep


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one sweep that has run."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "study.yaml").write_text(SWEEP)
    with_database(folder / "results/store")
    options = Options(results=folder / "results", jobs=0, sweep=True)
    execute(folder / "study.yaml", options, Console(file=io.StringIO()))
    return folder / "results"


@pytest.fixture
def swept(made: Path, tmp_path: Path) -> Path:
    """The folder of a study that was swept, to be changed; `sweep` goes on in it."""
    shutil.copytree(made, tmp_path / "results")
    return tmp_path / "results" / "peaks"


def load(folder: Path) -> SearchTable:
    searched = table_of(StudyFolder.at(folder).evidence())
    assert searched is not None
    return searched


def frame(folder: Path) -> pd.DataFrame:
    """The table of a sweep without times."""
    return load(folder).trials.drop(columns=TIMES)


def test_a_sweep_leaves_a_table_a_winner_with_a_verdict_and_a_report(sweep: Sweep) -> None:
    outcome, printed = sweep(SWEEP + "claims: [winner beats baseline on score]\n")
    assert outcome.trained == 8 * 2 + 2 * 3
    searched = load(outcome.folder)
    assert list(searched.trials.columns) == [*COLUMNS, "training.lr", "model.x", "score"]
    assert list(searched.trials.number) == list(range(8))
    assert searched.facts.seeds == [10000, 10001]
    found = searched.trials.set_index("number")
    assert (found.chosen == "winner").sum() == 1
    assert found.score.idxmax() == found.index[found.chosen == "winner"][0]
    results = ablate.load(outcome.folder)
    assert set(results.trials.seed) == {0, 1, 2}
    assert set(results.trials.variant) == {"baseline", "winner"}
    assert list(results.comparisons[~results.comparisons.exploratory].verdict) == ["better"]
    assert list(results.claims.verdict) == ["supported"]
    assert "winner" in printed
    assert {"search.parquet", "report.html", "report.md"} <= {path.name for path in outcome.folder.iterdir()}


def test_the_same_sweep_again_trains_and_writes_nothing(sweep: Sweep, swept: Path, tmp_path: Path) -> None:
    sweep()  # what it copies has other times

    def stamps() -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("*") if p.is_file()}

    before = stamps()
    again, printed = sweep()
    assert again.trained == 0
    assert "Nothing to train" in printed
    assert stamps() == before
    (swept / "search.parquet").unlink()
    assert sweep()[0].trained == 0
    assert len(frame(swept)) == 8


@pytest.mark.slow
def test_the_table_is_the_same_with_two_workers(sweep: Sweep, made: Path) -> None:
    pd.testing.assert_frame_equal(frame(sweep(jobs=2)[0].folder), frame(made / "peaks"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "study", [GRID, SWEEP.replace("seeds: 2", "seeds: 2\n  pruner: {name: median, n_startup_trials: 2}")]
)
def test_the_table_is_the_same_whatever_the_number_of_workers(
    sweep: Sweep, tmp_path: Path, study: str
) -> None:
    tables = [frame(sweep(study, jobs=jobs, results=tmp_path / f"r{jobs}")[0].folder) for jobs in (0, 2)]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.slow
def test_more_trials_go_on_and_fewer_look_at_the_first(sweep: Sweep, swept: Path) -> None:
    first = frame(swept)
    outcome, _ = sweep(sets=["search.trials=12"])
    assert outcome.trained - 2 * 4 in (0, 3), "a better winner is judged as well"
    more = frame(outcome.folder)
    same = [name for name in first.columns if name not in ("chosen", "front")]
    pd.testing.assert_frame_equal(more[same].head(8), first[same])
    assert len(more) == 12
    assert len(frame(sweep(sets=["search.trials=5"])[0].folder)) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "search.seeds=3",
        "search.over.model.x={float: [-1, 2]}",
        "search.sampler=qmc",
        "search.objectives=[loss]",
        "training.noise=0.02",
    ],
)
def test_another_search_begins_anew(sweep: Sweep, swept: Path, change: str) -> None:
    first = frame(swept)
    outcome, _ = sweep(sets=[change])
    second = frame(outcome.folder)
    assert len(second) == 8
    assert list(second.number) == list(range(8))
    if "seeds" in change:
        # The random settings are the same, and so are their trials on the seeds that both have.
        assert (second.seeds == 3).all()
        assert outcome.trained < 8 * 3 + 6
    elif "noise" in change:
        assert not set(first.ids.explode()) & set(second.ids.explode())


def test_trials_of_a_sweep_and_of_a_run_are_one_in_the_store(
    sweep: Sweep, swept: Path, write: Callable[..., Path]
) -> None:
    table = load(swept).trials
    winner = table[table.chosen == "winner"].iloc[0]
    text = PEAK_STUDY.replace("name: peaks", "name: again", 1)
    patches = json.dumps({path: winner[path] for path in ("training.lr", "model.x")})
    again, _ = sweep(write(f"{text}variants: {{named: {patches}}}\n", "again.yaml"), sweep=False)
    assert again.trained == 0
    assert list(ablate.load(again.folder).trials.id) == list(ablate.load(swept).trials.id)


@pytest.mark.slow
def test_a_sweep_and_tuning_of_one_space_share_their_settings(sweep: Sweep) -> None:
    over = SWEEP.partition("search:\n")[2].replace("seeds: 2", "seeds: 2\n  sampler: random")
    study = f"{PEAK_STUDY}search:\n{over}tune:\n{over}"
    swept, _ = sweep(study)
    assert swept.trained == 8 * 2 + 2 * 3
    outcome, _ = sweep(study, sweep=False)
    assert outcome.trained == 0
    tuned = table_of(StudyFolder.at(outcome.folder).evidence())
    assert tuned is not None
    pd.testing.assert_series_equal(tuned.trials["model.x"], load(swept.folder).trials["model.x"])


@pytest.mark.slow
def test_a_failed_setting_ends_the_search_until_it_is_mended(sweep: Sweep, tmp_path: Path) -> None:
    text = (FAULTY.replace("FAULT", "raise") + LOW).replace("above", f"until: {tmp_path}/mended, above")
    outcome, printed = sweep(text)
    failed = len(outcome.failed) // 2
    assert 0 < failed < 4
    assert all(
        re.search(r": RuntimeError: the peak gave way \(.*peaks\.py:\d+\)", line) for line in outcome.failed
    )
    assert "warning: failed: setting " in printed
    assert "The search is incomplete" in printed
    assert not outcome.folder.joinpath("trials.parquet").exists()
    # Once more they fail, and nothing else is trained.
    assert sweep(text)[0].trained == 2 * failed
    (tmp_path / "mended").touch()
    again, _ = sweep(text)
    assert again.failed == []
    mended = frame(again.folder)
    assert list(mended.status) == ["completed"] * 8
    assert again.trained == 2 * failed + 2 * 4 + 2 * 3


@pytest.mark.slow
def test_diverged_settings_are_an_outcome_and_told_as_such(sweep: Sweep) -> None:
    outcome, printed = sweep(FAULTY.replace("FAULT", "diverge") + LOW)
    table = frame(outcome.folder)
    diverged = table[table.status == "diverged"]
    assert 0 < len(diverged) < 8
    assert set(diverged.score) == {-9.0}
    assert (diverged.diverged == 2).all()
    assert not outcome.failed
    assert "diverged: the peak left the numbers" in printed
    assert sweep(FAULTY.replace("FAULT", "diverge") + LOW)[0].trained == 0


def test_a_search_without_any_value_has_no_winner_and_says_so(sweep: Sweep) -> None:
    outcome, printed = sweep(FAULTY.replace("FAULT", "diverge").replace("above: 0.0", "above: -9"))
    assert "warning: no setting of the search has a value, so there is no winner" in printed
    assert not outcome.failed
    table = frame(outcome.folder)
    assert set(table.status) == {"diverged"}
    assert len(table) == 8
    assert not table.chosen.any()
    assert set(ablate.load(outcome.folder).trials.variant) == {"baseline"}


def test_a_winner_that_is_the_baseline_is_not_compared_with_itself(sweep: Sweep) -> None:
    study = f"{PEAK_STUDY}search: {{over: {{model.x: {{choice: [0.3, -1, 1]}}}}, sampler: grid, seeds: 1}}\n"
    outcome, printed = sweep(study + "model: {x: 0.3}\n")
    assert "The winner is the baseline itself" in printed
    assert list(frame(outcome.folder).chosen) == ["winner", "", ""]
    assert set(ablate.load(outcome.folder).trials.variant) == {"baseline"}


@pytest.mark.slow
def test_several_objectives_and_several_winners(sweep: Sweep) -> None:
    text = SWEEP.replace(
        "trials: 8", "trials: 16\n  objectives: [score, parameters]\n  winners: 3\n  sampler: nsga2"
    )
    outcome, _ = sweep(text)
    table = frame(outcome.folder)
    assert [o.direction for o in load(outcome.folder).facts.objectives] == ["max", "min"]
    chosen = table[table.chosen != ""].sort_values("chosen")
    assert list(chosen.chosen) == ["winner", "winner-2", "winner-3"][: len(chosen)]
    assert len(chosen) > 1
    assert chosen.front.all()
    assert chosen.score.is_monotonic_decreasing
    assert chosen.parameters.is_monotonic_decreasing
    assert {"baseline", *chosen.chosen} == set(ablate.load(outcome.folder).trials.variant)
    assert sweep(text)[0].trained == 0


@pytest.mark.slow
def test_a_placebo_is_judged_beside_the_winner(sweep: Sweep) -> None:
    outcome, _ = sweep(SWEEP + "placebo: true\n")
    assert set(ablate.load(outcome.folder).trials.variant) == {"baseline", "winner", "placebo"}
    assert set(frame(outcome.folder).variant) == {"baseline"}


@pytest.mark.slow
def test_to_fail_fast_is_to_stop_there_and_the_next_run_goes_on(sweep: Sweep, tmp_path: Path) -> None:
    text = (FAULTY.replace("FAULT", "raise") + LOW).replace("above", f"until: {tmp_path}/mended, above")
    outcome, printed = sweep(text, fail_fast=True)
    assert len(outcome.failed) == 1
    assert "The search is incomplete; run the same command to continue it." in printed
    assert not (outcome.folder / "trials.parquet").exists()
    (tmp_path / "mended").touch()
    assert not sweep(text)[0].failed
    whole = sweep(text, results=tmp_path / "whole")[0].folder
    pd.testing.assert_frame_equal(frame(outcome.folder), frame(whole))


def test_its_report_is_made_again_from_the_folder_alone(made: Path, tmp_path: Path) -> None:
    kept = {name: (made / "peaks" / name).read_bytes() for name in ("report.html", "comparisons.csv")}
    alone = tmp_path / "elsewhere" / "peaks"
    shutil.copytree(made / "peaks", alone)
    for name in ("report.html", "comparisons.csv"):
        (alone / name).unlink()
    rebuild(Path("peaks"), tmp_path / "elsewhere", Console(file=io.StringIO()))
    assert {name: (alone / name).read_bytes() for name in kept} == kept


def cleaned(results: Path) -> str:
    said: list[str] = []
    clean(results, lambda: True, said.append, said.append)
    return "\n".join(said)


@pytest.mark.slow
def test_clean_keeps_the_trials_of_a_sweep_whatever_it_knows_them_by(sweep: Sweep, swept: Path) -> None:
    results = swept.parent
    assert cleaned(results).endswith("nothing to remove; all 22 trials belong to a study.")
    roster = results / "store/studies/peaks.json"
    listed = roster.read_bytes()
    roster.unlink()
    assert cleaned(results).endswith("nothing to remove; all 22 trials belong to a study.")
    # As if it had been killed before its first report.
    for name in ("search.parquet", "trials.parquet"):
        (swept / name).unlink()
    with pytest.raises(AblateError, match="the trials of peaks are unknown"):
        cleaned(results)
    roster.write_bytes(listed)
    assert cleaned(results).endswith("nothing to remove; all 22 trials belong to a study.")
    assert sweep()[0].trained == 0


@pytest.mark.slow
def test_clean_keeps_what_a_run_or_a_larger_search_would_need(sweep: Sweep, tmp_path: Path) -> None:
    study = (
        SWEEP.replace("trials: 8", "trials: 3").replace("seeds: 2", "seeds: 1")
        + "factors: {model.x: [0.5]}\n"
    )
    sweep(study, sweep=False)
    sweep(study)
    sweep(study, sets=["search.trials=2"])
    assert "nothing to remove" in cleaned(tmp_path / "results")
    assert sweep(study, sweep=False)[0].trained == 0
    assert sweep(study)[0].trained == 0


def test_show_tells_what_a_trial_was_for(made: Path) -> None:
    trials = ablate.load(made / "peaks").trials
    for trial, place in (
        (trials[trials.variant == "winner"].id.iloc[1], "winner on peak, seed 1"),
        (frame(made / "peaks").ids[3][1], "setting 003 on peak, seed 10001"),
    ):
        assert f"peaks: {place}" in show(trial, made, lambda message: None)


@pytest.mark.slow
@pytest.mark.usefixtures("tracking")
def test_mlflow_has_every_trial_once(sweep: Sweep, tmp_path: Path) -> None:
    from mlflow.tracking import MlflowClient

    for trials in (8, 8, 10):
        sweep(sets=[f"search.trials={trials}"])
    client = MlflowClient(f"sqlite:///{tmp_path}/results/store/mlflow.db")
    experiment = client.get_experiment_by_name("peaks")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    ids = [run.data.tags["ablate.trial"] for run in runs if "ablate.trial" in run.data.tags]
    assert len(ids) == len(set(ids))
    stored = {path.stem for path in (tmp_path / "results/store/trials").glob("*.json")}
    expected = {trial for ids in frame(tmp_path / "results/peaks").ids for trial in ids}
    expected |= set(ablate.load(tmp_path / "results/peaks").trials.id)
    assert expected <= set(ids) <= stored
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_the_searches_of_a_study_are_exported_for_optuna(made: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/search.db"
    words = ["export", str(made / "peaks"), "--results", str(made), "--optuna", url]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    (kept,) = optuna.get_all_study_summaries(url)
    study = optuna.load_study(study_name=kept.study_name, storage=url)
    table = frame(made / "peaks")
    assert study.metric_names == ["score"]
    assert [trial.value for trial in study.trials] == list(table.score)
    assert [trial.params["model.x"] for trial in study.trials] == list(table["model.x"])
    again = CliRunner().invoke(main, words)
    assert again.exit_code == 2
    assert "name another storage" in again.output


@pytest.mark.parametrize("noted", [{}, {"optuna": "0.1", "numpy": np.__version__}])
def test_other_versions_cost_what_they_suggest_otherwise(sweep: Sweep, swept: Path, noted: Any) -> None:
    folder, table = StudyFolder.at(swept), load(swept)
    older = folder.evidence().having("search", table.trials, asdict(replace(table.facts, versions=noted)))
    folder.save_evidence(older)
    first = next(iter(table.trials.ids[0]))
    (swept.parent / f"store/trials/{first}.json").unlink()
    outcome, printed = sweep()
    assert "costs at most 16 trainings" in printed
    assert outcome.trained == 1


A_A = f"""{PEAK_STUDY.replace("seeds: 3", "seeds: 6")}training: {{lr: 1e-3, noise: 0.1}}
search:
  over: {{model.twin: {{int: [1, 20]}}}}
  sampler: grid
  seeds: 2
"""
"""Twenty settings that differ in their noise alone, and the baseline, which is one more."""


def test_the_best_of_twenty_twins_looks_better_than_it_is(write: Callable[..., Path]) -> None:
    """The winner's curse: over 60 searches, on seeds that chose and on seeds that did not."""
    gains, fresh, better = [], [], 0
    experiment = prepared(write(A_A))
    base = experiment.variants[0].configs[0]
    for repetition in range(60):
        # A baseline of its own: repetitions that shared one would err together.
        baseline = experiment.patched(base, {"model.twin": 100 * repetition})
        means = {}
        for twin in range(1, 21):
            config = experiment.patched(base, {"model.twin": 100 * repetition + twin})
            values = [
                train(experiment, experiment.trial(config, s)).metrics["validation_score"]
                for s in (10000, 10001)
            ]
            means[twin] = float(np.mean(values))  # type: ignore[arg-type]
        best = max(means, key=means.__getitem__)
        winner = experiment.patched(base, {"model.twin": 100 * repetition + best})
        truth = -0.2 - 0.09
        gains.append(means[best] - truth)
        judged = [
            [train(experiment, experiment.trial(config, seed)).metrics["score"] for seed in range(6)]
            for config in (winner, baseline)
        ]
        fresh.append(float(np.mean(judged[0])) - truth)
        better += bool(ttest_rel(*judged, alternative="greater").pvalue < 0.025)
    assert np.mean(gains) > 0.08
    assert abs(np.mean(fresh)) < 3 * 0.1 / np.sqrt(6 * 60)
    # Each of 60 is `better` with probability .025: more than 6 has one of 500.
    assert better <= 6


@pytest.mark.slow
def test_the_report_of_twins_says_what_fresh_seeds_made_of_the_winner(sweep: Sweep) -> None:
    outcome, _ = sweep(A_A)
    table = load(outcome.folder).trials
    winner = table[table.chosen == "winner"].iloc[0]
    assert winner.score == table.score.max() > -0.2 - 0.09 + 0.05
    results = ablate.load(outcome.folder)
    assert list(results.comparisons[~results.comparisons.exploratory].verdict) != ["better"]


def test_a_sweep_answers_programs(made: Path) -> None:
    study = made.parent / "study.yaml"
    done = CliRunner().invoke(main, ["sweep", str(study), "--results", str(made), "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert (found["study"], found["trained"], found["exit_code"]) == ("peaks", 0, 0)
    assert {row["variant"] for row in found["verdicts"]} == {"winner"}
    assert "Nothing to train" in done.stderr
