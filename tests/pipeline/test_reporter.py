"""The report of a run is made in a process of its own, and is the one that is made here."""

import os
import signal
from contextlib import closing

import numpy as np
import pytest
from harness import TOY_STUDY, ablate_without
from made_evidence import study

from ablate.base.errors import AblateError
from ablate.pipeline import reporter
from ablate.pipeline.reporter import Reporter, write_page, write_report
from ablate.records.folder import StudyFolder

pytestmark = pytest.mark.draws
SPREAD = np.array([0.01, -0.012, 0.008, -0.006])
CURVES = {(name, seed): [0.2, 0.5, 0.8] for name in ("baseline", "a") for seed in range(4)}


@pytest.fixture
def apart(monkeypatch):
    """As where seaborn is not imported yet, which another test may have done."""
    monkeypatch.setattr(reporter, "SLOWEST_IMPORT", "a module that nobody imports")


@pytest.fixture
def folder(tmp_path):
    made = StudyFolder(tmp_path / "there", "made")
    made.save_evidence(study({"baseline": 0.8 + SPREAD, "a": 0.7 - SPREAD}, curves=CURVES, margin=0.02))
    return made


@pytest.fixture
def known(folder, tmp_path):
    """The files of the report that is made here, without what it is made from."""
    here = StudyFolder(tmp_path / "here", "made")
    here.save_evidence(folder.evidence())
    write_report(here, pytest.fail)
    return files(here)


def files(folder):
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*.*")}


def killed(found):
    os.kill(found._child.process.pid, signal.SIGKILL)


def reported(made, folder, between=lambda: None):
    """Makes a report as a run does: `between` its verdicts and its page something may happen."""
    verdicts = made.judge(folder)
    folder.save_verdicts(verdicts.tables, verdicts.answer)
    between()
    write_page(folder, made.draw(folder), pytest.fail)


@pytest.mark.slow
def test_a_report_of_the_process_is_the_one_that_is_made_here(apart, folder, known):
    made = Reporter()
    reported(made, folder)
    assert files(folder) == known
    assert "figures/forest.svg" in known
    assert made._child is None, "it has ended"


def test_a_process_that_is_killed_in_the_middle_still_leaves_a_whole_report(apart, folder, known):
    made = Reporter()
    made.start()
    process = made._child.process
    reported(made, folder, between=lambda: killed(made))
    assert process.returncode == -signal.SIGKILL
    assert files(folder) == known


@pytest.mark.slow
def test_one_that_was_killed_before_is_started_again_and_says_what_is_wrong_as_it_is_said_here(
    apart, folder, tmp_path
):
    (folder.path / "trials.parquet").write_bytes(b"broken")
    with pytest.raises(AblateError) as here:
        write_report(folder, pytest.fail)
    with closing(Reporter()) as made:
        made.start()
        first = made._child.process
        killed(made)
        first.wait()
        with pytest.raises(AblateError) as there:
            made.judge(folder)
        assert made._child.process is not first
    assert str(there.value) == str(here.value)


def test_one_that_is_killed_while_it_judges_leaves_it_to_this_process(apart, folder, known, monkeypatch):
    made = Reporter()
    monkeypatch.setattr(made, "_received", lambda: killed(made))
    reported(made, folder)
    assert made._child is None
    assert files(folder) == known


@pytest.mark.slow
def test_nothing_is_started_where_seaborn_is_or_a_debugger(folder, monkeypatch):
    monkeypatch.setattr(reporter, "SLOWEST_IMPORT", "numpy")
    found = Reporter()
    found.start()
    assert found._child is None
    monkeypatch.setattr(reporter, "SLOWEST_IMPORT", "a module that nobody imports")
    found = Reporter(in_process=True)
    reported(found, folder)
    assert found._child is None
    assert folder.report_file.exists()


@pytest.mark.slow
def test_a_run_imports_nothing_that_draws_or_decides(write):
    path = write(TOY_STUDY)
    ablate_without({"matplotlib", "seaborn", "scipy.stats"}, "run", path, "--jobs", 1, cwd=path.parent)
    report = StudyFolder(path.parent / "results", "toy")
    assert report.report_file.exists()
    assert (report.path / "figures" / "forest.svg").exists()
