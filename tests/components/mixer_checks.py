"""What the tests of several mixers have in common."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.mixer import Mixer
from ablate.components.positions import NoPosition
from ablate.components.sizes import Sizes
from ablate.models.initialise import initialise

CATALOGUE.load_builtin()
B, T, D = 4, 7, 6
NO_POSITION = NoPosition(PartConfig(), Sizes(D, T))
REAL = torch.tensor(
    [
        [1, 1, 1, 1, 0, 0, 0],
        [0, 0, 1, 1, 1, 1, 1],
        [1, 1, 0, 0, 1, 0, 1],
        [1, 1, 1, 1, 1, 1, 1],
    ],
    dtype=torch.bool,
)
"""(B, T): padding after, before, between, and none."""
MASK = REAL[:, None, None]


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def built(name: str, causal: bool = False, seed: int = 0, max_len: int = T, **settings: Any) -> Mixer:
    """A mixer in float64 whose every parameter is moved from where it starts, biases included."""
    mixer = CATALOGUE.get("mixer", name).Config.model_validate(settings).build(Sizes(D, max_len, causal))
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


def check_causal(mixer: Mixer) -> None:
    """A change at position 3 leaves all before as they are and reaches all from there on."""
    x = random(B, T, D)
    changed = x.clone()
    changed[:, 3] += 1
    y, z = mixer(x, NO_POSITION), mixer(changed, NO_POSITION)
    torch.testing.assert_close(y[:, :3], z[:, :3], rtol=0, atol=0)
    assert not torch.isclose(y[:, 3], z[:, 3]).all(-1).any()


def check_padding(mixer: Mixer) -> None:
    """What stands at padding neither changes real positions nor gets a gradient from them."""
    x = random(B, T, D).requires_grad_()
    y = mixer(x, NO_POSITION, MASK)
    changed = torch.where(REAL[..., None], x, x + 10)
    torch.testing.assert_close(y[REAL], mixer(changed, NO_POSITION, MASK)[REAL])
    (gradient,) = torch.autograd.grad((y[REAL] * random(*y[REAL].shape, seed=1)).sum(), x)
    assert (gradient[~REAL] == 0).all()
    assert (gradient[REAL].abs().amax(-1) > 0).all()
    assert not torch.allclose(mixer(x, NO_POSITION)[REAL], y[REAL])


def check_stacked(name: str, mask: Tensor | None = None, **settings: Any) -> None:
    """Results and gradients under `vmap` over stacked parameters are those of the models one by one."""
    mixers = [built(name, seed=seed, **settings) for seed in range(3)]
    parameters, buffers = stack_module_state(mixers)
    x, factors = random(B, T, D), random(B, T, D, seed=1)
    read = factors if mask is None else factors * REAL[..., None]

    def loss(parameters: Any, buffers: Any) -> tuple[Tensor, Tensor]:
        y = functional_call(mixers[0], (parameters, buffers), (x, NO_POSITION, mask))
        return (y * read).sum(), y * read

    gradients, outputs = vmap(grad(loss, has_aux=True))(parameters, buffers)
    for index, mixer in enumerate(mixers):
        value, y = loss(dict(mixer.named_parameters()), dict(mixer.named_buffers()))
        torch.testing.assert_close(outputs[index], y)
        own = torch.autograd.grad(value, list(mixer.parameters()))
        for (path, _), expected in zip(mixer.named_parameters(), own, strict=True):
            torch.testing.assert_close(gradients[path][index], expected, msg=path)
