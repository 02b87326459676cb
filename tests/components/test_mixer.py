from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mixer_checks import MASK, NO_POSITION, B, D, T, built, random

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.mixer import Mixer
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
MIXERS = {name: CATALOGUE.get("mixer", name) for name in CATALOGUE.names("mixer")}
WITHOUT_QUERIES = [name for name, mixer in MIXERS.items() if mixer.padding and not mixer.attends]


def able(ability):
    return ", ".join(name for name, mixer in MIXERS.items() if getattr(mixer, ability))


def problems_of(padded=False, **model):
    section = ModelSection.model_validate({"d_model": 8, "position": "none", **model})
    with pytest.raises(Invalid) as error:
        build_model(section, Signature(seq_len=T, num_outputs=5, vocab_size=11, padded=padded))
    return [str(problem) for problem in error.value.problems]


class Mean(Mixer):
    """The mean over all positions."""

    causal = padding = False

    def forward(self, x_btd, position, mask=None):
        self.real_positions(x_btd, mask)
        return x_btd.mean(1, keepdim=True).expand_as(x_btd)


class Sum(Mixer):
    """The sum over all positions up to each."""

    def forward(self, x_btd, position, mask=None):
        real = self.real_positions(x_btd, mask)
        return (x_btd if real is None else x_btd * real[..., None]).cumsum(1)


@pytest.mark.parametrize("name", [n for n, mixer in MIXERS.items() if not mixer.causal])
def test_a_mixer_that_sees_the_future_is_refused_in_a_decoder(name):
    (problem,) = problems_of(mixer=name, topology="decoder")
    start = "mixer: cannot hide later positions, as a causal topology needs: each "
    assert problem.startswith(start)
    assert problem.endswith(f"; given {name!r}; allowed: {able('causal')}")
    assert name not in able("causal").split(", ")


@pytest.mark.parametrize("name", [n for n, mixer in MIXERS.items() if not mixer.padding])
def test_a_mixer_that_reads_padding_is_refused_where_the_task_pads(name):
    (problem,) = problems_of(mixer=name, padded=True)
    assert problem.startswith("mixer: cannot leave out padding, which the task has: ")
    assert problem.endswith(f"; given {name!r}; allowed: {able('padding')}")


def test_the_parameters_of_a_mixer_are_checked_under_its_path():
    assert problems_of(mixer={"name": "gmlp", "hidden": 7}) == [
        "mixer.hidden: must be even, half for the gate; given 7; allowed: 6, 8"
    ]
    assert problems_of(mixer={"name": "linear_attention", "num_heads": 3}) == [
        "mixer.num_heads: must divide d_model = 8 unless d_k and d_v are both given; given 3; allowed: 1, 2, 4, 8"
    ]


def test_a_mixer_of_ones_own_is_refused_like_any_other():
    with pytest.raises(
        Invalid, match=r"^cannot hide later positions, as a causal topology needs; given 'Mean'"
    ):
        Mean(PartConfig(), Sizes(D, T, causal=True))
    with pytest.raises(Invalid, match=r"^cannot leave out padding, which the task has; given 'Mean'"):
        Mean(PartConfig(), Sizes(D, T, padded=True))
    with pytest.raises(
        ValueError, match=r"^mixer Mean cannot leave out padding; given a mask; allowed: attention"
    ):
        Mean(PartConfig(), Sizes(D, T))(random(B, T, D), NO_POSITION, MASK)


@pytest.mark.parametrize("name", WITHOUT_QUERIES)
def test_a_mask_for_each_query_needs_queries(name):
    mask = torch.ones(B, 1, T, T, dtype=torch.bool)
    mixer = built(name, **({"num_heads": 2} if name == "linear_attention" else {}))
    rule = f"mixer {name} has no queries, each of which could have a mask of its own; given a mask (4, 1, 7, 7); "
    next_step = "give (B, 1, 1, T), or use a mixer that attends: attention"
    with pytest.raises(ValueError, match=f"^{re.escape(rule + next_step)}$"):
        mixer(random(B, T, D), NO_POSITION, mask)


@pytest.mark.parametrize("name", WITHOUT_QUERIES)
def test_a_mask_may_leave_out_its_leading_dimensions(name):
    mixer, x = built(name, **({"num_heads": 2} if name == "linear_attention" else {})), random(B, T, D)
    real_t = torch.arange(T) < T - 2
    torch.testing.assert_close(
        mixer(x, NO_POSITION, real_t), mixer(x, NO_POSITION, real_t.expand(B, 1, 1, T))
    )


@pytest.mark.parametrize("name", WITHOUT_QUERIES)
@settings(max_examples=25)
@given(real=st.lists(st.lists(st.booleans(), min_size=T, max_size=T), min_size=B, max_size=B))
def test_what_stands_at_padding_never_matters_wherever_it_is(name, real):
    mixer = built(name, **({"num_heads": 2} if name == "linear_attention" else {}))
    real_bt, x = torch.tensor(real), random(B, T, D)
    changed = torch.where(real_bt[..., None], x, x - 10)
    y, z = (mixer(inputs, NO_POSITION, real_bt[:, None, None]) for inputs in (x, changed))
    torch.testing.assert_close(y[real_bt], z[real_bt])


def test_step_mixes_all_inputs_so_far_again_unless_it_is_overridden():
    mixer, x, state = Sum(PartConfig(), Sizes(D, T, causal=True)), random(B, T, D), None
    for t in range(T):
        y, state = mixer.step(x[:, t : t + 1], NO_POSITION, state)
        torch.testing.assert_close(y, x[:, : t + 1].sum(1, keepdim=True))


def test_a_position_inside_attention_is_refused_beside_other_mixers():
    inside = [p for p in CATALOGUE.names("position") if CATALOGUE.get("position", p).inside_attention]
    for position in inside:
        (problem,) = problems_of(mixer="lstm", position=position)
        assert problem.startswith("position: acts inside attention, but mixer lstm is not attention; given ")
