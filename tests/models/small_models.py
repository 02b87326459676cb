"""A small model and a task of tokens, for tests of what a model is built of."""

from typing import Any

import torch
from torch import nn

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.attention import Attention
from ablate.models.block import Block
from ablate.models.build import build_model
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
TOKENS = Signature(seq_len=6, num_outputs=5, vocab_size=11)
BATCH = torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(0))


def section(**settings: Any) -> ModelSection:
    return ModelSection.model_validate({"d_model": 16, "num_layers": 1, **settings})


def built(signature=TOKENS, seed=0, stream="", device="cpu", **settings):
    return build_model(section(**settings), signature, seed=seed, stream=stream, device=device)


@torch.no_grad()
def copy_attention(ours: Attention, theirs: nn.MultiheadAttention) -> None:
    """Copies the weights of an attention into torch's own."""
    parts = (ours.query, ours.key, ours.value.projection)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.out_proj.weight.copy_(ours.output.weight)
    if ours.query.bias is not None:
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.bias.copy_(ours.output.bias)


def copy_block(block: Block, layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    """Copies the weights of a block into torch's own layer."""
    copy_attention(block.mixer, layer.self_attn)
    pairs = [(block.feedforward.up, layer.linear1), (block.feedforward.down, layer.linear2)]
    norms = [block.mixer_norm, block.feedforward_norm]
    if hasattr(layer, "multihead_attn"):
        copy_attention(block.cross.attention, layer.multihead_attn)
        norms.insert(1, block.cross_norm)
    pairs += [(norm, getattr(layer, f"norm{number}")) for number, norm in enumerate(norms, 1)]
    for ours, theirs in pairs:
        theirs.load_state_dict(ours.state_dict())
