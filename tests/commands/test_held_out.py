"""A study whose seeds share their test examples, from the command to its files."""

import numpy as np
import pandas as pd
import pytest

from ablate.base.errors import AblateError
from ablate.records import tables
from ablate.records.folder import StudyFolder

STUDY = """
name: small
task: {name: digits, train_size: 100, validation_size: 100, test_size: 90}
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 6, batch_size: 16, eval_every: 2}
metric: {name: loss, at: best_validation}
factors: {model.norm: [rms]}
seeds: 2
"""


@pytest.mark.slow
def test_every_trial_leaves_what_each_test_example_gave_on_the_judged_metric(run):
    folder = run(STUDY)[0].folder
    examples = pd.read_parquet(folder / "examples.parquet")
    trials = pd.read_parquet(folder / "trials.parquet").set_index("id")
    assert len(examples) == len(trials) == 4
    assert {*examples["metric"]} == {"loss"}, "no claim names another"
    for row in examples.itertuples():
        assert row.values.shape == (90,)
        assert np.mean(row.values, dtype=np.float64) == trials.loc[row.id, "loss_at_best_validation"]
    (facts,) = StudyFolder.at(folder).facts().tasks
    assert (facts.outcome, facts.sampling.pool) == ("graded", "held_out")
    # A report without them is not the report that was written.
    before = StudyFolder.at(folder).stamps()
    (folder / "examples.parquet").unlink()
    assert StudyFolder.at(folder).stamps() != before
    with pytest.raises(AblateError, match=r"examples\.parquet: does not exist"):
        StudyFolder.at(folder).evidence()

    # Nor is one with those of other trials, or of some.
    for others in (examples.assign(id=[*"abcd"]), examples[:3]):
        tables.save_frame(folder / "examples.parquet", others)
        with pytest.raises(AblateError, match=r"examples\.parquet: (has|lacks)"):
            StudyFolder.at(folder).evidence()
    run(STUDY)
    assert len(StudyFolder.at(folder).evidence().examples) == 4
