"""What parts declare beside their matrix products, against what a forward pass on CPU computes."""

import math
from collections import Counter

import pytest
import torch
from small import section_with, signature_for
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.activations import Tanh
from ablate.components.sizes import Part, Sizes
from ablate.components.weightings import Weighting
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.flops import Flops, flops_of, recorded_calls
from ablate.models.reference import places
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()

T, S, D = 6, 5, 16
SIGNATURE = Signature(T, 3, vocab_size=7)
SAME = [
    *("exp", "tanh", "sigmoid", "relu", "gelu", "silu", "elu", "leaky_relu", "softplus", "hardtanh"),
    *("mish", "erf", "sin", "cos", "log", "sqrt"),
]
ELEMENTWISE = {"softmax": "exp", "linalg_vector_norm": "norm"} | {name: name for name in SAME}
"Operation of torch → the function whose numbers it computes, or for a norm reads."
NORMS = ("native_layer_norm", "native_batch_norm")


class Counting(TorchDispatchMode):
    """Torch dispatch mode that counts the numbers that go through functions.

    A power is a square of the score, or an RMS norm.
    """

    def __init__(self, power: str) -> None:
        super().__init__()
        self.power, self.found = power, Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__.strip("_")
        if name in ELEMENTWISE or name == "pow":
            self.found[ELEMENTWISE.get(name, self.power)] += args[0].numel()
        elif name in NORMS:
            self.found["norm"] += result[0].numel()
        elif name == "fft_c2c":
            self.found["fft_flops"] += round(5 * result.numel() * math.log2(result.numel()))
        return result


def compare(section: ModelSection, signature: Signature) -> dict[str, int]:
    """Checks that parts declare what a pass without fused kernels computes on one example; returns it."""
    model = build_model(section, signature).double().eval()
    for module in model.modules():
        if isinstance(module, Weighting):
            module.fused = False
    found: Counter[str] = Counter()
    for position in filter(None, (model.position, model.source_position)):
        count_inside_attention(position, found)
    score = getattr(getattr(section.mixer, "score", None), "name", "")
    inputs = {"inputs": torch.zeros(1, signature.seq_len, dtype=torch.long)}
    if signature.source is not None:
        inputs["source"] = torch.zeros(1, signature.source.seq_len, dtype=torch.long)
    with recorded_calls(model) as calls, Counting("square" if score == "gaussian" else "norm") as counting:
        model(**inputs)
    beside = Flops(0, 0, calls).beside(model)
    assert beside == dict(found + counting.found)
    return beside


def count_inside_attention(position, found) -> None:
    rotate, bias = position.rotate, position.bias

    def counting_rotate(*given):
        turned = rotate(*given)
        # A position that turns nothing returns what it was given.
        found["rotation"] += sum(y.numel() for y, x in zip(turned, given, strict=True) if y is not x)
        return turned

    def counting_bias(*args):
        added = bias(*args)
        found["bias"] += 0 if added is None else added.numel()
        return added

    position.rotate, position.bias = counting_rotate, counting_bias


PARTS = [(slot, name, {}) for slot in sorted(places()) for name in CATALOGUE.names(slot)]
CAUSAL = {"num_layers": 1, "topology": "decoder", "norm": "rms"}
PARTS += [("mixer", name, CAUSAL) for name in CATALOGUE.able("mixer", "causal")]


@pytest.mark.parametrize(("slot", "name", "settings"), PARTS)
def test_every_part_declares_what_it_computes(slot, name, settings):
    section = section_with(slot, name, d_model=D, **settings)
    compare(section, signature_for(section, SIGNATURE))


WIDE = {"num_heads": 4, "d_k": 6, "d_v": 3}


@pytest.mark.parametrize(
    "settings",
    [
        {"mixer": WIDE | {"num_kv_heads": 2, "qk_norm": True}, "position": "rope"},
        {"mixer": WIDE | {"num_kv_heads": 1, "score": "cosine"}, "position": "alibi"},
        {"mixer": WIDE | {"d_q": 4, "score": {"name": "additive", "hidden": 5}}, "position": "relative"},
        {"mixer": {"score": {"name": "gaussian", "learned": True}}, "norm_placement": "sandwich"},
        {"mixer": {"name": "lstm", "hidden": 10}, "feedforward": {"activation": "swiglu", "bias": False}},
        {"mixer": {"name": "linear_attention", "d_k": 3, "num_heads": 2}, "norm_placement": "post"},
        {"mixer": {"name": "gmlp", "hidden": 10}, "norm": "none", "feedforward": "none"},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_declared_with_other_widths(settings):
    section = ModelSection.model_validate({"d_model": D, "num_layers": 1, **settings})
    compare(section, SIGNATURE)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("position", ["rope", "alibi"])
@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
def test_cross_attention_asks_and_reads_sequences_of_two_lengths(position, score):
    cross = {"name": "attention", "num_heads": 2, "score": score}
    topology = {"name": "encoder_decoder", "num_encoder_layers": 3, "cross": cross}
    model = {"d_model": D, "num_layers": 2, "position": position, "topology": topology}
    section = ModelSection.model_validate(model)
    signature = Signature(T, 3, vocab_size=7, readout="all", source=Signature(S, 0, vocab_size=7))
    found = compare(section, signature)
    counted = flops_of(model := build_model(section, signature, device="meta"), signature)
    assert counted.beside(model) == found
    assert counted == flops_of(build_model(section, signature), signature)
    assert found["exp"] == 3 * 4 * S * S + 2 * 4 * T * T + 2 * 2 * T * S
    assert found.get("tanh", 0) == (2 * 2 * T * S * 8 if score == "additive" else 0)


def test_a_block_that_is_called_twice_counts_twice():
    """As that of a plugin's topology may be."""
    model = build_model(section_with("feedforward", "mlp", d_model=D), SIGNATURE, device="meta")
    once = flops_of(model, SIGNATURE).beside(model)
    model.stack.blocks.append(model.stack.blocks[0])
    twice = flops_of(model, SIGNATURE).beside(model)
    assert twice["relu"] == 2 * once["relu"] == 2 * 4 * D * T
    assert twice["norm"] == 2 * once["norm"] - D * T


class TwoSteps(Part):
    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.steps = nn.ModuleList([Tanh(config, sizes), Tanh(config, sizes)])


def test_a_part_declares_what_the_parts_inside_it_do():
    part = TwoSteps(PartConfig(), Sizes(d_model=D, max_len=T))
    assert part.beside(5, 7) == {"tanh": 10}
    assert Tanh(PartConfig(), part.sizes).beside(5, 7) == {"tanh": 5}
    assert Part.beside(Tanh(PartConfig(), part.sizes), 5, 7) == {}
