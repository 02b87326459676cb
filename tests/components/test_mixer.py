"""What all mixers promise on their own, and what they refuse."""

import pytest
import torch
from mixer_checks import MASK, MIXERS, NO_POSITION, B, D, T, built, random, stepped
from refused import refused

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.mixer import Mixer
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.section import ModelSection

OTHERS = [name for name in MIXERS if name != "attention"]
WITHOUT_QUERIES = [name for name in MIXERS if MIXERS[name].padding and not MIXERS[name].attends]
SETTINGS = [
    (name, settings)
    for name in OTHERS
    for settings in ({}, {"kernel_size": 1}, {"kernel_size": T + 2}, {"hidden": 10})
    if MIXERS[name].causal and settings.keys() <= MIXERS[name].Config.model_fields.keys()
]


def problems_of(padded=False, **model):
    section = ModelSection.model_validate({"d_model": 8, "position": "none", **model})
    return refused(build_model, section, Signature(T, num_outputs=5, vocab_size=11, padded=padded))


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


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_causal_mixer_reads_the_past_alone_and_step_by_step_the_same(name, settings):
    """A change at position 3 leaves all before as they are and reaches what stands there."""
    mixer, x = built(name, causal=True, **settings), random(B, T, D)
    changed = x.clone()
    changed[:, 3] += 1
    y, z = mixer(x, NO_POSITION), mixer(changed, NO_POSITION)
    torch.testing.assert_close(y[:, :3], z[:, :3], rtol=0, atol=0)
    assert not torch.isclose(y[:, 3], z[:, 3]).all(-1).any()
    torch.testing.assert_close(stepped(mixer, x), y)


def test_the_parameters_of_a_mixer_are_checked_under_its_path():
    assert problems_of(mixer={"name": "gmlp", "hidden": 7}) == {"mixer.hidden": (7, "6, 8")}
    found = problems_of(mixer={"name": "linear_attention", "num_heads": 3})
    assert found == {"mixer.num_heads": (3, "1, 2, 4, 8")}
    assert refused(built, "linear_attention", num_heads=4, d_k=2) == {"num_heads": (4, "1, 2, 3, 6")}
    for name in ("rnn", "lstm", "gru"):  # an odd state has no halves
        assert refused(built, name, hidden=5) == {"hidden": (5, "4, 6")}
        assert built(name, causal=True, hidden=5)(random(1, 2, D), NO_POSITION).shape == (1, 2, D)


def test_a_mixer_of_ones_own_is_refused_like_any_other():
    for needed in ({"causal": True}, {"padded": True}):
        with pytest.raises(Invalid, match="given 'Mean'"):
            Mean(PartConfig(), Sizes(D, T, **needed))
    with pytest.raises(ValueError, match=r"^mixer Mean cannot leave out padding; .*: attention"):
        Mean(PartConfig(), Sizes(D, T))(random(B, T, D), NO_POSITION, MASK)
    with pytest.raises(ValueError, match=r"^mixer fourier cannot leave out padding: the freq"):
        built("fourier")(random(B, T, D), NO_POSITION, MASK)


@pytest.mark.parametrize("name", WITHOUT_QUERIES)
def test_a_mask_may_leave_out_its_leading_dimensions_but_not_have_rows_for_queries(name):
    mixer, x = built(name), random(B, T, D)
    real_t = torch.arange(T) < T - 2
    whole = mixer(x, NO_POSITION, real_t.expand(B, 1, 1, T))
    torch.testing.assert_close(mixer(x, NO_POSITION, real_t), whole)
    torch.testing.assert_close(mixer(x, NO_POSITION, real_t.view(1, 1, 1, T)), whole)
    with pytest.raises(ValueError, match=f"^mixer {name} has no queries.* given a mask \\(4, 1, 7, 7\\);"):
        mixer(x, NO_POSITION, torch.ones(B, 1, T, T, dtype=torch.bool))


def test_step_mixes_all_inputs_so_far_again_unless_it_is_overridden():
    mixer, x, state = Sum(PartConfig(), Sizes(D, T, causal=True)), random(B, T, D), None
    for t in range(T):
        y, state = mixer.step(x[:, t : t + 1], NO_POSITION, state)
        torch.testing.assert_close(y, x[:, : t + 1].sum(1, keepdim=True))


def test_a_position_inside_attention_is_refused_beside_other_mixers_and_where_no_scores_are_read():
    positions = CATALOGUE.names("position")
    inside = [p for p in positions if CATALOGUE.get("position", p).inside_attention]
    others = ", ".join(p for p in positions if p not in inside)
    for position in inside:
        for mixer in ("lstm", {"weighting": "uniform"}):
            assert problems_of(mixer=mixer, position=position) == {"position": (position, others)}
