"""Same study, same numbers, bit for bit: whatever the number of jobs, on the real workload."""

import io
from pathlib import Path

import pandas as pd
import pytest
from harness import with_database
from rich.console import Console

import ablate
from ablate.commands.run import execute
from ablate.records.store import Store
from ablate.route.options import Options

STUDY = """
name: tiny
task: {name: recall, validation_size: 128, test_size: 128}
model: {d_model: 16, num_layers: 1, mixer: {num_heads: 2}, dropout: {residual: 0.1, attention_weights: 0.1}}
training: {steps: 30, batch_size: 16, lr: 3e-3, eval_every: 10}
factors:
  model.mixer.score: [additive]
  model.norm: [batch]
placebo: on
"""


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[pd.DataFrame, pd.DataFrame]]:
    """Trials and curves of the study with two seeds under --jobs 2, 1 and 0."""
    found = {}
    for jobs in (2, 1, 0):
        folder = tmp_path_factory.mktemp(f"jobs{jobs}")
        (folder / "study.yaml").write_text(STUDY)
        with_database(folder / "results/store")
        options = Options(results=folder / "results", jobs=jobs, seeds=2)
        console = Console(file=io.StringIO())
        outcome = execute(folder / "study.yaml", options, console)
        assert outcome.trained == len(list((folder / "results/store/trials").glob("*.json"))) == 8
        results = ablate.load(outcome.folder)
        found[jobs] = results.trials, results.curves
    return found


def comparable(frame: pd.DataFrame) -> pd.DataFrame:
    free = ("_seconds", "_per_second", "_memory")
    return frame[[column for column in frame.columns if not column.endswith(free)]]


@pytest.mark.parametrize("jobs", [1, 0])
def test_the_number_of_jobs_changes_no_bit(
    frames: dict[int, tuple[pd.DataFrame, pd.DataFrame]], jobs: int
) -> None:
    for two, other in zip(frames[2], frames[jobs], strict=True):
        pd.testing.assert_frame_equal(comparable(two), comparable(other), check_exact=True)
        assert len(two)


def test_variants_differ_and_so_do_seeds(frames: dict[int, tuple[pd.DataFrame, pd.DataFrame]]) -> None:
    trials, _ = frames[2]
    assert trials.loss.nunique() == len(trials) == 8
    assert set(trials.status) == {"completed"}


def test_all_variants_of_a_seed_see_the_same_data(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    with_database(tmp_path / "results/store")
    options = Options(results=tmp_path / "results", jobs=0, seeds=2)
    outcome = execute(tmp_path / "study.yaml", options, Console(file=io.StringIO()))
    store = Store(tmp_path / "results" / "store")
    trials = ablate.load(outcome.folder).trials
    digests = {seed: [store.load(i).data for i in group.id] for seed, group in trials.groupby("seed")}  # type: ignore[union-attr]
    for seed, of_seed in digests.items():
        assert of_seed[0], seed
        assert all(data == of_seed[0] for data in of_seed)
    assert digests[0][0] != digests[1][0]
