"""Runs that add seeds until everything is settled: what they train, and that a kill changes no decision."""

import os
import signal

import pytest
from drivers import records, start, wait_for
from harness import TOY_STUDY, prepare, run_here

from ablate.analysis.family import family_size
from ablate.pipeline import trial_plan
from ablate.pipeline.trial_plan import TrialPlan
from ablate.records.folder import StudyFolder

STUDY = TOY_STUDY.replace("seeds: 3", "seeds: {min: 2, max: 6}\nplacebo: on")


def verdicts(folder):
    return (folder / "results/toy/comparisons.csv").read_text()


def test_looks_are_taken_at_the_level_of_the_report(write, monkeypatch):
    """Also where a claim is about what is measured, which is in the family."""
    claims = "speed: on\nclaims: [model.effect=0.2 beats baseline on step_seconds]\n"
    study = prepare(write(STUDY + claims))
    plan = TrialPlan(study, claims=study.claims)
    sizes = []
    monkeypatch.setattr(
        trial_plan, "unsettled", lambda evidence: sizes.append(family_size(evidence.facts)) or set()
    )
    plan.next_cells({})
    plan.next_cells({})
    assert sizes == [family_size(plan.facts())]
    assert sizes == [3 + 1]


@pytest.mark.slow
def test_only_what_is_open_is_trained_on_and_a_kill_changes_no_decision(write, tmp_path):
    run_here(write(STUDY))
    folder = StudyFolder(tmp_path / "results", "toy")
    facts = folder.facts()
    assert facts.plan.looks == [2, 4, 6]
    # The effect is the same on every seed; the noise of three times the size is not settled by six.
    until = facts.plan.until
    assert (until["model.effect=0.2"], until["model.noise=0.3"]) == ({"coin": 2}, {"coin": 6})
    assert len(records(tmp_path)) == facts.planned == 3 * 6 + 2
    assert facts.planned == 20

    other = tmp_path / "killed"
    other.mkdir()
    slow = other / "study.yaml"
    slow.write_text(STUDY + "training: {seconds: 0.1}\n")
    driver = start(slow)
    try:
        wait_for(lambda: len(records(other)) > 9)  # inside the second look
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate()
    kept = records(other)
    run_here(slow)
    assert verdicts(other) == verdicts(tmp_path)
    now = records(other)
    assert len(now) == len(records(tmp_path))
    assert kept.items() <= now.items()
