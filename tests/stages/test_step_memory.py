"""The memory of a step is what its tensors take: counted by hand for a model whose every tensor is known."""

import pytest
import torch

from ablate.core.speed import Operation
from ablate.stages.speed.step_memory import peak_of_step

MB = 1 << 20
ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.0, "eps": 1e-8}
ADAMW |= {"amsgrad": False, "maximize": False}


class Perceptron:
    """Two matrices and Adam's moments: x W₁ → ReLU → W₂ → sum, all sizes known."""

    rows, width = 256, 512

    def __init__(self, temporary=0):
        self.temporary = temporary
        self.x = torch.ones(self.rows, self.width)
        self.weights = [torch.full((self.width, self.width), 0.01, requires_grad=True) for _ in range(2)]
        self.moments = []

    def operations(self):
        return {"step": Operation(self.step, self.rows, self.rows)}

    def step(self):
        hidden = torch.relu(self.x @ self.weights[0])
        if self.temporary:
            torch.empty(self.temporary, dtype=torch.uint8)
        loss = (hidden @ self.weights[1]).sum()
        for weight in self.weights:
            weight.grad = None
        loss.backward()
        if not self.moments:
            self.moments = [torch.zeros_like(w) for w in self.weights for _ in range(2)]
        torch._fused_adamw_(
            [w.detach() for w in self.weights],
            [w.grad for w in self.weights],
            self.moments[::2],
            self.moments[1::2],
            [],
            [torch.ones(()) for _ in self.weights],
            **ADAMW,
        )

    @property
    def known(self):
        """Bytes during the backward pass of the second step: 2 weights, their moments, one gradient and
        the next, the input, the hidden layer and its gradient."""
        weight, activation = 4 * self.width**2, 4 * self.rows * self.width
        held = 2 * weight + 4 * weight + activation
        return held + 2 * weight + activation + activation


@pytest.mark.slow
def test_known_tensors():
    known = Perceptron().known
    assert peak_of_step(lambda: Perceptron().operations()) == pytest.approx(known, rel=0.05)


@pytest.mark.slow
def test_what_is_freed_within_the_step_counts_and_what_was_there_before_does_not():
    before = torch.empty(64 * MB, dtype=torch.uint8)
    plain = peak_of_step(lambda: Perceptron().operations())
    with_more = peak_of_step(lambda: Perceptron(100 * MB).operations())
    assert plain is not None
    assert with_more is not None
    assert len(before) > plain
    # Beside the temporary: weights, moments, both gradients of the step before, the input and the hidden layer.
    assert with_more == pytest.approx(100 * MB + plain, rel=0.05)


@pytest.mark.slow
def test_only_the_second_step_counts():
    class Once(Perceptron):
        def step(self):
            if not self.moments:
                torch.empty(200 * MB, dtype=torch.uint8)
            super().step()

    assert peak_of_step(lambda: Once().operations()) == pytest.approx(Once().known, rel=0.05)


@pytest.mark.slow
def test_without_a_step_or_without_tensors_there_is_none():
    """Of no bytes there is no ratio."""
    assert peak_of_step(dict) is None
    assert peak_of_step(lambda: {"step": Operation(lambda: sum(range(9)), 1, 1)}) is None
