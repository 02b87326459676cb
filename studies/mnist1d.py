"""The four models that Greydanus and Kobak trained on MNIST-1D, and their way of training.

As in `models.py`, `train.py` and the notebook `mnist1d-classification.ipynb` of github.com/greydanus/mnist1d. Data are
drawn anew for every seed. B is the size of a batch; a signal has 40 points.
"""

import numpy as np
import torch
from mnist1d_signals import LENGTH, NUM_DIGITS, mnist1d
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 100
CHANNELS = 25
STATE = 6


class MLP(nn.Module):
    """Two hidden layers, of which the second adds to the first: 15,210 parameters."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(LENGTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, NUM_DIGITS)

    def forward(self, signals: Tensor) -> Tensor:
        """Returns logits, shape (B, 10), for signals, shape (B, 40)."""
        hidden = self.first(signals).relu()
        hidden = hidden + self.second(hidden).relu()
        return self.last(hidden)


class CNN(nn.Module):
    """Three convolutions, each of which halves the length, and a linear layer: 5,210 parameters."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList(
            [
                nn.Conv1d(1, CHANNELS, kernel_size=5, stride=2, padding=1),
                nn.Conv1d(CHANNELS, CHANNELS, kernel_size=3, stride=2, padding=1),
                nn.Conv1d(CHANNELS, CHANNELS, kernel_size=3, stride=2, padding=1),
            ]
        )
        self.last = nn.Linear(5 * CHANNELS, NUM_DIGITS)

    def forward(self, signals: Tensor) -> Tensor:
        """Returns logits, shape (B, 10), for signals, shape (B, 40)."""
        hidden = signals[:, None]
        for convolution in self.convolutions:
            hidden = convolution(hidden).relu()
        return self.last(hidden.flatten(1))


class GRU(nn.Module):
    """A GRU in each direction, and a linear layer on the states of all steps: 5,134 parameters."""

    def __init__(self):
        super().__init__()
        self.recurrent = nn.GRU(input_size=1, hidden_size=STATE, batch_first=True, bidirectional=True)
        self.last = nn.Linear(2 * STATE * LENGTH, NUM_DIGITS)

    def forward(self, signals: Tensor) -> Tensor:
        """Returns logits, shape (B, 10), for signals, shape (B, 40)."""
        states, _ = self.recurrent(signals[:, :, None])
        return self.last(states.flatten(1))


def model_of(name: str) -> nn.Module:
    """Returns a new model by its name."""
    if name == "logistic":
        return nn.Linear(LENGTH, NUM_DIGITS)
    return {"mlp": MLP, "cnn": CNN, "gru": GRU}[name]()


def examples_of(config: dict, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Returns signals and digits for training, and for the test."""
    positions = np.arange(LENGTH)
    if config["shuffled"]:
        positions = np.random.default_rng([seed, 1]).permutation(LENGTH)
    generator = np.random.default_rng([seed, 0])
    examples = []
    for count in (config["train_size"], config["test_size"]):
        signals, digits = mnist1d(generator, count)
        examples.append((torch.from_numpy(signals[:, positions]), torch.from_numpy(digits)))
    return examples


def train(config: dict, seed: int) -> dict[str, float]:
    """Trains a model, and returns the share of right answers on the test."""
    torch.manual_seed(seed)
    (signals, digits), (test_signals, test_digits) = examples_of(config, seed)
    model = model_of(config["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    size = config["batch_size"]
    for step in range(config["steps"] + 1):  # One more, as the authors have it.
        start = step * size % len(signals)
        logits = model(signals[start : start + size])
        loss = functional.cross_entropy(logits, digits[start : start + size])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        right = model(test_signals).argmax(-1) == test_digits
    return {"accuracy": right.float().mean().item()}
