"""The whole model: inputs → embedding → stack → logits, and the part that each of its parameters belongs to."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import CATALOGUE
from ablate.base.streams import stream_seed
from ablate.components.layers import Dropout
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.embedding import TokenEmbedding, embedding_of
from ablate.models.memory import Memory, mean_of_real
from ablate.models.section import ModelSection


class Model(nn.Module):
    """A sequence model as a study's `model:` section describes it; made by `build_model`.

    `seed` and `stream` name its dropout streams. Raises `Invalid` with paths from the section.
    """

    def __init__(self, section: ModelSection, signature: Signature, seed: int = 0, stream: str = "") -> None:
        super().__init__()
        self.seed, self.stream, self.signature = seed, stream, signature
        d_model, source = section.d_model, signature.source
        for_source = section.topology.part.reads_source
        reads_source = for_source and section.topology.cross.name != "none"
        sizes = _sizes(section, signature)
        self.source_embedding: nn.Module | None = None
        self.source_position: Position | None = None
        self.segment_embedding: nn.Module | None = None
        tied, scaled = section.embedding.tied, section.embedding.scaled
        self.embedding = embedding_of(signature, d_model, scaled)
        if reads_source and source is not None:
            self.source_embedding = embedding_of(source, d_model, scaled)
            sizes = replace(sizes, source=_sizes(section, source))
        with Gather() as at:
            with at("position"):
                _check_position(section)
                self.position = section.position.build(replace(sizes, causal=section.topology.part.causal))
                if reads_source and sizes.source is not None:
                    self.source_position = section.position.build(sizes.source)
            at.refuse(
                for_source and source is None,
                "topology",
                "reads a source, which the task does not give",
                section.topology.name,
                "encoder, decoder",
            )
            with at():
                self.stack = section.topology.build(sizes, section)
            self.embedding_dropout = sizes.dropout_at("embedding")
            # A site of its own: the masks of target and source do not depend on each other's length.
            self.source_dropout = sizes.dropout_at("embedding") if reads_source else nn.Identity()
            self.output = nn.Linear(d_model, signature.num_outputs)
            self._embed_as(at, section, signature)
            self._sites = {
                path: module
                for path, module in self.named_modules()
                if isinstance(module, Dropout) and module.rate > 0
            }
            if not at.problems:
                _check_dropout(at, section, self._sites.values())
        # Whether it can read sequences longer than those that it is built for.
        parts = section.position.part, section.mixer.part
        self.any_length = all(getattr(part, "any_length", True) for part in parts)
        # Weights of unit variance, as an embedding's are unless they are scaled, would make logits of scale √D.
        self.output_scale = d_model**-0.5 if tied and not scaled else 1.0

    def _embed_as(self, at: Gather, section: ModelSection, signature: Signature) -> None:
        """Ties the output layer, and makes the embedding of segments."""
        tied, segment = section.embedding.tied, section.embedding.segment
        has = f"{signature.num_outputs} outputs and {signature.vocab_size or 'no'} input tokens"
        at.refuse(
            tied and signature.num_outputs != signature.vocab_size,
            "embedding.tied",
            f"needs outputs that are the input's tokens; the task has {has}",
            "on",
            "off",
        )
        at.refuse(
            segment and signature.num_segments is None,
            "embedding.segment",
            "needs a task that tells segments apart",
            "on",
            "off",
        )
        if tied:
            self.output.weight = self.embedding.get_parameter("weight")
        if segment:
            self.segment_embedding = TokenEmbedding(signature.num_segments or 1, section.d_model)

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        source: Tensor | None = None,
        source_mask: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> Tensor:
        """Logits (B, num_outputs), or (B, T, num_outputs) where the task reads every position.

        `inputs` are tokens (B, T) or vectors (B, T, num_features); `mask` is boolean, broadcastable to
        (B, 1, T_q, T_k), True where a query may attend; a position that none may attend to is padding.
        `source` and `source_mask` are the same for what a decoder reads; `segments` is (B, T).
        """
        x_btd = self.embed(inputs, segments=segments)
        memory = None if self.source_embedding is None else self.encode(source, source_mask)
        x_btd = self.stack(x_btd, self.position, mask, memory)
        if self.signature.readout == "all":
            return self._logits(x_btd)
        read_out = mean_of_real if self.signature.readout == "mean" else last_of_real
        return self._logits(read_out(x_btd, real_positions(mask, x_btd.shape[1])))

    def embed(self, inputs: Tensor, start: int = 0, segments: Tensor | None = None) -> Tensor:
        """(B, T) or (B, T, num_features) → (B, T, D), for positions from `start` on."""
        x_btd = self.embedding(inputs)
        if self.segment_embedding is not None:
            if segments is None:
                raise ValueError("a model with an embedding of segments needs the segment of each position")
            x_btd = x_btd + self.segment_embedding(segments)
        return self.embedding_dropout(self.position.embed(x_btd, start))

    def encode(self, source: Tensor | None, mask: Tensor | None = None) -> Memory:
        """The encoded source, for the decoder."""
        if self.source_embedding is None or self.source_position is None or source is None:
            raise ValueError("a model that reads a source needs one, and only such a model can take it")
        x_bsd = self.source_position.embed(self.source_embedding(source))
        return self.stack.encode(self.source_dropout(x_bsd), self.source_position, mask)

    def step(
        self, inputs: Tensor, start: int, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """Logits (B, num_outputs) of one more position (B, 1) of a causal model, at `start`, and its new state."""
        if self.source_embedding is not None and memory is None:
            raise ValueError("a model that reads a source needs it encoded: `memory = model.encode(source)`")
        x_b1d, state = self.stack.step(self.embed(inputs, start), self.position, state, memory)
        return self._logits(x_b1d[:, 0]), state

    def _logits(self, x: Tensor) -> Tensor:
        """(…, D) → (…, num_outputs)."""
        return self.output(x * self.output_scale)

    def start_step(self, step: int) -> None:
        """Seeds every dropout site for `step`; call it before the forward pass of each training step."""
        for path, site in self._sites.items():
            site.reseed(stream_seed(self.seed, "dropout", self.stream, path, step), self.device)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.output.weight.device

    def parameters_by_part(self) -> dict[str, int]:
        """Number of trainable parameters by part, in the order of the model; parts without any are left out."""
        counts: Counter[str] = Counter()
        for path, parameter in self.named_parameters():
            part = next((PARTS[step] for step in path.split(".") if step in PARTS), "other")
            counts[part] += parameter.numel() if parameter.requires_grad else 0
        return {part: count for part, count in counts.items() if count}


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, the model is in evaluation mode; then its mode comes back."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def last_of_real(x_btd: Tensor, real_bt: Tensor | None) -> Tensor:
    """(B, T, D) → (B, D): the last position that is no padding."""
    if real_bt is None:
        return x_btd[:, -1]
    last = torch.where(real_bt, torch.arange(x_btd.shape[1], device=x_btd.device), 0).amax(1)
    return x_btd[torch.arange(len(x_btd), device=x_btd.device), last.expand(len(x_btd))]


def _sizes(section: ModelSection, signature: Signature) -> Sizes:
    """The sizes that parts are built with; heads and widths are those of a position inside attention."""
    heads = getattr(section.mixer, "num_heads", 1)
    kv_heads = getattr(section.mixer, "num_kv_heads", None) or heads
    d_k = getattr(section.mixer, "d_k", None) or section.d_model // heads
    return Sizes(
        d_model=section.d_model,
        max_len=signature.seq_len,
        padded=signature.padded,
        num_heads=heads,
        num_kv_heads=kv_heads,
        d_q=getattr(section.mixer, "d_q", None) or d_k,
        d_k=d_k,
        dropout=section.dropout.model_dump(),
    )


def _check_position(section: ModelSection) -> None:
    """Refuses a position that acts where the mixer has nothing to act on."""
    inside = section.position.part.inside_attention
    weighting = getattr(section.mixer, "weighting", None)
    if inside and not getattr(section.mixer.part, "attends", False):
        rule = f"acts inside attention, but mixer {section.mixer.name} is not attention"
    elif inside and weighting is not None and not weighting.part.reads_scores:
        rule = f"has no effect with weighting {weighting.name}, which reads no scores"
    else:
        return
    able = [n for n in CATALOGUE.names("position") if not CATALOGUE.get("position", n).inside_attention]  # type: ignore[attr-defined]
    raise Invalid("", rule, section.position.name, ", ".join(able))


def _check_dropout(at: Gather, section: ModelSection, sites: Iterable[Dropout]) -> None:
    """Refuses a rate for a placement that the model does not have."""
    placements = {site.placement for site in sites}
    for placement, rate in section.dropout.model_dump().items():
        unused = rate and placement not in placements
        at.refuse(unused, f"dropout.{placement}", "has no place in this model", rate, "0")


# Step of a parameter's path → part; the first step that is listed counts.
PARTS = {
    "embedding": "embedding",
    "position": "position",
    "mixer": "mixer",
    "feedforward": "feedforward",
    "cross": "cross",
    "mixer_norm": "norm",
    "cross_norm": "norm",
    "feedforward_norm": "norm",
    "mixer_norm_after": "norm",
    "cross_norm_after": "norm",
    "feedforward_norm_after": "norm",
    "source_embedding": "embedding",
    "segment_embedding": "embedding",
    "source_position": "position",
    "norm": "norm",
    "output": "output",
}

TORCH_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)


def decay_groups(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Parameters that weight decay acts on, and those exempt from it: of norms, biases, logarithms of scales."""
    exempt = set()
    for module in model.modules():
        norm = getattr(module, "slot", None) == "norm" or isinstance(module, TORCH_NORMS)
        own = module.named_parameters(recurse=norm)
        exempt |= {p for name, p in own if norm or "bias" in name or name.startswith("log_")}
    parameters = list(model.parameters())
    return [p for p in parameters if p not in exempt], [p for p in parameters if p in exempt]
