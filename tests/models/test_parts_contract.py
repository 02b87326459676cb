"""What every registered part must satisfy, in every topology where it can stand.

Parts are found by walking the registry. Where one may do what another may not, its class says so: a mixer by
`causal`, `padding`, `any_length`, `attends` and `reads_order`, a position by `any_length` and `reads_order`, a part
whose backward pass is not the derivative of its forward pass by `surrogate_gradient`, the name of the part of its
slot whose derivative it takes instead.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import BaseModel
from ruamel.yaml import YAML
from small import section_with, signature_for
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.components.layers import Dropout
from ablate.components.mixer import Mixer
from ablate.components.recurrent import Recurrent
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.contract import breaches
from ablate.models.flops import flops_of
from ablate.models.memory import Memory
from ablate.models.model import Model
from ablate.models.reference import places
from ablate.models.section import ModelSection
from ablate.tasks.task import Batch, Classification
from ablate.training.fingerprint import fingerprint
from ablate.training.trial import isolated

CATALOGUE.load_builtin()
B, T, S, D, V, N = 4, 6, 5, 16, 11, 5
"Examples, positions, positions of the source, d_model, input tokens, outputs."
SIGNATURE = Signature(seq_len=T, num_outputs=N, vocab_size=V, readout="all")
SOURCE = Signature(seq_len=S, num_outputs=N, vocab_size=V)
REAL_BT = torch.tensor(
    [[0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1]], dtype=torch.bool
)
"Padding on the left, on the right, in the middle, nowhere."
REAL_BS = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], dtype=torch.bool)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@dataclass(frozen=True)
class Case:
    """One part in one topology."""

    slot: str
    name: str
    topology: str

    @property
    def part(self) -> Any:
        return CATALOGUE.get(self.slot, self.name)

    def section(self, **model: Any) -> ModelSection:
        model = {"d_model": D, "num_layers": 1, "topology": {"name": self.topology}} | model
        return section_with(self.slot, self.name, **model)

    def signature(self, **changes: Any) -> Signature:
        found = signature_for(self.section(), replace(SIGNATURE, **changes))
        return found if found.source is None else replace(found, source=replace(SOURCE, **changes))

    def model(self, seed: int = 0, padded: bool = False, **model: Any) -> Model:
        return build_model(self.section(**model), self.signature(padded=padded), seed=seed)

    def scrambled(self, **options: Any) -> Model:
        """Returns the model in float64, away from initial values at which a part may do nothing yet."""
        model = self.model(**options).double()
        with torch.no_grad():
            for number, p in enumerate(model.parameters()):
                p.add_(normal(*p.shape, seed=number), alpha=0.3)
        return model

    def inputs(self) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(0)
        found = {"inputs": torch.randint(V, (B, T), generator=generator)}
        if self.signature().source is not None:
            found["source"] = torch.randint(V, (B, S), generator=generator)
        return found

    def masked_inputs(self) -> dict[str, Tensor]:
        masks = {"inputs": ("mask", REAL_BT), "source": ("source_mask", REAL_BS)}
        found = self.inputs()
        return found | {masks[key][0]: masks[key][1][:, None, None, :] for key in found}

    def __str__(self) -> str:
        return f"{self.slot}-{self.name}-{self.topology}"


def cases() -> Iterator[Case]:
    """Yields every part in the topologies that it can tell apart and that take it; the first is its home."""
    for slot, place in places().items():
        found = [
            "encoder",
            "decoder",
            *(["encoder_decoder"] if slot in ("mixer", "position", "norm") else []),
        ]
        if place.path[0] == "topology" and len(place.path) > 1:
            found = ["encoder_decoder"]
        for name in CATALOGUE.names(slot):
            for topology in [name] if slot == "topology" else found:
                case = Case(slot, name, topology)
                if case.section().mixer.part.causal or not CATALOGUE.get("topology", topology).causal:
                    yield case


CASES = list(cases())
HOMES = list({(case.slot, case.name): case for case in reversed(CASES)}.values())[::-1]
CAUSAL = [case for case in CASES if CATALOGUE.get("topology", case.topology).causal]
PADDED = [case for case in CASES if case.section().mixer.part.padding]
WIDE = [*HOMES, *(case for case in CAUSAL if case.slot == "mixer")]
ATTENDS = [case for case in HOMES if case.section().mixer.part.attends]


def each(found: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", found, ids=str)


def other_tokens(tokens: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, (tokens + 1 + torch.arange(tokens.shape[1])) % V, tokens)


def surrogates(section: BaseModel) -> list[str]:
    """Returns the parts of a model whose gradient is not the derivative."""
    found = [section.name] if getattr(getattr(section, "part", None), "surrogate_gradient", None) else []
    values = (getattr(section, name) for name in type(section).model_fields)
    return found + [name for value in values if isinstance(value, BaseModel) for name in surrogates(value)]


def test_the_walk_reaches_every_slot_of_the_model():
    others = {"task", "workload", "optimizer", "schedule", "sampler", "pruner", "design"}
    assert set(places()) == set(CATALOGUE.slots()) - others
    assert {(slot, name) for slot in places() for name in CATALOGUE.names(slot)} == {
        (case.slot, case.name) for case in CASES
    }


def test_the_tests_of_formulas_name_every_part():
    tests = Path(__file__).parents[1]
    files = [*tests.glob("components/*.py"), *tests.glob("models/*.py"), tests / "score_formulas.py"]
    text = "".join(path.read_text() for path in files)
    parts = {(slot, name) for slot in places() for name in CATALOGUE.names(slot)}
    parts.remove(("value", "full"))  # The default of attention, which is in each of its tests.
    classes = {(slot, name): CATALOGUE.get(slot, name).__name__ for slot, name in parts}
    unnamed = [part for part in parts if not re.search(rf'\b{classes[part]}\b|"{part[1]}"', text)]
    assert unnamed == [], "lack a test of their formula in tests/components or tests/models"


@pytest.mark.fast_cases(16)
@each(CASES)
def test_it_does_what_users_parts_have_to_do(case):
    with isolated("cpu", 0):
        found = breaches(case.section(), case.signature(padded=case in PADDED), [case.part])
    assert {rule: text for rule, text in found.items() if text} == {}
    asked = {"states", "shape", "finite", "repeat", "gradient", "batch"}
    asked |= {"causal"} if case in CAUSAL else set()
    assert found.keys() == asked | ({"padding"} if case in PADDED else set())


@pytest.mark.fast_cases(8)
@each([case for case in HOMES if not surrogates(case.section())])
def test_gradients_are_those_of_the_function(case):
    """In training mode, with and without padding, against differences along a random direction of each parameter."""
    check_gradients(case.scrambled(), case.inputs(), slice(None))
    if case in PADDED:
        check_gradients(case.scrambled(padded=True), case.masked_inputs(), REAL_BT)


def check_gradients(model: Model, inputs: dict[str, Tensor], kept: Any) -> None:
    names = [path for path, _ in model.named_parameters()]

    def function(*values: Tensor) -> Tensor:
        buffers = {path: buffer.clone() for path, buffer in model.named_buffers()}
        logits: Tensor = functional_call(model, (dict(zip(names, values, strict=True)), buffers), (), inputs)
        return logits[kept]

    parameters = tuple(parameter for _, parameter in model.named_parameters())
    options = {"fast_mode": True, "check_undefined_grad": False}
    # So small a step that a kink is hardly ever inside.
    assert torch.autograd.gradcheck(function, parameters, eps=1e-7, **options)


@pytest.mark.parametrize(
    ("slot", "name"), [(c.slot, c.name) for c in HOMES if getattr(c.part, "surrogate_gradient", None)]
)
def test_a_surrogate_gradient_is_that_of_the_part_it_names(slot, name):
    """For parts that map one tensor to one of its shape."""
    part: Any = CATALOGUE.get(slot, name)
    other: Any = CATALOGUE.get(slot, part.surrogate_gradient)
    sizes = Sizes(d_model=D, max_len=T, num_heads=2, d_q=4, d_k=4, d_v=4)
    x = normal(2, 2, 3, 5)
    x[..., 0, 1] = -torch.inf
    x.requires_grad_()
    outputs = [each.Config(name=each.name).build(sizes)(x) for each in (part, other)]
    found, expected = (torch.autograd.grad(y, x, normal(*x.shape, seed=1)) for y in outputs)
    torch.testing.assert_close(found, expected)


@pytest.mark.fast_cases(30)
@each([case for case in PADDED if case.section().mixer.part.any_length])
def test_a_padded_sequence_is_the_shorter_one(case):
    model, inputs = case.scrambled(padded=True), case.inputs()
    short = {key: tokens[:, :4] for key, tokens in inputs.items()}
    masks = {"mask": (torch.arange(T) < 4).expand(B, 1, 1, T)}
    if "source" in inputs:
        masks["source_mask"] = (torch.arange(S) < 4).expand(B, 1, 1, S)
    for training in (False, True):
        model.train(training)
        torch.testing.assert_close(model(**inputs, **masks)[:, :4], model(**short))


@pytest.mark.fast_cases(8)
@each(CAUSAL)
def test_step_by_step_is_all_at_once(case):
    """Also beyond the longest length in training, where all parts allow it."""
    model, inputs = case.scrambled().eval(), case.inputs()
    memory = model.encode(inputs["source"]) if model.source_embedding is not None else None
    mixers = [module for module in model.modules() if isinstance(module, Mixer)]
    if model.position.any_length and all(mixer.any_length for mixer in mixers):
        inputs["inputs"] = inputs["inputs"].repeat(1, 2)
        if list(model.position.buffers()):
            # Tables were rounded to float32; what lies beyond them is computed in float64.
            model.position.initialise(lambda name: torch.Generator())
    state, logits = None, []
    for start in range(inputs["inputs"].shape[1]):
        out, state = model.step(inputs["inputs"][:, start : start + 1], start, state, memory)
        logits.append(out)
    torch.testing.assert_close(torch.stack(logits, 1), model(**inputs))


@pytest.mark.fast_cases(12)
@each(ATTENDS)
def test_a_query_does_not_read_what_is_masked_for_it(case):
    """With a mask for each query, in one of which all is masked."""
    model, inputs = case.scrambled(padded=True).eval(), case.inputs()
    mask = torch.rand((B, 1, T, T), generator=torch.Generator().manual_seed(2)) < 0.6
    mask |= torch.eye(T, dtype=torch.bool)
    mask[:, :, 1] = False
    for key in (0, 2, 5):
        moved = (torch.arange(T) == key).expand(B, T)
        changed = inputs | {"inputs": other_tokens(inputs["inputs"], moved)}
        blind = ~mask[:, 0, :, key] & ~moved
        torch.testing.assert_close(model(**changed, mask=mask)[blind], model(**inputs, mask=mask)[blind])


@pytest.mark.fast_cases(12)
@each(ATTENDS)
def test_a_query_that_sees_nothing_gets_zeros(case):
    model = case.scrambled(padded=True)
    x_btd = normal(B, T, D).requires_grad_()
    stack: Any = model.stack if hasattr(model.stack, "blocks") else model.stack.decoder
    mask = torch.ones((B, 1, T, T), dtype=torch.bool)
    mask[0], mask[1, :, 2] = False, False
    mixed = stack.blocks[0].mixer(x_btd, model.position, mask)
    assert mixed[0].eq(0).all()
    assert mixed[1, 2].eq(0).all()
    assert mixed[2:].ne(0).any(-1).all()
    assert torch.autograd.grad(mixed.square().sum(), x_btd)[0].isfinite().all()
    if hasattr(stack.blocks[0], "cross"):
        read = stack.blocks[0].cross(x_btd, Memory(x_btd, torch.zeros((B, T), dtype=torch.bool)))
        assert read.eq(0).all()
        assert torch.autograd.grad(read.square().sum(), x_btd)[0].isfinite().all()


@pytest.mark.fast_cases(12)
@each([case for case in CASES if not CATALOGUE.get("topology", case.topology).reads_source])
def test_only_what_reads_order_knows_it(case):
    """Positions permuted, the others' outputs permute alike: where nothing says which stands where."""
    section = case.section(position="none")
    model, inputs = case.scrambled(position="none").eval(), case.inputs()["inputs"]
    order = torch.tensor([2, 0, 5, 1, 4, 3])
    reads = (section.topology.part.causal, section.mixer.part.reads_order, section.position.part.reads_order)
    there, here = model(inputs[:, order]), model(inputs)[:, order]
    assert torch.allclose(there, here, rtol=1e-3, atol=1e-3) == (not any(reads))


@pytest.mark.fast_cases(8)
@each(WIDE)
def test_dropout_acts_at_each_of_its_placements_and_in_training_only(case):
    bare, inputs = case.model().eval(), case.inputs()
    evaluated, trained = bare(**inputs), case.model()(**inputs)
    assert torch.equal(bare(**inputs), evaluated)
    placements = sorted({site.placement for site in bare.modules() if isinstance(site, Dropout)})
    model = case.model(dropout=dict.fromkeys(placements, 0.5))
    assert torch.equal(model.eval()(**inputs), evaluated)
    for placement in placements:
        for site in (module for module in model.modules() if isinstance(module, Dropout)):
            site.rate = 0.5 if site.placement == placement else 0.0
        model.start_step(1)
        assert not torch.allclose(model.train()(**inputs), trained), placement


@pytest.mark.fast_cases(8)
@each(HOMES)
def test_built_alike_for_one_seed_in_any_precision_and_not_for_two_and_known_without_memory(case):
    model, same, other = (case.model(seed=seed).eval() for seed in (0, 0, 1))
    inputs = case.inputs()
    logits = model(**inputs)
    assert torch.equal(same(**inputs), logits)
    assert not torch.equal(other(**inputs), logits)
    meta = build_model(case.section(), case.signature(), device="meta")
    assert sum(meta.parameters_by_part().values()) == sum(p.numel() for p in meta.parameters())
    shapes = {name: tensor.shape for name, tensor in meta.state_dict().items()}
    assert shapes == {name: tensor.shape for name, tensor in model.state_dict().items()}
    counted = flops_of(case.model(), case.signature())
    assert counted.forward > 0
    assert counted == flops_of(meta, case.signature())
    torch.testing.assert_close(model.double()(**inputs), logits.double(), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@each(HOMES)
def test_survives_yaml(case):
    settings, yaml, stream = case.section(), YAML(typ="safe", pure=True), io.StringIO()
    yaml.dump(settings.model_dump(), stream)
    assert ModelSection.model_validate(yaml.load(stream.getvalue())) == settings


UNREPEATABLE = {
    *("cumsum", "histc", "bincount", "median", "kthvalue", "put", "put_", "ctc_loss", "nll_loss2d_forward"),
    *("reflection_pad1d_backward", "upsample_linear1d_backward", "grid_sampler_2d_backward"),
    *("_adaptive_avg_pool2d_backward", "max_unpool2d", "embedding_bag"),
}
"""Operations without a repeatable kernel on CUDA, as torch.use_deterministic_algorithms documents."""


class Recorded(TorchDispatchMode):
    """Torch dispatch mode that keeps the names of all operations, of the backward pass too."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


@pytest.mark.fast_cases(8)
@each(WIDE)
def test_cuda_can_repeat_every_operation(case):
    """Trials on CUDA allow repeatable kernels alone."""
    model = build_model(case.section(), case.signature(), device="meta")
    inputs = {key: tokens.to("meta") for key, tokens in case.inputs().items()}
    with Recorded() as recorded:
        model(**inputs).sum().backward()
    assert "embedding" in recorded.names
    assert not recorded.names & UNREPEATABLE


@pytest.mark.fast_cases(8)
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@each([case for case in WIDE if not issubclass(case.section().mixer.part, Recurrent)])
def test_models_of_several_seeds_run_as_one(case):
    """`torch.func.vmap` over stacked parameters and buffers: logits, gradients and new buffers in training mode.

    Torch's recurrent kernels cannot.
    """
    masked = case in PADDED
    models = [case.model(seed, padded=masked).double() for seed in range(2)]
    inputs = case.masked_inputs() if masked else case.inputs()
    parameters, buffers = stack_module_state(models)
    kept = REAL_BT if masked else torch.ones_like(REAL_BT)

    def loss(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> tuple[Tensor, Any]:
        new = {name: buffer.clone() for name, buffer in buffers.items()}
        logits = functional_call(models[0], (parameters, new), (), inputs)
        logits = torch.where(kept.unsqueeze(-1), logits, 0)
        return logits.square().sum(), (logits, new)

    gradients, (logits, new) = vmap(grad(loss, has_aux=True))(parameters, buffers)
    for i, model in enumerate(models):
        one = {name: parameter.detach() for name, parameter in model.named_parameters()}
        expected, (logits_one, new_one) = grad(loss, has_aux=True)(one, dict(model.named_buffers()))
        torch.testing.assert_close(logits[i], logits_one)
        torch.testing.assert_close({name: g[i] for name, g in gradients.items()}, expected)
        torch.testing.assert_close({name: b[i] for name, b in new.items()}, new_one)


@each([case for case in HOMES if hasattr(case.part, "any_length")])
def test_lengths_beyond_the_longest(case):
    plain = {} if case.slot == "position" else {"position": "none"}
    model = case.model(**plain).eval()
    inputs = {key: tokens.repeat(1, 3) for key, tokens in case.inputs().items()}
    if case.part.any_length:
        assert model(**inputs).isfinite().all()
    else:
        with pytest.raises(ValueError, match=f"max_len = {T}"):
            model(**inputs)


@each([case for case in HOMES if case.slot == "mixer"])
def test_a_mixer_refuses_what_it_cannot_do(case):
    for able, section, signature in (
        (case.part.causal, case.section(topology="decoder"), SIGNATURE),
        (case.part.padding, case.section(), replace(SIGNATURE, padded=True)),
    ):
        if able:
            build_model(section, signature, device="meta")
        else:
            with pytest.raises(Invalid) as caught:
                build_model(section, signature, device="meta")
            (problem,) = caught.value.problems
            assert (problem.path, problem.given) == (("mixer",), case.name)
            assert {"attention"} <= set(problem.allowed.split(", ")) - {case.name}


class Both(Classification):
    """Random tokens with a source: a task that every topology can take."""

    def __init__(self) -> None:
        self.signature = replace(SIGNATURE, readout="mean", source=SOURCE)
        self.topologies = ("encoder", "decoder", "encoder_decoder")
        self.set_metrics(num_classes=N, num_test=B, solved=0.9)

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(seed)
        while True:
            inputs, source = (torch.randint(V, (batch_size, n), generator=generator) for n in (T, S))
            yield Batch(inputs, torch.randint(N, (batch_size,), generator=generator), source=source)

    def split(self, seed: int, name: str, device: str) -> Batch:
        return next(self.train_batches(seed, B, device))

    def digests(self, seed: int) -> dict[str, str]:
        return {}


@pytest.mark.parametrize("slot", places())
def test_no_two_parts_of_a_slot_are_alike(slot):
    prints = {case.name: fingerprint(case.section(), Both()) for case in HOMES if case.slot == slot}
    alike = [pair for pair in combinations(prints, 2) if prints[pair[0]] == prints[pair[1]]]
    assert not alike
