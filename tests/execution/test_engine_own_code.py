"""What every engine promises, of a user's own code: a function, and a command."""

import json
import shutil
from dataclasses import replace

import pytest
from engines import ENGINES, SLOW_ON_RAY, run
from harness import content, prepare
from own import OWN, own_study

from ablate.core.events import Ended, Progress, Started
from ablate.execution.engines.in_process import InProcess
from ablate.session.workers import reference


@pytest.fixture(params=["function", pytest.param("command", marks=pytest.mark.slow)])
def experiment(request, tmp_path):
    folder = shutil.copytree(OWN, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "study.yaml").write_text(json.dumps(own_study(request.param)))
    study = prepare(folder / "study.yaml")
    # As a session does before it trains.
    study.workload.freeze()
    return study


@pytest.fixture(params=SLOW_ON_RAY)
def engine(request, experiment):
    return ENGINES[request.param](reference(experiment))


@pytest.mark.slow
def test_numbers_and_stops_are_those_of_one_process_and_events_come_in_order(engine, experiment):
    trials = [replace(cell.trial, prunable=True) for cell in experiment.cells()]
    heard = []

    def decide(report):
        return report.trial_id == trials[1].id and len(steps_of(report.trial_id)) == 2

    def steps_of(trial_id):
        return [e.step for e in heard if isinstance(e, Progress) and e.trial_id == trial_id]

    found = run(engine, trials, decide, heard)
    assert [record.status for record in found] == ["completed", "pruned", *["completed"] * 4]
    assert len(steps_of(trials[1].id)) == 2 < len(steps_of(trials[0].id))
    for trial in trials:
        own = [e for e in heard if (e.record.id if isinstance(e, Ended) else e.trial_id) == trial.id]
        assert [type(own[0]), type(own[-1])] == [Started, Ended]
        assert steps_of(trial.id) == sorted(steps_of(trial.id))
    heard.clear()
    expected = run(InProcess(reference(experiment)), trials, decide, heard)
    assert [content(record) for record in found] == [content(record) for record in expected]
