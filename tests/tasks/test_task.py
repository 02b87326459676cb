"""What a user's own task must say."""

import pytest

from ablate.base.errors import NOT_GIVEN, StudyError
from ablate.study.prepare import prepare

PARITY = '''
import numpy as np
import torch

from ablate import register
from ablate.core.signature import Signature
from ablate.tasks.task import Classification
from ablate.tasks.generated import Generated
from ablate.tasks.task import Batch


@register("task", "parity")
class Parity(Generated, Classification):
    """Whether a sequence of bits has an odd number of ones."""

    class Config(Generated.Config):
        """T."""

        seq_len: int = 12
        "T."

    OUTCOME

    def __init__(self, config):
        self.config = config
        self.signature = Signature(config.seq_len, num_outputs=2, vocab_size=2, readout="last")
        self.set_metrics(num_classes=2, num_test=config.test_size, solved=0.95)
        self.set_support(2**config.seq_len)

    def examples(self, generator, count):
        bits = (2 * generator.random((count, self.config.seq_len))).astype(np.int64)
        return Batch(torch.from_numpy(bits), torch.from_numpy(bits.sum(1) % 2))
'''
STUDY = """
name: odd
plugins: [parity.py]
task: {name: parity, validation_size: 32, test_size: 32}
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 2, batch_size: 64}
factors: {model.norm: [rms]}
seeds: 2
"""
SUPPORT = "self.set_support(2**config.seq_len)"


@pytest.mark.parametrize(
    ("changes", "what", "given"),
    [
        ({"OUTCOME": ""}, "outcome", NOT_GIVEN),
        ({"OUTCOME": 'outcome = "partly"'}, "outcome", "partly"),
        ({"OUTCOME": 'outcome = "graded"', SUPPORT: ""}, "sampling", NOT_GIVEN),
    ],
)
def test_a_task_that_lacks_its_outcome_or_its_sampling_is_refused(write, changes, what, given):
    text = PARITY
    for old, new in changes.items():
        text = text.replace(old, new)
    write(text, "parity.py")
    with pytest.raises(StudyError, match=f"class Parity must declare `{what}`") as caught:
        prepare(write(STUDY))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.given) == (("task",), 4, given)
    assert what != "outcome" or problem.allowed == "graded, all_or_nothing"


def test_a_task_that_says_both_is_valid(write):
    write(PARITY.replace("OUTCOME", 'outcome = "all_or_nothing"'), "parity.py")
    experiment = prepare(write(STUDY))
    (description,) = experiment.describe(experiment.variants[0])
    assert description.outcome == "all_or_nothing"
    assert (description.sampling.pool, description.sampling.test) == ("fresh", 32)
