"""Notes on the source of a program: never in the answer, and never against what its runs show."""

import io

import pytest
from rich.console import Console

from ablate.pipeline.run import run_study
from ablate.records.folder import StudyFolder
from ablate.session.options import Options

STUDY = """
name: own
workload: {command: "python train.py {seed} {lr}", read: {loss: "loss ([0-9.]+)"}}
config: {lr: 0.1, unread: 1}
metrics: {loss: {direction: min}}
factors: {config.lr: [0.2]}
seeds: 2
"""
CONSTANT = "import random, sys\nrandom.seed(0)\n"
READS_SEED = "rng = random.Random(int(sys.argv[1]))\n"
IGNORES_SEED = "rng = random.Random(0)\n"
PRINTS = "print('loss', float(sys.argv[2]) + rng.random())\n"
SEEDED = "every trial gets the same seed at train.py:2: random.seed(0)"
UNREAD = "your code never mentions `unread`"


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """The notes, the answer and the page of a study of a program with this text."""
    monkeypatch.chdir(tmp_path)

    def run(program):
        (tmp_path / "train.py").write_text(program)
        (tmp_path / "beside.py").write_text("# It may read $ABLATE_CONFIG.")
        (tmp_path / "own.yaml").write_text(STUDY)
        said = io.StringIO()
        options = Options(results=tmp_path / "results", jobs=1)
        run_study(tmp_path / "own.yaml", options, Console(file=said, width=200))
        folder = StudyFolder(tmp_path / "results", "own")
        assert not any(note in " ".join(folder.answer()) for note in (SEEDED, UNREAD))
        return folder.facts().code_notes, folder.facts().cautions, (folder.path / "report.html").read_text()

    return run


@pytest.mark.slow
def test_a_note_on_seeds_is_dropped_where_runs_of_other_seeds_differ(notes):
    kept, cautions, _ = notes(CONSTANT + READS_SEED + PRINTS)
    assert kept == [UNREAD]
    assert cautions == []


@pytest.mark.slow
def test_a_note_stays_where_runs_agree_with_it(notes):
    kept, cautions, page = notes(CONSTANT + IGNORES_SEED + PRINTS)
    assert kept == [SEEDED, UNREAD]
    assert cautions == []
    assert "<li><strong>Every trial gets the same seed at train.py:2:</strong> random.seed(0).</li>" in page
