"""Greedy paths: which steps are chosen, on which seeds, and what is then trained."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import ablate, with_database
from searching import PEAK_STUDY, prepared, train

from ablate.core.record import Record
from ablate.session.options import Options, RunOutcome
from ablate.session.session import IncompleteSelection
from ablate.stages.path import PathStage

# From 0.1, the learning rate gains 4; `wide` gains 0.1 beside one head and 0.2 beside three, which gain nothing without
# it; x gains 0.09.
CHANGES = "model.x: 0.3, model.heads: 3, model.kind: wide, training.lr: 1e-3"
PATH = f"""{PEAK_STUDY}training: {{noise: 1e-3}}
design: {{name: path, to: top, seeds: 2}}
variants: {{top: {{{CHANGES}}}, other: {{model.twin: 1}}}}
claims: [top beats baseline on score]
"""


class Walk:
    """A session that trains at once; `rounds` are how many trainings each step asks for."""

    def __init__(self, experiment):
        self.experiment, self.options = experiment, SimpleNamespace(fresh=False)
        self.enlist = lambda cells: None
        self.rounds, self.later, self.records = list[int](), list[int](), dict[str, Record]()

    def train(self, plan, later, fresh):
        asked = {cell.id: cell for cell in plan.next_cells({})}
        missing = [cell for cell in asked.values() if cell.id not in self.records]
        assert all(cell.seed >= 10_000 and not cell.judged for cell in missing)
        for cell in missing:
            try:
                self.records[cell.id] = train(self.experiment, cell.trial)
            except RuntimeError as error:
                self.records[cell.id] = Record.of(cell.trial, "failed", reason=str(error))
        self.rounds.append(len(missing))
        self.later.append(later)
        return self.records

    def incomplete(self, what, cells, records):
        return IncompleteSelection(RunOutcome(Path(), [], 0))


def walked(walk):
    """The changes in the order in which they were taken, and the study with the path."""
    stage = PathStage.from_study(walk.experiment.config, Options())
    found = stage.select(walk.experiment, walk, later=len(walk.experiment.cells()))
    taken = [re.findall(r" takes (\S+) before", note)[0] for note in found.notes]
    return taken, found


def test_before_a_path_as_many_trainings_are_announced_as_before_its_first_step(write):
    experiment = prepared(write(PATH))
    for study in (experiment, replace(experiment, companions_per_cell=2)):
        walk = Walk(study)
        judged = len(study.cells()) * (1 + study.companions_per_cell)
        stage = PathStage.from_study(study.config, Options())
        most = stage.max_trials(study, judged)
        stage.select(study, walk, later=judged)
        assert most == walk.rounds[0] + walk.later[0]


def test_each_step_takes_the_change_that_helps_most_beside_those_before_it(write):
    experiment = prepared(write(PATH))
    walk = Walk(experiment)
    taken, found = walked(walk)
    assert taken == ["training.lr", "model.kind", "model.heads"]
    # Three configurations between, with the baseline, the target and the other: six on three seeds.
    assert (walk.rounds, walk.later) == ([8, 6, 4], [10 + 18, 4 + 18, 18])
    assert len(walk.records) == len(found.selection.cells) == 18
    names = [variant.name for variant in found.variants]
    assert names == [
        "baseline", "training.lr=0.001", "model.kind=wide,training.lr=0.001",
        "model.heads=3,model.kind=wide,training.lr=0.001", "top", "other",
    ]  # fmt: skip
    assert found.variants[4].configs == experiment.variants[1].configs
    assert [cell.seed for cell in found.cells()] == [seed for seed in range(3) for _ in range(6)]
    first, *_ = found.notes
    assert first.startswith("step 1 of the path to top takes training.lr before ")
    assert first.endswith("by score on validation data of seeds 10000–10001")


def test_a_change_that_diverges_comes_last_and_one_that_fails_ends_the_choice(write):
    taken, _ = walked(Walk(prepared(write(PATH), training__fault="diverge", training__above=0.3)))
    assert len(taken) == 3
    assert "model.x" not in taken
    walk = Walk(prepared(write(PATH), training__fault="raise", training__above=0.3))
    with pytest.raises(IncompleteSelection):
        walked(walk)
    assert [record.status for record in walk.records.values()].count("failed") == 2


def test_a_configuration_that_is_known_is_not_trained_again(write):
    # Another `seconds` is no other trial, so that the step that adds it beside the best one is known.
    walk = Walk(
        prepared(write(PATH.replace(CHANGES, "training.lr: 1e-3, model.x: 0.3, training.seconds: 1e-9")))
    )
    assert walked(walk)[0] == ["training.lr", "model.x"]
    assert walk.rounds == [6, 2]


@pytest.mark.slow
def test_a_run_trains_and_reports_the_path(write, tmp_path):
    with_database(tmp_path / "results/store")
    study = write(PATH)
    for trained in (18 + 18, 0):
        done = ablate("run", study, "--jobs", "0", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / "results/store/trials").glob("*.json"))) == 36
        assert f"{trained} trials to train" in done.stdout or not trained
    text = (tmp_path / "results/peaks/report.html").read_text()
    assert "tep 2 of the path to top takes model.kind" in text
