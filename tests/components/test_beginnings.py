"""Parts that are compared begin alike: on inputs of unit variance within a factor of two of their slot's default.

A score is compared by the interaction part of its logits: what a query adds to all of its keys cancels in the softmax,
and what a key adds to all queries reads no query. A part that begins otherwise says why in `begins_unlike`.
"""

from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.positions import NoPosition, Position
from ablate.components.sizes import Part, Sizes
from ablate.models.build import initialise
from ablate.models.reference import places, settings_for
from ablate.report.parts import describe
from ablate.stages import CONFIGS

CATALOGUE.load_builtin()
WIDTHS = (16, 64)
LENGTHS = (5, 32)
SEEDS = range(3)
B = 16
NO_POSITION = NoPosition(PartConfig(), Sizes(1, 1))


def config(slot: str, name: str, **settings: Any) -> Any:
    part: Any = CATALOGUE.get(slot, name)
    return part.Config.model_validate({"name": name, **settings_for(part.Config), **settings})


def initialised(config: Any, sizes: Sizes, seed: int) -> Any:
    part = config.build(sizes)
    initialise(part, seed)
    return part


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 + seed))


def interaction(logits: Tensor) -> Tensor:
    """Returns logits (…, T_q, T_k) without their means over keys and over queries."""
    over_keys = logits.mean(-1, keepdim=True)
    over_queries = logits.mean(-2, keepdim=True)
    return logits - over_keys - over_queries + logits.mean((-2, -1), keepdim=True)


def outputs_of_score(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    """Returns interactions for queries and keys of unit variance, and for those of inputs of unit variance."""
    attention = config("mixer", "attention", score={"name": name, **settings})
    mixer = initialised(attention, Sizes(d_model, length), seed)
    q = normal(B, 4, length, d_model // 4, seed=2 * seed)
    k = normal(B, 4, length, d_model // 4, seed=2 * seed + 1)
    x = normal(B, length, d_model, seed=seed)
    keys, _ = mixer.read(x)
    return [interaction(mixer.score.logits(q, k)), interaction(mixer.score.logits(mixer.queries(x), keys))]


def outputs_of_value(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    value = {**settings_for(CATALOGUE.get("value", name).Config), "name": name, **settings}
    mixer = initialised(config("mixer", "attention", value=value), Sizes(d_model, length), seed)
    _, values = mixer.read(normal(B, length, d_model, seed=seed))
    return [values]


def outputs_of_mixer(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    """Returns the output where nothing is causal, and that in a causal topology where the mixer can be in one."""
    x = normal(B, length, d_model, seed=seed)
    outputs = []
    for causal in (False, True):
        if CATALOGUE.get("mixer", name).causal >= causal:
            mixer = initialised(config("mixer", name, **settings), Sizes(d_model, length, causal), seed)
            outputs.append(mixer(x, NO_POSITION))
    return outputs


def outputs_of_position(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    position = initialised(config("position", name, **settings), Sizes(d_model, length), seed)
    return [position.embed(torch.zeros(1, length, d_model))]


OUTPUTS = {
    "score": outputs_of_score,
    "value": outputs_of_value,
    "mixer": outputs_of_mixer,
    "position": outputs_of_position,
}


def rms(tensors: list[Tensor]) -> float:
    return float(torch.stack([tensor.square().mean() for tensor in tensors]).mean().sqrt())


@torch.no_grad()
def scales(slot: str, name: str, d_model: int, length: int, **settings: Any) -> list[float]:
    """Returns the scale of each output, over all seeds."""
    by_seed = [OUTPUTS[slot](name, d_model, length, seed, **settings) for seed in SEEDS]
    return [rms(list(tensors)) for tensors in zip(*by_seed, strict=True)]


@cache
def scales_of_default(slot: str, d_model: int, length: int) -> list[float]:
    return scales(slot, str(places()[slot].default), d_model, length)


def ratios(slot: str, name: str, **settings: Any) -> list[float]:
    """Returns the scales of a part over those of its slot's default, at all sizes."""
    widths = (*WIDTHS, 256) if slot == "score" else WIDTHS
    quotients = []
    for d_model, length in product(widths, LENGTHS):
        scales_of_part = scales(slot, name, d_model, length, **settings)
        # A mixer that cannot be causal has fewer.
        pairs = zip(scales_of_part, scales_of_default(slot, d_model, length), strict=False)
        quotients += [scale / default for scale, default in pairs]
    return quotients


def alike(ratios: list[float]) -> bool:
    return 0.5 <= min(ratios) <= max(ratios) <= 2


def parts(*slots: str) -> list[tuple[str, str]]:
    """Returns slot and name of the built-in parts of these slots."""
    pairs = []
    for slot in slots:
        pairs += [(slot, name) for name in CATALOGUE.names(slot)]
    return [pair for pair in pairs if CATALOGUE.get(*pair).__module__.startswith("ablate.")]


def is_compared(slot: str, name: str) -> bool:
    """Returns whether the initial outputs of a part have a scale; of positions, those that add to the embedding."""
    return slot != "position" or CATALOGUE.get("position", name).embed is not Position.embed


COMPARED = [(slot, name) for slot, name in parts(*OUTPUTS) if is_compared(slot, name)]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("slot", "name"), COMPARED)
def test_a_part_begins_like_the_default_of_its_slot_or_says_why_not(slot, name):
    measured = ratios(slot, name)
    reason = CATALOGUE.get(slot, name).begins_unlike
    assert alike(measured) == (not reason), f"{min(measured):.3f} to {max(measured):.3f}; {reason}"
    heading = f"begins unlike {places()[slot].default} {reason}"
    assert (heading in " ".join(describe(slot, name, CONFIGS).split())) == bool(reason)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("slot", "name", "settings"),
    [
        *(("score", "additive", {"hidden": hidden}) for hidden in (2, 16, 128)),
        ("score", "gaussian", {"learned": True}),
        *(("value", "low_rank", {"rank": rank}) for rank in (1, 16)),
        *(("mixer", "conv", {"kernel_size": size}) for size in (1, 5)),
        *(("mixer", name, {"hidden": h}) for name in ("mlp", "mlp_mixer", "gmlp") for h in (8, 128)),
        ("mixer", "attention", {"num_heads": 1}),
        ("mixer", "attention", {"split": "before"}),
    ],
)
def test_settings_keep_the_beginning(slot, name, settings):
    measured = ratios(slot, name, **settings)
    assert alike(measured), f"{min(measured):.3f} to {max(measured):.3f}"


def test_only_parts_that_are_compared_have_a_reason():
    for slot, name in parts(*CATALOGUE.slots()):
        part = CATALOGUE.get(slot, name)
        if (slot, name) not in COMPARED and issubclass(part, Part):
            assert not part.begins_unlike, name
