"""What a model cannot be made of is a mistake of the study, named with its path, the rule and the alternatives.

Through the command line: exit code 2, and nothing is trained or written.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from harness import ablate_here

from ablate.base.errors import StudyError
from ablate.study.prepare import prepare

RAGGED = '''
"""Sequences of several lengths in one batch."""

from dataclasses import replace

import torch

from ablate import PartConfig, register
from ablate.tasks.recall import Recall


@register("task", "ragged")
class Ragged(Recall):
    """Recall whose batches have masks."""

    def __init__(self, config):
        super().__init__(config)
        self.signature = replace(self.signature, padded=True)

    def examples(self, generator, count):
        batch = super().examples(generator, count)
        batch.mask = torch.ones((count, 1, 1, batch.inputs.shape[1]), dtype=torch.bool)
        return batch
'''

STUDIES = {
    # Each level and each variant is one mistake.
    "parts": """
        name: bad
        task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
        model: {d_model: 32, num_layers: 1, mixer: {num_heads: 4}}
        training: {steps: 2}
        factors:
          model.mixer.score:
            - {name: dot, hidden: 4}
            - {name: additive, hidden: 0}
            - {name: gaussian, temperature: 1.0}
            - {name: cosine, temperature: 0.0}
          model.mixer.num_heads: [0, 3, 64]
          model.mixer.num_kv_heads: [3, 8]
          model.mixer.d_k: [-1, 2.5]
          model.mixer.d_q: [5]
          model.mixer.value:
            - {name: low_rank}
            - {name: low_rank, rank: 0}
            - {name: low_rank, rank: 33}
            - {name: full, rank: 4}
          model.mixer.weighting:
            - {name: uniform, temperature: 2}
          model.mixer:
            - {name: lstm, num_heads: 2}
            - {name: conv, kernel_size: 0}
            - {name: attention, hidden: 3}
          model.position:
            - {name: relative, max_distance: 0}
            - {name: relative, max_distance: 99}
            - {name: sincos, base: 10}
          model.norm:
            - {name: layer, momentum: 0.1}
            - {name: batch, momentum: 1.5}
          model.feedforward:
            - {name: none, expansion: 2}
            - {name: mlp, expansion: 0}
          model.topology:
            - {name: encoder, cross: mean}
            - encoder_decoder
          model.dropout.residual: [1.0, -0.1]
        variants:
          alibi-outside: {model.mixer: conv, model.position: alibi}
          no-site: {model.mixer: conv, model.dropout.attention_weights: 0.1}
          no-hidden: {model.feedforward: none, model.dropout.feedforward_hidden: 0.1}
          causal-fourier: {model.topology: decoder, model.mixer: fourier}
          causal-mixer: {model.topology: decoder, model.mixer: mlp_mixer}
          rank-and-split: {model.mixer.split: before, "model.mixer.value": {name: low_rank, rank: 8}}
          odd-rope: {model.mixer.num_heads: 32, model.position: rope}
        """,
    "padded": """
        name: bad
        plugins: [ragged.py]
        task: ragged
        model: {d_model: 32, num_layers: 1, mixer: fourier}
        training: {steps: 2}
        factors:
          model.norm: [none]
        """,
}

MISTAKES = [
    # The parameters of another part.
    (7, "factors.model.mixer.score[0].hidden", "unknown key", "allowed: name"),
    (9, "factors.model.mixer.score[2].temperature", "unknown key", "allowed: name, sigma, learned"),
    (19, "factors.model.mixer.value[3].rank", "unknown key", "allowed: name"),
    (21, "factors.model.mixer.weighting[0].temperature", "unknown key", "allowed: name"),
    (23, "factors.model.mixer[0].num_heads", "unknown key", "allowed: name, hidden"),
    (25, "factors.model.mixer[2].hidden", "unknown key", "allowed: name, num_heads, num_kv_heads, d_k,"),
    (29, "factors.model.position[2].base", "unknown key", "allowed: name"),
    (31, "factors.model.norm[0].momentum", "unknown key", "allowed: name, eps"),
    (34, "factors.model.feedforward[0].expansion", "unknown key", "allowed: name"),
    # Widths and ranks.
    (8, "factors.model.mixer.score[1].hidden", "must be greater than 0", "given 0"),
    (13, "factors.model.mixer.d_k[0]", "must be greater than 0", "given -1"),
    (13, "factors.model.mixer.d_k[1]", "must be a whole number", "given 2.5"),
    (
        14,
        "factors.model.mixer.d_q[0]",
        "must be d_k = 8 with score scaled_dot, which needs one width",
        "given 5; allowed: 8",
    ),
    (16, "factors.model.mixer.value[0].rank", "is required", ""),
    (17, "factors.model.mixer.value[1].rank", "must be greater than 0", "given 0"),
    (18, "factors.model.mixer.value[2].rank", "must not exceed d_model = 32", "given 33; allowed: 1 to 32"),
    (24, "factors.model.mixer[1].kernel_size", "must be greater than 0", "given 0"),
    (35, "factors.model.feedforward[1].expansion", "must be greater than 0", "given 0"),
    (
        46,
        "variants.rank-and-split.model.mixer.value",
        "reads all of x, which `split: before` does not allow",
        "",
    ),
    # Numbers of heads.
    (11, "factors.model.mixer.num_heads[0]", "must be greater than 0", "given 0"),
    (
        11,
        "factors.model.mixer.num_heads[1]",
        "must divide d_model = 32 unless d_k and d_v are both given",
        "given 3; allowed: 1, 2,",
    ),
    (
        11,
        "factors.model.mixer.num_heads[2]",
        "must divide d_model = 32 unless d_k and d_v are both given",
        "given 64; allowed: 1, 2,",
    ),
    (12, "factors.model.mixer.num_kv_heads[0]", "must divide num_heads = 4", "given 3; allowed: 1, 2, 4"),
    (12, "factors.model.mixer.num_kv_heads[1]", "must divide num_heads = 4", "given 8; allowed: 1, 2, 4"),
    # Rates.
    (10, "factors.model.mixer.score[3].temperature", "must be greater than or equal to 0.01", "given 0.0"),
    (32, "factors.model.norm[1].momentum", "must be less than or equal to 1", "given 1.5"),
    (39, "factors.model.dropout.residual[0]", "must be less than 1", "given 1.0"),
    (39, "factors.model.dropout.residual[1]", "must be greater than or equal to 0", "given -0.1"),
    # A placement without a site.
    (
        42,
        "variants.no-site.model.dropout.attention_weights",
        "has no place in this model",
        "given 0.1; allowed: 0",
    ),
    (
        43,
        "variants.no-hidden.model.dropout.feedforward_hidden",
        "has no place in this model",
        "given 0.1; allowed: 0",
    ),
    # Positions.
    (27, "factors.model.position[0].max_distance", "must be greater than 0", "given 0"),
    (
        28,
        "factors.model.position[1].max_distance",
        "must not exceed the longest distance in training, max_len − 1 = 4",
        "given 99; allowed: 1 to 4",
    ),
    (
        41,
        "variants.alibi-outside.model.position",
        "acts inside attention, but mixer conv is not attention",
        "given 'alibi'; allowed: ",
    ),
    (
        47,
        "variants.odd-rope.model.position",
        "rotates pairs of features and needs an even d_k; that of a head is 1",
        "given 'rope'; allowed: alibi,",
    ),
    # Topologies.
    (37, "factors.model.topology[0].cross", "unknown key", "allowed: name"),
    (
        38,
        "factors.model.topology[1]",
        "must be one that task recall supports",
        "given 'encoder_decoder'; allowed: encoder, decoder",
    ),
    (
        38,
        "factors.model.topology[1]",
        "reads a source, which the task does not give",
        "given 'encoder_decoder'; allowed: encoder, decoder",
    ),
    (
        44,
        "variants.causal-fourier.model.mixer",
        "cannot hide later positions, as a causal topology needs: each frequency sums over all positions",
        "given 'fourier'; allowed: attention, conv, gmlp, gru, linear_attention, lstm, ",
    ),
    (
        45,
        "variants.causal-mixer.model.mixer",
        "cannot hide later positions, as a causal topology needs: each of its hidden units reads all positions",
        "given 'mlp_mixer'; allowed: attention, conv, gmlp, gru, linear_attention, lstm, ",
    ),
]


def problems(folder: Path, name: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        prepare(study_in(folder, name))
    return [str(problem) for problem in caught.value.problems]


def study_in(folder: Path, name: str) -> Path:
    (folder / "ragged.py").write_text(RAGGED)
    path = folder / "study.yaml"
    path.write_text(dedent(STUDIES[name]).lstrip())
    return path


def test_each_mistake_is_named_and_nothing_is_written_or_trained(tmp_path: Path) -> None:
    done = ablate_here("run", study_in(tmp_path, "parts").name, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    head, *said = [line.strip() for line in done.stderr.splitlines()]
    assert head.endswith("in the study; nothing was written or trained:")
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"ragged.py", "study.yaml"}
    for line, path, rule, alternatives in MISTAKES:
        start = f"study.yaml:{line}: {path}: {rule}"
        assert any(text.startswith(start) and alternatives in text for text in said), (start, said)
    assert len(said) == len(MISTAKES)


def test_a_mixer_without_masks_is_no_mixer_for_a_task_that_pads(tmp_path: Path) -> None:
    (said,) = problems(tmp_path, "padded")
    rule = "4: model.mixer: cannot leave out padding, which the task has: the frequencies"
    assert said.startswith(f"{tmp_path}/study.yaml:{rule}")
    assert "given 'fourier'; allowed: attention, conv, " in said
