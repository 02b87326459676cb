"""What the tests of mixers have in common."""

from typing import Any

import torch
from torch import Tensor

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.mixer import Mixer
from ablate.components.positions import NoPosition
from ablate.components.sizes import Sizes
from ablate.models.build import initialise

CATALOGUE.load_builtin()
B, T, D = 4, 7, 6
NO_POSITION = NoPosition(PartConfig(), Sizes(D, T))
MIXERS: dict[str, Any] = {name: CATALOGUE.get("mixer", name) for name in CATALOGUE.names("mixer")}
EACH_WAY = [(name, causal) for name in MIXERS for causal in (False, True) if MIXERS[name].causal >= causal]
"""Every mixer where nothing is causal, and in a causal topology where it can be."""
REAL = torch.tensor(
    [[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1, 1]],
    dtype=torch.bool,
)
"""(B, T): padding after, before, between, and none."""
MASK = REAL[:, None, None]


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def built(name: str, causal: bool = False, seed: int = 0, max_len: int = T, **settings: Any) -> Mixer:
    """A mixer in float64 whose every parameter is moved from where it starts, biases included."""
    settings = {"num_heads": 2} | settings if name == "linear_attention" else settings
    config = MIXERS[name].Config.model_validate({"name": name} | settings)
    mixer = config.build(Sizes(D, max_len, causal))
    initialise(mixer, seed)
    mixer.double()
    with torch.no_grad():
        for index, parameter in enumerate(mixer.parameters()):
            parameter += 0.3 * random(*parameter.shape, seed=100 * seed + index)
    return mixer.eval()


def stepped(mixer: Mixer, x: Tensor) -> Tensor:
    """What `step` gives position by position."""
    outputs, state = [], None
    for t in range(x.shape[1]):
        y, state = mixer.step(x[:, t : t + 1], NO_POSITION, state)
        outputs.append(y)
    return torch.cat(outputs, 1)
