"""The whole model: inputs → embedding → stack → logits, and the part that each of its parameters belongs to."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, assert_never

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
    """A sequence model as a study's `model:` section describes it, made by `build_model`. The constructor raises
    `Invalid`, with paths from the section, where settings do not fit one another or the task.

    `seed` and `stream` name its dropout streams; initial values are not set here.
    """

    def __init__(self, section: ModelSection, signature: Signature, seed: int = 0, stream: str = "") -> None:
        super().__init__()
        self.seed = seed
        self.stream = stream
        self.signature = signature
        source = signature.source if _reads_source(section) else None
        sizes = _sizes(section, signature)
        if source is not None:
            sizes = replace(sizes, source=_sizes(section, source))

        self._build_embeddings(section, signature, source)
        with Gather() as at:
            self._build_positions(at, section, sizes)
            _check_source(at, section, signature)
            with at():
                self.stack = section.topology.build(sizes, section)
            self.embedding_dropout = sizes.dropout_at("embedding")
            # A site of its own: the masks of target and source do not depend on each other's length.
            self.source_dropout = nn.Identity() if source is None else sizes.dropout_at("embedding")
            self.output = nn.Linear(section.d_model, signature.num_outputs)
            if section.embedding.tied:
                self._tie_output(at, signature)
            if section.embedding.segment:
                self._embed_segments(at, signature, section.d_model)
            self._sites = _active_sites(self)
            if not at.problems:
                _check_dropout(at, section, self._sites.values())

        # Whether it can read sequences longer than those that it is built for.
        self.any_length = _can_extrapolate(section)
        # Weights of unit variance, as an embedding's are unless they are scaled, would make logits of scale √D.
        has_large_weights = section.embedding.tied and not section.embedding.scaled
        self.output_scale = section.d_model**-0.5 if has_large_weights else 1.0

    def _build_embeddings(
        self, section: ModelSection, signature: Signature, source: Signature | None
    ) -> None:
        """Sets `embedding` and `source_embedding` (None where `source` is None); sets `segment_embedding` to None,
        which `_embed_segments` may replace.
        """
        scaled = section.embedding.scaled
        self.source_embedding: nn.Module | None = None
        self.segment_embedding: nn.Module | None = None
        self.embedding = embedding_of(signature, section.d_model, scaled)
        if source is not None:
            self.source_embedding = embedding_of(source, section.d_model, scaled)

    def _build_positions(self, at: Gather, section: ModelSection, sizes: Sizes) -> None:
        """Sets `position` and `source_position` (None without a source); collects their problems in `at`."""
        self.source_position: Position | None = None
        with at("position"):
            _check_position(section)
            target_sizes = replace(sizes, causal=section.topology.part.causal)
            self.position = section.position.build(target_sizes)
            if sizes.source is not None:
                self.source_position = section.position.build(sizes.source)

    def _tie_output(self, at: Gather, signature: Signature) -> None:
        """Makes the output layer share the embedding's weight in every case, and collects a problem in `at` where
        outputs and input tokens differ in number.
        """
        has = f"{signature.num_outputs} outputs and {signature.vocab_size or 'no'} input tokens"
        at.refuse(
            signature.num_outputs != signature.vocab_size,
            "embedding.tied",
            f"needs outputs that are the input's tokens; the task has {has}",
            given="on",
            allowed="off",
        )
        self.output.weight = self.embedding.get_parameter("weight")

    def _embed_segments(self, at: Gather, signature: Signature, d_model: int) -> None:
        """Sets `segment_embedding`, a table with a row for each of the task's segments; for a task without segments,
        collects a problem in `at` and sets a table of one row.
        """
        at.refuse(
            signature.num_segments is None,
            "embedding.segment",
            "needs a task that tells segments apart",
            given="on",
            allowed="off",
        )
        self.segment_embedding = TokenEmbedding(signature.num_segments or 1, d_model)

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        source: Tensor | None = None,
        source_mask: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> Tensor:
        """Returns the logits for tokens (B, T) or vectors (B, T, num_features): (B, num_outputs), or
        (B, T, num_outputs) where the task's `readout` is `all`.

        `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend; a position that none may
        attend to is padding. `source` and `source_mask` are the same for what a decoder reads; `segments` is (B, T).
        Raises `ValueError` where the model reads a source or segments and is given none.
        """
        x_btd = self.embed(inputs, segments=segments)
        memory = None if self.source_embedding is None else self.encode(source, source_mask)
        x_btd = self.stack(x_btd, self.position, mask, memory)
        return self._logits(self._read_out(x_btd, mask))

    def _read_out(self, x_btd: Tensor, mask: Tensor | None) -> Tensor:
        """Returns what the output layer reads of (B, T, D) by the signature's `readout`: all of it, or the mean over
        real positions or the last real position, (B, D).
        """
        match self.signature.readout:
            case "all":
                return x_btd
            case "mean":
                return mean_of_real(x_btd, real_positions(mask, x_btd.shape[1]))
            case "last":
                return last_of_real(x_btd, real_positions(mask, x_btd.shape[1]))
            case _:
                assert_never(self.signature.readout)

    def embed(self, inputs: Tensor, start: int = 0, segments: Tensor | None = None) -> Tensor:
        """Returns the input of the first layer, (B, T, D), after dropout: embedded tokens (B, T) or vectors
        (B, T, num_features), plus embedded positions from `start` on and, in a model that embeds segments, embedded
        segments (B, T).

        Raises `ValueError` where the model embeds segments and none are given.
        """
        x_btd = self.embedding(inputs)
        if self.segment_embedding is not None:
            if segments is None:
                raise ValueError("a model with an embedding of segments needs the segment of each position")
            x_btd = x_btd + self.segment_embedding(segments)
        return self.embedding_dropout(self.position.embed(x_btd, start))

    def encode(self, source: Tensor | None, mask: Tensor | None = None) -> Memory:
        """Returns the `Memory` of a source, tokens (B, S) or vectors (B, S, num_features). Raises `ValueError` where
        `source` is None or the model reads no source.
        """
        if self.source_embedding is None or self.source_position is None or source is None:
            raise ValueError("a model that reads a source needs one, and only such a model can take it")
        x_bsd = self.source_position.embed(self.source_embedding(source))
        return self.stack.encode(self.source_dropout(x_bsd), self.source_position, mask)

    def step(
        self, inputs: Tensor, start: int, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """Returns a causal model's logits (B, num_outputs) at position `start`, and the state for the next step. Raises
        `ValueError` where the model reads a source and `memory` is None, or where the model embeds segments.

        `inputs` are those at this position, (B, 1) or (B, 1, num_features). `state` is what the step before returned,
        None at first. `memory` is what `encode` returned.
        """
        if self.source_embedding is not None and memory is None:
            raise ValueError("a model that reads a source needs it encoded: `memory = model.encode(source)`")
        x_b1d, state = self.stack.step(self.embed(inputs, start), self.position, state, memory)
        return self._logits(x_b1d[:, 0]), state

    def _logits(self, x: Tensor) -> Tensor:
        """Returns the logits (…, num_outputs) of vectors (…, D)."""
        return self.output(x * self.output_scale)

    def start_step(self, step: int) -> None:
        """Reseeds every dropout site of a rate above 0 for the training step number `step`, in place;
        call it before each step's forward pass.
        """
        for path, site in self._sites.items():
            site.reseed(stream_seed(self.seed, "dropout", self.stream, path, step), self.device)

    @property
    def device(self) -> torch.device:
        """The device that holds the parameters."""
        return self.output.weight.device

    def parameters_by_part(self) -> dict[str, int]:
        """Returns the number of trainable parameters by name of part, such as `mixer` or `norm`, in the model's order;
        parts without trainable parameters are left out.
        """
        counts: Counter[str] = Counter()
        for path, parameter in self.named_parameters():
            counts[_part_at(path)] += parameter.numel() if parameter.requires_grad else 0
        return {part: count for part, count in counts.items() if count}


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Puts a model into evaluation mode while the context is open; then its former mode is restored."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def last_of_real(x_btd: Tensor, real_bt: Tensor | None) -> Tensor:
    """Returns each example's vector at its last real position, where `real_bt` (B or 1, T) is True: (B, T, D) → (B, D);
    at the last of all positions where `real_bt` is None, at the first where no position is real.
    """
    if real_bt is None:
        return x_btd[:, -1]
    last = torch.where(real_bt, torch.arange(x_btd.shape[1], device=x_btd.device), 0).amax(1)
    return x_btd[torch.arange(len(x_btd), device=x_btd.device), last.expand(len(x_btd))]


def _reads_source(section: ModelSection) -> bool:
    """Returns whether a section's topology reads a source, and does so by a cross-reader other than `none`."""
    topology = section.topology
    return bool(topology.part.reads_source and topology.cross.name != "none")


def _sizes(section: ModelSection, signature: Signature) -> Sizes:
    """Returns the sizes that a section's parts are built with; a mixer without heads has one head, d_model wide.

    Heads and widths of a head are those that a position inside attention acts on.
    """
    # Only mixers that have heads have such parameters.
    heads = getattr(section.mixer, "num_heads", 1)
    kv_heads = getattr(section.mixer, "num_kv_heads", None) or heads
    d_k = getattr(section.mixer, "d_k", None) or section.d_model // heads
    d_q = getattr(section.mixer, "d_q", None) or d_k
    return Sizes(
        d_model=section.d_model,
        max_len=signature.seq_len,
        padded=signature.padded,
        num_heads=heads,
        num_kv_heads=kv_heads,
        d_q=d_q,
        d_k=d_k,
        dropout=section.dropout.model_dump(),
    )


def _can_extrapolate(section: ModelSection) -> bool:
    """Returns whether a section's position and mixer take sequences longer than `max_len`; a class without the
    attribute `any_length` counts as taking them.
    """
    position_can = getattr(section.position.part, "any_length", True)
    mixer_can = getattr(section.mixer.part, "any_length", True)
    return bool(position_can and mixer_can)


def _active_sites(model: nn.Module) -> dict[str, Dropout]:
    """Returns the dropout sites of a model whose rate is above 0, by path."""
    sites: dict[str, Dropout] = {}
    for path, module in model.named_modules():
        if isinstance(module, Dropout) and module.rate > 0:
            sites[path] = module
    return sites


def _check_position(section: ModelSection) -> None:
    """Raises `Invalid` for a position that acts inside attention where the mixer does not attend, or attends with a
    weighting that reads no scores.
    """
    if not section.position.part.inside_attention:
        return
    weighting = getattr(section.mixer, "weighting", None)
    if not getattr(section.mixer.part, "attends", False):
        rule = f"acts inside attention, but mixer {section.mixer.name} is not attention"
    elif weighting is not None and not weighting.part.reads_scores:
        rule = f"has no effect with weighting {weighting.name}, which reads no scores"
    else:
        return
    inside_attention = CATALOGUE.able("position", "inside_attention")
    others = [name for name in CATALOGUE.names("position") if name not in inside_attention]
    raise Invalid("", rule, section.position.name, ", ".join(others))


def _check_source(at: Gather, section: ModelSection, signature: Signature) -> None:
    """Collects in `at` a problem where the topology reads a source that the task does not give."""
    at.refuse(
        section.topology.part.reads_source and signature.source is None,
        "topology",
        "reads a source, which the task does not give",
        given=section.topology.name,
        allowed="encoder, decoder",
    )


def _check_dropout(at: Gather, section: ModelSection, sites: Iterable[Dropout]) -> None:
    """Collects in `at` a problem for each dropout rate above 0 at a placement where the model has no dropout site;
    `sites` are those that it has.
    """
    placements = {site.placement for site in sites}
    for placement, rate in section.dropout.model_dump().items():
        unused = rate and placement not in placements
        field = f"dropout.{placement}"
        at.refuse(unused, field, "has no place in this model", given=rate, allowed="0")


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


def _part_at(path: str) -> str:
    """Returns the name of the part that a parameter's path belongs to; `other` where `PARTS` has none of its steps."""
    for step in path.split("."):
        if step in PARTS:
            return PARTS[step]
    return "other"


def decay_groups(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Returns two lists of a model's parameters: those that weight decay acts on, and the exempt ones, of norms,
    biases and logarithms of scales.

    A bias has `bias` in its name, a logarithm a name that begins with `log_`.
    """
    exempt: set[nn.Parameter] = set()
    for module in model.modules():
        # A user's norm need not be a `Norm`; only registered parts have a slot.
        is_norm = getattr(module, "slot", None) == "norm" or isinstance(module, TORCH_NORMS)
        for name, parameter in module.named_parameters(recurse=is_norm):
            if is_norm or "bias" in name or name.startswith("log_"):
                exempt.add(parameter)
    parameters = list(model.parameters())
    decayed = [parameter for parameter in parameters if parameter not in exempt]
    return decayed, [parameter for parameter in parameters if parameter in exempt]
