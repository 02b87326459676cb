"""What a part states in its own class, and what registration refuses."""

from typing import Annotated, ClassVar

import pytest

from ablate.base.errors import AblateError
from ablate.base.plugins import plugin_fault
from ablate.base.registry import CATALOGUE, Catalogue, PartConfig, Stated, unclear_statements
from ablate.components.activations import Activation
from ablate.components.mixer import Mixer
from ablate.components.norms import LayerNorm, Norm
from ablate.components.positions import Position
from ablate.components.scores import Gaussian, ScaledDot, Score
from ablate.components.values import Value
from ablate.components.weightings import Softmax, Weighting

CATALOGUE.load_builtin()
STATED = {
    Activation: {"neutral", "gated"},
    Mixer: {"causal", "padding", "any_length", "attends"},
    Norm: {"neutral", "reads_batch"},
    Position: {"neutral", "any_length", "inside_attention"},
    Score: {"joins_widths"},
    Value: {"reads_keys"},
    Weighting: {"fused", "reads_scores"},
}


class Base:
    turns: ClassVar[Annotated[bool, Stated("whether it turns")]]
    slides: ClassVar[Annotated[bool, Stated("whether it slides")]]
    size: ClassVar[int]


def registered(part: type) -> type:
    return Catalogue().register("wheel", "mine")(part)


def test_a_part_that_leaves_out_what_its_base_asks_for_is_refused():
    class Silent(Base):
        turns = True

    with pytest.raises(AblateError, match=r"^wheel 'mine' must state .*: `slides` \(whether it slides\);"):
        registered(Silent)


def test_what_is_inherited_from_another_part_is_not_stated():
    class Whole(Base):
        turns = slides = True

    class Derived(Whole):
        slides = False

    assert registered(Whole) is Whole
    with pytest.raises(AblateError, match=r": `turns` \(whether it turns\);"):
        registered(Derived)


@pytest.mark.parametrize("value", ["off", None, 0, property(lambda self: False), lambda self: False])
def test_a_statement_that_is_no_truth_value_is_unclear(value):
    """Python would take a text, a property and a method for True, whatever they say."""
    part = registered(type("Unclear", (Base,), {"turns": value, "slides": False, "size": 3}))
    assert unclear_statements(part) == [f"`turns` is {value!r}"]


def test_true_and_false_are_clear_statements():
    assert unclear_statements(registered(type("Clear", (Base,), {"turns": True, "slides": False}))) == []


def test_a_part_without_a_base_states_nothing():
    assert registered(type("Plain", (), {})).Config.part.name == "mine"


def test_a_config_belongs_to_one_part():
    one = registered(type("One", (), {"Config": type("Config", (PartConfig,), {})}))
    with pytest.raises(AblateError, match="Config must be a class of its own"):
        registered(type("Other", (), {"Config": one.Config}))
    assert one.Config.part is one


@pytest.mark.parametrize("base", STATED)
def test_no_base_of_a_slot_has_a_value_that_a_part_could_inherit(base):
    """`neutral` has one in `Part`, False, which is right for every part."""
    assert not (STATED[base] - {"neutral"}) & {*dir(base)}
    with pytest.raises(AblateError) as refused:
        registered(type("Silent", (base,), {}))
    assert all(f"`{name}` (whether " in str(refused.value) for name in STATED[base])


@pytest.mark.parametrize("base", [ScaledDot, Gaussian])
def test_a_score_whose_logits_the_fused_kernel_would_not_compute_is_refused(base):
    own = {"logits": lambda self, q, k: q @ k.mT}
    with pytest.raises(AblateError, match=f"inherits `inner` of {base.__name__}"):
        type("Half", (base,), own)
    type("Whole", (base,), {**own, "inner": lambda self, q, k: None})
    type("Plain", (Score,), own)


PLUGIN = """
from ablate import register
from ablate.components.{module} import {base}

@register("{slot}", "old")
class Old({base}):
    pass
"""


@pytest.mark.parametrize(
    ("slot", "base"),
    [("mixer", Mixer), ("norm", LayerNorm), ("weighting", Softmax), ("position", Position)],
)
def test_a_plugin_of_the_old_contract_is_refused_with_its_line(slot, base, tmp_path):
    file = tmp_path / "old.py"
    module = base.__module__.rpartition(".")[2]
    file.write_text(PLUGIN.format(slot=slot, base=base.__name__, module=module))
    fault = plugin_fault(file)
    assert fault is not None
    assert fault.line == 5
    assert f"AblateError: {slot} 'old' must state in its class, as True or False: `" in fault.error
    assert fault.error.endswith("see `ablate guide own-parts`"), "the message is cut"
