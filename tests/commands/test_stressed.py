"""`stress:` a grid of learning rates over which every variant is trained: what is trained, kept, shared and shown."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness import clean_here, plan_here, report_here, stored

from ablate.commands.show import show
from ablate.records.folder import StudyFolder
from ablate.report.words import message

PLUGIN = Path(__file__).parents[1] / "rated.py"
STUDY = f"""
name: rated
workload: rated
plugins: [{PLUGIN}]
factors: {{model.limit: [0.05]}}
placebo: on
seeds: 2
"""
GRID = "stress: {training.lr: [1e-1, 1e-3, 1e-2]}\n"


MADE = STUDY + GRID


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return StudyFolder(tmp_path / "results", "rated")


@pytest.mark.slow
def test_every_variant_is_trained_over_the_grid(run, folder, write):
    planned = plan_here(write(MADE))
    assert message("plan.stress", "training.lr", ["0.001", "0.01", "0.1"], 12) in planned
    assert "14 trials to train" in planned
    outcome, printed = run(MADE)
    assert (outcome.trained, outcome.missing) == (6 + 8, 0)
    assert "model.limit=0.05 seed 1 at lr 0.1: diverged: too fast" in printed
    evidence = folder.evidence()
    assert evidence.facts.features["stress"] == {"training.lr": [0.001, 0.01, 0.1]}
    stress = evidence.frames["stress"]
    columns = "id name variant task seed value status reason test_loss initial_loss"
    assert list(stress.columns) == columns.split()
    assert stress[["value", "test_loss", "initial_loss"]].dtypes.eq(float).all()
    places = {(v, s, x) for v in ("baseline", "model.limit=0.05") for s in (0, 1) for x in (0.001, 0.01, 0.1)}
    assert set(zip(stress.variant, stress.seed, stress.value, strict=True)) == places
    assert len(stress) == len(places)
    # At its own rate, the trial of the variant itself.
    own = stress[stress.value == 0.01].set_index(["variant", "seed"]).id
    trials = evidence.trials[evidence.trials.variant != "placebo"].set_index(["variant", "seed"])
    assert own.sort_index().equals(trials.id.sort_index())
    assert set(stress.id) | set(evidence.trials.id) == stored(folder.results) == folder.ids()
    lost = stress[(stress.variant != "baseline") & (stress.value == 0.1)]
    assert set(lost.status) == {"diverged"}
    assert lost.test_loss.isna().all()
    assert (stress.initial_loss == 2.0).all()
    assert np.isfinite(stress.drop(lost.index).test_loss).all()
    # Nothing but the study itself is compared.
    assert len(evidence.trials) == 6
    assert set(pd.read_csv(folder.path / "comparisons.csv").variant) == {"model.limit=0.05", "placebo"}
    assert "could not be drawn" not in printed
    rows = pd.read_csv(folder.path / "stability.csv").query("metric == 'lr_sensitivity'")
    assert set(rows.variant) == {"model.limit=0.05"}  # a placebo has no grid

    for trial, place in zip(stress.id, zip(stress.variant, stress.seed, strict=True), strict=True):
        assert f"rated: {place[0]}, seed {place[1]}" in show(trial, folder.results, print)
    assert clean_here(folder.results)[1] == ""
    assert stored(folder.results) == folder.ids()
    assert run(MADE)[0].trained == 0
    assert message("plan.cached") in plan_here(write(MADE))


def test_a_runner_up_at_a_rate_of_the_grid_takes_the_training_of_the_grid(run, folder):
    # As far from the best rate on either side, so that tuning cannot tell them apart.
    rates = "[8e-3, 1.25e-2]"
    tuned = (
        f"{STUDY}stress: {{training.lr: [8e-3, 1.25e-2, 2e-2]}}\n"
        f"tune: {{over: {{training.lr: {{choice: {rates}}}}}, sampler: grid}}\n"
    )
    run(tuned)
    evidence = folder.evidence()
    runner_ups = evidence.frames["rivals"]
    assert len(runner_ups)
    assert {*runner_ups["id"]} <= {*evidence.frames["stress"]["id"]}
    # New notes make a new report.
    assert run(tuned + "notes: A word more.\n")[0].trained == 0


@pytest.mark.slow
def test_a_report_is_made_from_the_folder_alone_and_a_grid_that_is_gone_is_forgotten(
    run, ran, folder, tmp_path
):
    before = folder.evidence()
    store = (ran / "store").rename(tmp_path / "elsewhere")
    report_here(folder.path)
    pd.testing.assert_frame_equal(folder.evidence().frames["stress"], before.frames["stress"])
    grid = set(before.frames["stress"].id) - set(before.trials.id)
    assert {cell.id for cell in folder.cells()} == set(before.trials.id) | grid
    assert {cell.name for cell in folder.cells() if cell.id in grid} == {
        f"{variant} seed {seed} at lr {lr}"
        for variant in ("baseline", "model.limit=0.05")
        for seed in (0, 1)
        for lr in ("0.001", "0.1")
    }
    store.rename(ran / "store")
    run(STUDY)
    after = folder.evidence()
    assert (after.frames, after.facts.features) == ({}, {})
    assert not (folder.path / "stress.parquet").exists()
    assert folder.ids() == set(before.trials.id)


def test_looks_take_the_grid_of_their_seeds_along(run, folder):
    """The variants differ by as much on every seed, which the first look settles."""
    text = STUDY.replace("model.limit: [0.05]", "model.effect: [0.3]").replace("placebo: on\n", "")
    outcome, _ = run(text.replace("seeds: 2", "seeds: {min: 2, max: 4}") + GRID)
    evidence = folder.evidence()
    assert evidence.facts.seeds == [0, 1]
    assert set(evidence.frames["stress"].seed) == set(evidence.trials.seed)
    assert outcome.trained == len(set(evidence.frames["stress"].id) | set(evidence.trials.id))


@pytest.mark.slow
def test_the_grid_replaces_the_rate_that_a_search_has_chosen(run, folder):
    over = "{over: {training.lr: {float: [2e-3, 5e-2], log: true}}, trials: 2, seeds: 3}"
    run(STUDY + GRID + f"tune: {over}\n")
    evidence = folder.evidence()
    assert set(evidence.frames["stress"].value) == {0.001, 0.01, 0.1}
    assert not set(evidence.frames["stress"].id) & set(evidence.trials.id)
    assert len(evidence.frames["stress"]) == 12
    outcome, _ = run(STUDY + GRID + f"search: {over}\n", sweep=True)
    stress = StudyFolder.at(outcome.folder).evidence().frames["stress"]
    assert set(stress.variant) == {"baseline", "winner"}
    assert len(stress) == 12
