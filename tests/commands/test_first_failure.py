"""The first run of the baseline fails: the run ends there, unless it is to keep going, and goes on once mended."""

import json

import pytest
from harness import TOY_STUDY, ablate_here, stored

from ablate.records.folder import StudyFolder

FAILING = "training: {fault: raise}\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.yaml").write_text(TOY_STUDY + FAILING)
    return tmp_path


def run(folder, *options):
    return ablate_here("run", "study.yaml", "--jobs", "0", *options, cwd=folder)


@pytest.mark.slow
def test_the_run_ends_at_once_and_continues_when_the_mistake_is_mended(folder):
    done = run(folder)
    assert done.returncode == 1
    assert len(stored(folder / "results")) == 1
    assert not (folder / "results/toy/report.md").exists()
    assert "nothing else was started" in done.stderr
    assert "--keep-going" in done.stderr
    # The same command fails in the same way, and the same study without the mistake runs whole.
    assert run(folder).returncode == 1
    (folder / "study.yaml").write_text(TOY_STUDY)
    assert run(folder).returncode == 0
    # A failure shows no verdict, so that the mended study has no changed plan.
    assert StudyFolder.at(folder / "results/toy").evidence().facts.plan.replanned is None


def test_json_has_the_failure_as_its_error(folder):
    done = run(folder, "--json")
    answer = json.loads(done.stdout)
    assert (answer["exit_code"], "the first run failed" in answer["error"]) == (1, True)


@pytest.mark.slow
def test_with_keep_going_every_trial_is_tried_and_the_report_is_written(folder):
    done = run(folder, "--keep-going")
    assert done.returncode == 1
    assert len(stored(folder / "results")) == 9
    assert (folder / "results/toy/report.md").exists()


@pytest.mark.slow
def test_a_later_failure_ends_nothing(folder):
    (folder / "study.yaml").write_text(TOY_STUDY + "training: {fault: raise, fault_seed: 1}\n")
    assert run(folder).returncode == 1
    assert len(stored(folder / "results")) == 9
    # What is in the store counts, too: the seeds that failed are tried again, first of all the baseline's.
    assert run(folder).returncode == 1
    assert (folder / "results/toy/report.md").exists()
