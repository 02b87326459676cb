"""Parts that are compared begin alike: on inputs of unit variance within a factor of two of their slot's default.

A score is compared by the interaction part of its logits: what a query adds to all of its keys cancels in the softmax,
and what a key adds to all queries reads no query. A part that begins otherwise says why in `begins_unlike`.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.positions import NoPosition, Position
from ablate.components.sizes import Sizes
from ablate.models.build import initialise
from ablate.models.reference import places, settings_for
from ablate.report.parts import describe
from ablate.stages import CONFIGS

CATALOGUE.load_builtin()
WIDTHS, LENGTHS, SEEDS, B = (16, 64), (5, 32), range(3), 16
NO_POSITION = NoPosition(PartConfig(), Sizes(1, 1))


def config(slot: str, name: str, **settings: Any) -> Any:
    part: Any = CATALOGUE.get(slot, name)
    return part.Config.model_validate({"name": name, **settings_for(part.Config), **settings})


def begun(config: Any, sizes: Sizes, seed: int) -> Any:
    part = config.build(sizes)
    initialise(part, seed)
    return part


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 + seed))


def interaction(logits: Tensor) -> Tensor:
    """Without the means over keys and over queries; (…, T_q, T_k)."""
    queries, keys = logits.mean(-1, keepdim=True), logits.mean(-2, keepdim=True)
    return logits - queries - keys + logits.mean((-2, -1), keepdim=True)


def of_score(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    """For queries and keys of unit variance; for those of inputs of unit variance."""
    mixer = begun(
        config("mixer", "attention", score={"name": name, **settings}), Sizes(d_model, length), seed
    )
    q, k = (normal(B, 4, length, d_model // 4, seed=2 * seed + i) for i in range(2))
    x = normal(B, length, d_model, seed=seed)
    return [interaction(mixer.score.logits(*pair)) for pair in ((q, k), (mixer.queries(x), mixer.read(x)[0]))]


def of_value(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    value = {**settings_for(CATALOGUE.get("value", name).Config), "name": name, **settings}
    mixer = begun(config("mixer", "attention", value=value), Sizes(d_model, length), seed)
    return [mixer.read(normal(B, length, d_model, seed=seed))[1]]


def of_mixer(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    """Where nothing is causal; in a causal topology."""
    x, able = normal(B, length, d_model, seed=seed), CATALOGUE.get("mixer", name).causal
    return [
        begun(config("mixer", name, **settings), Sizes(d_model, length, causal), seed)(x, NO_POSITION)
        for causal in ((False, True) if able else (False,))
    ]


def of_position(name: str, d_model: int, length: int, seed: int, **settings: Any) -> list[Tensor]:
    position = begun(config("position", name, **settings), Sizes(d_model, length), seed)
    return [position.embed(torch.zeros(1, length, d_model))]


SCALED = {"score": of_score, "value": of_value, "mixer": of_mixer, "position": of_position}


def rms(tensors: list[Tensor]) -> float:
    return float(torch.stack([tensor.square().mean() for tensor in tensors]).mean().sqrt())


@torch.no_grad()
def scales(slot: str, name: str, d_model: int, length: int, **settings: Any) -> list[float]:
    outputs = [SCALED[slot](name, d_model, length, seed, **settings) for seed in SEEDS]
    return [rms(list(of_seeds)) for of_seeds in zip(*outputs, strict=True)]


@cache
def scales_of_default(slot: str, d_model: int, length: int) -> list[float]:
    return scales(slot, str(places()[slot].default), d_model, length)


def ratios(slot: str, name: str, **settings: Any) -> Iterator[float]:
    for size in product((*WIDTHS, 256) if slot == "score" else WIDTHS, LENGTHS):
        # A mixer that cannot be causal has fewer.
        pairs = zip(scales(slot, name, *size, **settings), scales_of_default(slot, *size), strict=False)
        yield from (mine / its for mine, its in pairs)


def alike(ratios: list[float]) -> bool:
    return 0.5 <= min(ratios) <= max(ratios) <= 2


def parts(*slots: str) -> list[tuple[str, str]]:
    """Built-in parts of these slots."""
    every = [(slot, name) for slot in slots for name in CATALOGUE.names(slot)]
    return [pair for pair in every if CATALOGUE.get(*pair).__module__.startswith("ablate.")]


def adds(name: str) -> bool:
    return CATALOGUE.get("position", name).embed is not Position.embed


COMPARED = [(slot, name) for slot, name in parts(*SCALED) if slot != "position" or adds(name)]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("slot", "name"), COMPARED)
def test_a_part_begins_like_the_default_of_its_slot_or_says_why_not(slot, name):
    found, reason = list(ratios(slot, name)), CATALOGUE.get(slot, name).begins_unlike
    assert alike(found) == (not reason), f"{min(found):.3f} to {max(found):.3f}; {reason}"
    told = f"begins unlike {places()[slot].default} {reason}"
    assert (told in " ".join(describe(slot, name, CONFIGS).split())) == bool(reason)


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
    found = list(ratios(slot, name, **settings))
    assert alike(found), f"{min(found):.3f} to {max(found):.3f}"


def test_only_parts_that_are_compared_have_a_reason():
    others = [pair for pair in parts(*CATALOGUE.slots()) if pair not in COMPARED]
    assert not [pair for pair in others if getattr(CATALOGUE.get(*pair), "begins_unlike", "")]
