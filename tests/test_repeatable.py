"""Same study, same numbers, bit for bit: whatever the number of jobs, on the real workload."""

from pathlib import Path

import pandas as pd
import pytest
from harness import FREE, run_here

import ablate
from ablate.records.store import Store

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
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Results of the study with two seeds under --jobs 2, 1 and 0."""
    found = {}
    for jobs in (2, 1, 0):
        study = tmp_path_factory.mktemp(f"jobs{jobs}") / "study.yaml"
        study.write_text(STUDY)
        outcome, _ = run_here(study, jobs=jobs, seeds=2)
        assert outcome.trained == len(list((study.parent / "results/store/trials").glob("*.json"))) == 8
        found[jobs] = outcome.folder
    return found


def comparable(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[[column for column in frame.columns if not column.endswith(FREE)]]


@pytest.mark.parametrize("jobs", [1, 0])
def test_the_number_of_jobs_changes_no_bit(folders, jobs):
    two, other = (ablate.load(folders[each]) for each in (2, jobs))
    for one, again in ((two.trials, other.trials), (two.curves, other.curves)):
        pd.testing.assert_frame_equal(comparable(one), comparable(again), check_exact=True)
    assert two.trials.loss.nunique() == len(two.trials) == 8
    assert set(two.trials.status) == {"completed"}


def test_all_variants_of_a_seed_see_the_same_data(folders):
    store, trials = Store(folders[0].parent / "store"), ablate.load(folders[0]).trials
    digests = {seed: [store.load(i).data for i in group.id] for seed, group in trials.groupby("seed")}
    for seed, of_seed in digests.items():
        assert of_seed[0], seed
        assert all(data == of_seed[0] for data in of_seed)
    assert digests[0][0] != digests[1][0]
