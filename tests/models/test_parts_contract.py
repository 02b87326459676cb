"""What every registered part must satisfy; found by walking the registry, without a list of parts."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from ruamel.yaml import YAML

from ablate.models.build import build_model
from ablate.models.flops import forward_flops
from ablate.registry import CATALOGUE, Slot
from ablate.signature import Signature
from ablate.study.sections.model import ModelSection

CATALOGUE.load_builtin()
B, T, D = 3, 6, 16
SIGNATURE = Signature(seq_len=T, num_outputs=5, vocab_size=11, readout="all")


def slots_of(config: type, path: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Where each slot below `config` is first found: slot → path from the model section."""
    found: dict[str, tuple[str, ...]] = {}
    for name, field in config.model_fields.items():
        for slot in (m for m in field.metadata if isinstance(m, Slot)):
            found.setdefault(slot.slot, (*path, name))
            for part in CATALOGUE.names(slot.slot):
                below = slots_of(CATALOGUE.get(slot.slot, part).Config, (*path, name))
                found = below | found
    return found


def settings_for(config: type) -> dict[str, Any]:
    """The smallest settings that a part accepts: a value for each required field."""
    settings: dict[str, Any] = {}
    for name in (n for n, field in config.model_fields.items() if field.is_required()):
        for settings[name] in (1, 0.5, True):
            try:
                config.model_validate(settings)
                break
            except ValidationError as error:
                if all(problem["loc"][0] != name for problem in error.errors()):
                    break
    return settings


SLOTS = slots_of(ModelSection)
PARTS = [(slot, name) for slot in SLOTS for name in CATALOGUE.names(slot)]
CAUSAL = [p for p in PARTS if p[0] != "topology" or CATALOGUE.get(*p).causal]


def section_with(slot: str, name: str, **model: Any) -> ModelSection:
    settings: Any = {"name": name} | settings_for(CATALOGUE.get(slot, name).Config)
    for step in reversed(SLOTS[slot]):
        settings = {step: settings}
    return ModelSection.model_validate({"d_model": D, "num_layers": 2} | settings | model)


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(11, (B, T), generator=torch.Generator().manual_seed(0))


def test_the_walk_reaches_the_slots_of_the_model():
    assert {"topology", "mixer", "score", "value", "position", "norm", "feedforward", "activation"} <= set(
        SLOTS
    )
    assert all(CATALOGUE.names(slot) for slot in SLOTS)


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_in_a_model(slot, name, tokens):
    model = build_model(section_with(slot, name), SIGNATURE)
    logits = model(tokens)
    assert logits.shape == (B, T, 5)
    assert torch.isfinite(logits).all()
    (logits * torch.randn(logits.shape, generator=torch.Generator().manual_seed(1))).sum().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None, path
        assert torch.isfinite(parameter.grad).all(), path
        assert parameter.grad.abs().max() > 0, path
    assert sum(model.parameters_by_part().values()) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_takes_one_example_and_double_precision(slot, name, tokens):
    model = build_model(section_with(slot, name), SIGNATURE).eval()
    single = model(tokens)
    torch.testing.assert_close(model(tokens[:1]), single[:1])
    torch.testing.assert_close(model.double()(tokens), single.double(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_is_built_alike_for_one_seed_and_not_for_two(slot, name, tokens):
    one, same, other = (build_model(section_with(slot, name), SIGNATURE, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one(tokens), same(tokens))
    assert not torch.equal(one(tokens), other(tokens))


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_is_known_without_memory(slot, name):
    settings = section_with(slot, name)
    meta = build_model(settings, SIGNATURE, device="meta")
    assert {n: p.shape for n, p in meta.state_dict().items()} == {
        n: p.shape for n, p in build_model(settings, SIGNATURE).state_dict().items()
    }
    assert forward_flops(settings, SIGNATURE) > 0


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_survives_yaml(slot, name):
    settings, yaml, stream = section_with(slot, name), YAML(typ="safe", pure=True), io.StringIO()
    yaml.dump(settings.model_dump(), stream)
    assert ModelSection.model_validate(yaml.load(stream.getvalue())) == settings


@pytest.mark.parametrize(("slot", "name"), CAUSAL)
def test_part_keeps_a_decoder_causal(slot, name, tokens):
    topology = {} if slot == "topology" else {"topology": "decoder"}
    model = build_model(section_with(slot, name, **topology), SIGNATURE).eval().double()
    changed = tokens.clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % 11
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_does_not_read_what_is_masked(slot, name, tokens):
    model = build_model(section_with(slot, name), SIGNATURE).eval().double()
    real = torch.arange(T) < 4
    changed = torch.where(real, tokens, (tokens + 1) % 11)
    mask = real.expand(B, 1, 1, T)
    torch.testing.assert_close(model(tokens, mask)[:, :4], model(changed, mask)[:, :4])


@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_part_says_what_it_is(slot, name):
    part = CATALOGUE.get(slot, name)
    assert part.__doc__
    for field_name, field in part.Config.model_fields.items():
        assert field.description, f"{name}.{field_name} has no description"
