"""Same study, same numbers, bit for bit: whatever the number of workers, on the real workload."""

import pytest
from harness import content, prepare

from ablate.core.events import FixedPlan
from ablate.execution.driver import drive
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised
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
def found(tmp_path_factory):
    """Number of workers → what each trial gave, by seed and variant, read again from a store; two seeds."""
    folder = tmp_path_factory.mktemp("repeatable")
    (folder / "study.yaml").write_text(STUDY)
    cells, workload = (
        prepare(folder / "study.yaml", seeds=2).cells(),
        WorkloadRef("sequence", command="a test"),
    )
    found = {}
    for jobs in (2, 0):
        engine = Supervised(LocalPool(workload, jobs) if jobs else InProcess(workload))
        store = Store(folder / str(jobs))
        drive(FixedPlan(cells), engine, store, lambda event: None)
        engine.close()
        found[jobs] = {(cell.seed, cell.variant): store.load(cell.id) for cell in cells}
    return found


def test_the_number_of_workers_changes_no_bit(found):
    two, none = ({at: content(record) for at, record in found[jobs].items()} for jobs in (2, 0))
    assert two == none
    assert {record.status for record in found[0].values()} == {"completed"}
    assert len({record.metrics["loss"] for record in found[0].values()}) == 8


def test_all_variants_of_a_seed_see_the_same_data(found):
    data = {seed: [r.data for at, r in found[0].items() if at[0] == seed] for seed in (0, 1)}
    assert all(each == of_seed[0] != {} for of_seed in data.values() for each in of_seed)
    assert data[0][0] != data[1][0]
