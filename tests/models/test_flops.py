"""FLOPs of the products of a model, forward and backward, against closed forms.

A product of two factors costs as much forwards as the gradient of each. T positions, S of a source, D = d_model,
H heads.
"""

from functools import partial

import pytest
from small import section_with
from torch.utils._python_dispatch import TorchDispatchMode

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.flops import flops_of, skeleton
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()

T, S, D, H, V, LAYERS = 9, 7, 32, 4, 16, 1
D_K = D // H
Cost = tuple[int, int]
"FLOPs forward, and forward and backward."


def product(*sizes: int, gradients: int = 2) -> Cost:
    """Returns 2 · the product of `sizes`, and that with the gradients of so many of its two factors."""
    flops = 2
    for size in sizes:
        flops *= size
    return flops, flops * (1 + gradients)


def total(*costs: Cost) -> Cost:
    return sum(cost[0] for cost in costs), sum(cost[1] for cost in costs)


def times(number: int, cost: Cost) -> Cost:
    return number * cost[0], number * cost[1]


def flops(readout="last", seq_len=T, signature=None, **settings) -> Cost:
    section = ModelSection.model_validate({"d_model": D, "num_layers": LAYERS, **settings})
    signature = signature or Signature(seq_len, V, vocab_size=24, readout=readout)
    found = flops_of(build_model(section, signature, device="meta"), signature)
    assert flops_of(build_model(section, signature), signature) == found
    return found.forward, found.training


def model(*mixer: Cost, t=T, feedforward=None, readouts=1) -> Cost:
    """Returns the cost of a stack of `LAYERS` with this mixer, and of the output layer."""
    feedforward = times(2, product(t, D, 4 * D)) if feedforward is None else feedforward
    return total(times(LAYERS, total(*mixer, feedforward)), product(readouts, D, V))


PROJECTION = product(T, D, D)
PAIRS = product(T, T, D)
ATTENTION = times(4, PROJECTION), times(2, PAIRS)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("topology", ["encoder", "decoder"])
@pytest.mark.parametrize(
    "mixer", [*({"score": s} for s in ("dot", "scaled_dot", "cosine")), {"num_heads": 8}]
)
def test_attention_and_feedforward(mixer, topology):
    """Masked products count, and a fused kernel as its two products; the number of heads does not."""
    assert flops(topology=topology, mixer=mixer) == model(*ATTENTION)
    dropout = {"attention_weights": 0.5, "residual": 0.5}
    assert flops(topology=topology, mixer=mixer, dropout=dropout) == model(*ATTENTION)
    assert flops(topology=topology, mixer=mixer, feedforward="none") == model(*ATTENTION, feedforward=(0, 0))


ADDITIVE = times(2, product(T, H, D_K, 5)), product(H, T, T, 5, gradients=1)
"The gradient of tanh(W_q q + W_k k) is an outer product, number by number: only that of w_v is a matrix product."
MIXERS = {
    "bilinear": ({"score": "bilinear"}, [*ATTENTION, product(H, T, D_K, D_K)]),
    "bilinear, joined widths": (
        {"d_q": 6, "score": "bilinear"},
        [product(T, D, H * 6), *(PROJECTION,) * 3, product(H, T, 6, D_K), times(2, PAIRS)],
    ),
    # The kernel takes q, k and v of one width, here that of keys with their square beside them.
    "gaussian": ({"score": "gaussian"}, [times(4, PROJECTION), times(2, product(H, T, T, D_K + 1))]),
    "additive": ({"score": {"name": "additive", "hidden": 5}}, [times(4, PROJECTION), *ADDITIVE, PAIRS]),
    "hard": ({"weighting": "hard"}, ATTENTION),
    # No queries and no keys; uniform weights have no gradient.
    "uniform": ({"weighting": "uniform"}, [times(2, PROJECTION), product(T, T, D, gradients=1)]),
    "low_rank": (
        {"value": {"name": "low_rank", "rank": 3}},
        [times(3, PROJECTION), times(2, product(T, D, 3)), times(2, PAIRS)],
    ),
    "shared_kv": ({"value": "shared_kv"}, [times(3, PROJECTION), times(2, PAIRS)]),
    "narrow keys": ({"d_k": 3}, [times(2, product(T, D, H * 3)), times(2, PROJECTION), times(2, PAIRS)]),
    "one head of keys": (
        {"num_kv_heads": 1},
        [times(2, PROJECTION), times(2, product(T, D, D_K)), times(2, PAIRS)],
    ),
    "split before": ({"split": "before"}, [times(3, product(T, D, D_K)), PROJECTION, times(2, PAIRS)]),
    "qk_norm": ({"qk_norm": True}, ATTENTION),
    "tied": ({"tied": True}, ATTENTION),
}


@pytest.mark.parametrize("name", MIXERS)
def test_scores_weightings_and_values(name):
    mixer, products = MIXERS[name]
    assert flops(mixer=mixer) == model(*products)


def recurrent(gates: int, directions: int) -> list[Cost]:
    """Returns the cost of a recurrent mixer; its first state is given and has no gradient."""
    h = D // directions
    steps = product(T, gates * h, D), product(T - 1, gates * h, h), product(gates * h, h, gradients=1)
    return [times(directions, total(*steps))]


def linear_attention(t: int, chunk: int) -> list[Cost]:
    """Returns the cost of linear attention: values with a column of ones, and the sums before each chunk.

    Those before the first chunk are zero, without gradient.
    """
    chunks = -(-t // chunk)
    padded, sums = chunks * chunk, 2 if chunks > 1 else 0
    between = product(H, padded, D_K, D_K + 1, gradients=sums)
    read = product(H, padded, D_K, D_K + 1, gradients=2 if chunks > 1 else 1)
    within = product(H, padded, chunk, D_K), product(H, padded, chunk, D_K + 1)
    return [times(4, product(t, D, D)), between, read, *within]


OTHERS = {
    **{("rnn", topology): recurrent(1, n) for topology, n in (("encoder", 2), ("decoder", 1))},
    **{("lstm", topology): recurrent(4, n) for topology, n in (("encoder", 2), ("decoder", 1))},
    **{("gru", topology): recurrent(3, n) for topology, n in (("encoder", 2), ("decoder", 1))},
    ("linear_attention", "encoder"): [times(4, PROJECTION), times(2, product(H, T, D_K, D_K + 1))],
    ("linear_attention", "decoder"): linear_attention(T, T),
    ("fourier", "encoder"): [],
    ("mlp", "encoder"): [times(2, product(T * D, D))],
    ("mlp_mixer", "encoder"): [times(2, product(D, T, D // 2))],
}
GATED = [product(T, D, 4 * D), product(T, T, 2 * D), product(T, 2 * D, D)]
EITHER_WAY = {
    "conv": [product(T, D, D, 3)],
    "resmlp": [product(T, T, D)],
    "gmlp": GATED,
    "attention": ATTENTION,
}
OTHERS |= {(name, way): costs for name, costs in EITHER_WAY.items() for way in ("encoder", "decoder")}


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize(("mixer", "topology"), OTHERS)
def test_mixers(mixer, topology):
    assert flops(mixer=mixer, topology=topology) == model(*OTHERS[mixer, topology])


@pytest.mark.parametrize("mixer", ["rnn", "lstm", "gru"])
def test_recurrent_mixers_are_counted_without_stepping_through_positions(mixer):
    section = ModelSection.model_validate({"d_model": D, "num_layers": LAYERS, "mixer": mixer})
    counts = []
    for length in (3, 300):
        signature = Signature(length, V, vocab_size=24)
        counts.append(operations(partial(flops_of, build_model(section, signature), signature)))
    assert counts[0] == counts[1]


def operations(call):
    """Counts torch's operations that a call makes."""

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    with Counting() as counting:
        call()
    return counting.count


def test_every_mixer_has_a_closed_form():
    able = {(name, "decoder") for name in CATALOGUE.able("mixer", "causal")}
    assert set(OTHERS) == able | {(name, "encoder") for name in CATALOGUE.names("mixer")}


def test_linear_attention_is_linear_beyond_one_chunk():
    found = flops(mixer="linear_attention", topology="decoder", seq_len=100)
    assert found == model(*linear_attention(100, 64), t=100)


FREE = [(slot, name) for slot in ("norm", "position", "activation") for name in CATALOGUE.names(slot)]


@pytest.mark.parametrize(("slot", "name"), FREE)
def test_norms_positions_and_activations_are_no_products(slot, name):
    section = section_with(slot, name, d_model=D, num_layers=LAYERS)
    signature = Signature(T, V, vocab_size=24)
    found = flops_of(build_model(section, signature, device="meta"), signature)
    assert flops_of(build_model(section, signature), signature) == found
    hidden = 85 if getattr(CATALOGUE.get(slot, name), "gated", False) else None
    gated = times(3, product(T, D, hidden)) if hidden else None
    assert (found.forward, found.training) == model(*ATTENTION, feedforward=gated)


@pytest.mark.slow
def test_models_of_one_skeleton_cost_the_same_and_a_plugins_part_is_not_taken_at_its_word(monkeypatch):
    signature, known = Signature(T, V, vocab_size=24), {}

    def kind(slot, name):
        section = section_with(
            slot, name, d_model=D, num_layers=LAYERS, dropout={"residual": len(known) / 10}
        )
        model = build_model(section, signature, device="meta")
        found = flops_of(model, signature)
        first = known.setdefault(skeleton(section, model), found)
        assert (first, first.beside(model)) == (found, found.beside(model))

    for slot, name in FREE:
        kind(slot, name)
    assert len(known) == 2, "gated activations have a narrower layer"
    monkeypatch.setattr(CATALOGUE.get("activation", "gelu"), "__module__", "plugin")
    kind("activation", "gelu")
    assert len(known) == 3


@pytest.mark.parametrize(("readout", "readouts"), [("last", 1), ("mean", 1), ("all", T)])
def test_readout(readout, readouts):
    assert flops(readout=readout) == model(*ATTENTION, readouts=readouts)


def test_vectors_are_embedded_by_a_product():
    """Vectors that are embedded have no gradient."""
    found = flops(signature=Signature(T, V, num_features=7))
    assert found == total(model(*ATTENTION), product(T, 7, D, gradients=1))


def self_attention(length: int) -> Cost:
    return total(times(4, product(length, D, D)), times(2, product(length, length, D)))


CROSS = {
    "attention": total(times(2, PROJECTION), times(2, product(S, D, D)), times(2, product(T, S, D))),
    "mean": product(D, D),
    "none": (0, 0),
}


@pytest.mark.parametrize("cross", CROSS)
@pytest.mark.parametrize("encoder_layers", [None, 3])
def test_the_source_counts_too(cross, encoder_layers):
    """The encoder over S positions, the decoder over T; without a reader there is no encoder."""
    topology = {"name": "encoder_decoder", "cross": cross, "num_encoder_layers": encoder_layers}
    source = Signature(S, 0, vocab_size=24, padded=True)
    signature = Signature(T, V, vocab_size=24, readout="all", source=source, padded=True)
    found = flops(topology=topology, signature=signature)
    layer = total(self_attention(S), times(2, product(S, D, 4 * D)))
    encoder = times((encoder_layers or LAYERS) if cross != "none" else 0, layer)
    assert found == total(model(self_attention(T), CROSS[cross], readouts=T), encoder)
