"""What a user's own task must say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import ablate_here

from ablate.base.errors import StudyError
from ablate.study.prepare import prepare

PARITY = '''
import numpy as np
import torch

from ablate import register
from ablate.core.signature import Signature
from ablate.tasks.classification import Classification
from ablate.tasks.generated import Generated
from ablate.tasks.task import Batch


@register("task", "parity")
class Parity(Generated, Classification):
    """Whether a sequence of bits has an odd number of ones."""

    class Config(Generated.Config):
        """Parameters of parity."""

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


@pytest.mark.parametrize(
    ("outcome", "given"), [("", ""), ('outcome = "partly"', "given 'partly'; ")], ids=["none", "unknown"]
)
def test_a_task_that_does_not_say_how_runs_end_is_refused(
    write: Callable[..., Path], outcome: str, given: str
) -> None:
    write(PARITY.replace("OUTCOME", outcome), "parity.py")
    path = write(STUDY)
    with pytest.raises(StudyError) as caught:
        prepare(path)
    (problem,) = caught.value.problems
    assert str(problem) == (
        f"{path}:4: task: class Parity must declare `outcome`: graded where a run may end anywhere between guessing "
        "and perfect, all_or_nothing where it finds the solution or stays near guessing; "
        f"{given}allowed: graded, all_or_nothing. "
        'Write `outcome = "graded"` or `outcome = "all_or_nothing"` into the class'
    )


def test_a_task_that_does_not_say_where_its_test_examples_come_from_is_refused(
    write: Callable[..., Path],
) -> None:
    silent = PARITY.replace("OUTCOME", 'outcome = "graded"').replace(
        "self.set_support(2**config.seq_len)", ""
    )
    write(silent, "parity.py")
    with pytest.raises(StudyError, match="class Parity must declare `sampling`: where its test examples"):
        prepare(write(STUDY))


@pytest.mark.slow
def test_a_task_that_says_both_is_run(write: Callable[..., Path]) -> None:
    write(PARITY.replace("OUTCOME", 'outcome = "all_or_nothing"'), "parity.py")
    path = write(STUDY)
    (description,) = prepare(path).describe(prepare(path).variants[0])
    assert (description.outcome, description.sampling.pool, description.sampling.test) == (
        "all_or_nothing",
        "fresh",
        32,
    )
    assert ablate_here("plan", path, cwd=path.parent).returncode == 0
