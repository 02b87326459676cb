"""Tasks that are answered by a sequence: a source of symbols, and the target that a model has to write for it.

As two sequences for an encoder–decoder, each padded (·) at its end, or as one for a decoder, which reads from left to
right and is asked about the target only. An example of three symbols, of at most four, with the target reversed:

    source   a b c ·            inputs   a b c ⊢ c b a · ·
    inputs   ⊢ c b a ·          targets        c b a ⊣
    targets  c b a ⊣

The vocabulary, which source and target share: 0 is padding, 1 the start (⊢), 2 the end (⊣); the rest are symbols.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ablate.core.metric import Metric
from ablate.core.signature import Signature
from ablate.tasks.labelling import Labelling
from ablate.tasks.task import IGNORED, Batch, Integers, Task, Topology

PADDING, START, END = 0, 1, 2
FIRST_SYMBOL = 3
# Symbols (B, longest), of which the first count, as many as the lengths (B, 1) say.
Sequences = tuple[Integers, Integers]


@dataclass(frozen=True)
class Answers:
    """What is known of the targets of one length without their sources."""

    nats: float  # Their entropy.
    likeliest: float  # Probability of the likeliest.
    # (length, C): how often each of C symbols, the most frequent among them, is at each place.
    shares: NDArray[np.float64]


class Transduction(Labelling):
    """A task whose answer is a sequence.

    Accuracy is of whole sequences, the end included, with the right tokens before each position (teacher forcing). It
    is that of greedy decoding from the start token too: as long as the model is right, its own tokens are the
    right ones, and one wrong token fails the sequence either way.
    """

    topologies: tuple[Topology, ...] = ("encoder_decoder", "decoder")
    apart: Signature | None = None
    "Of source and target as two sequences, where a model reads them as one."

    def set_chances(self, answers: Sequence[Answers], num_test: int) -> None:
        """Sets `metrics` and `chance_loss` for targets of several lengths, all equally likely."""
        count, lengths = len(answers), [len(of.shares) for of in answers]
        # Of the end, and of each symbol, at each place.
        tokens = np.zeros((max(lengths) + 1, 1 + answers[0].shares.shape[1]))
        for of, length in zip(answers, lengths, strict=True):
            tokens[:length, 1:] += of.shares / (length + 1) / count
            tokens[length, 0] += 1 / (length + 1) / count
        losses = [(of.nats + math.log(count)) / (len(of.shares) + 1) for of in answers]
        likeliest = max(of.likeliest for of in answers) / count
        self.set_floors(sum(losses) / count, likeliest, float(tokens.max(1).sum()), num_test)

    def set_floors(
        self, loss: float, sequence: float, token: float, num_test: int, solved: float | None = 0.95
    ) -> None:
        """Sets `metrics` and `chance_loss`.

        loss: of the targets' distribution, without the source. sequence, token: the accuracies of always writing one
        sequence, and one token at each place. num_test: N, examples of the test split.
        """
        self.chance_loss = loss
        self.metrics = {
            "accuracy": Metric("max", 1 / num_test, floor=sequence, ceiling=1.0, solved=solved),
            "token_accuracy": Metric("max", floor=token, ceiling=1.0),
            "loss": Metric("min", floor=loss, ceiling=0.0),
        }

    def for_topology(self, topology: Topology) -> Task:
        """A decoder reads source and target in one sequence."""
        source = self.signature.source
        if topology != "decoder" or source is None:
            return self
        task: Transduction = self.config.build()
        length, padded = source.seq_len + self.signature.seq_len, source.padded or self.signature.padded
        task.apart = self.signature
        task.signature = replace(self.signature, seq_len=length, padded=padded, source=None)
        return task

    def sliced(self, name: str) -> Task:
        """See `Task.sliced`; laid out as this one."""
        topology: Topology = "decoder" if self.signature.source is None else "encoder_decoder"
        return super().sliced(name).for_topology(topology)

    def pairs(self, source: Sequences, target: Sequences) -> Batch:
        """Sources and targets, as two sequences; see `laid_out`."""
        (symbols, lengths), (answers, ends) = source, target
        given = np.where(np.arange(symbols.shape[1]) < lengths, symbols, PADDING)
        place, written = np.arange(answers.shape[1] + 1), np.pad(answers, ((0, 0), (0, 1)))
        targets = np.where(place < ends, written, np.where(place == ends, END, IGNORED))
        inputs = np.where(place <= ends, np.roll(written, 1, axis=1), PADDING)
        inputs[:, 0] = START
        read, asked, tokens = (torch.from_numpy(array) for array in (given, targets, inputs))
        apart = self.apart or self.signature
        return Batch(
            tokens,
            asked,
            _mask(tokens) if apart.padded else None,
            source=read,
            source_mask=_mask(read) if apart.source and apart.source.padded else None,
        )

    def laid_out(self, examples: Batch) -> Batch:
        """Two sequences as the model reads them: one after the other where it reads one."""
        if examples.source is None or self.signature.source is not None:
            return examples
        tokens = torch.cat([examples.source, examples.inputs], 1)
        labels = torch.cat([torch.full_like(examples.source, IGNORED), examples.targets], 1)
        # Padding last, all else in its order.
        order = (tokens == PADDING).long().argsort(dim=1, stable=True)
        tokens, labels = tokens.gather(1, order), labels.gather(1, order)
        return Batch(tokens, labels, _mask(tokens) if self.signature.padded else None)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """`accuracy`: 1 where every token is right; `token_accuracy`: share of right tokens; `loss`."""
        found = super().measure(logits, batch)
        names = {"accuracy": "sequence_accuracy", "token_accuracy": "accuracy", "loss": "loss"}
        return {name: found[of] for name, of in names.items()}


def signature_of(vocab_size: int, sources: range, targets: range) -> Signature:
    """Of sources and targets as two sequences; the lengths are those that they may have, without the end."""
    # Nothing is read out at the source: it has no outputs.
    source = Signature(max(sources), num_outputs=0, vocab_size=vocab_size, padded=len(sources) > 1)
    return Signature(
        max(targets) + 1, vocab_size, vocab_size, readout="all", padded=len(targets) > 1, source=source
    )


def greedy(model: Any, batch: Batch) -> Tensor:
    """(B, T): what a model writes, each token after its own, in the places of the targets; padding after the end."""
    given, state, found = batch.inputs, None, []
    start = (given == START).long().argmax(1, keepdim=True)
    memory = None if model.source_embedding is None else model.encode(batch.source, batch.source_mask)
    token, ended = given[:, :1], torch.zeros_like(start, dtype=torch.bool)
    for place in range(given.shape[1]):
        logits, state = model.step(token, place, state, memory)
        written = logits.argmax(-1, keepdim=True).masked_fill(ended | (place < start), PADDING)
        ended = ended | (written == END)
        found.append(written)
        # Up to the start, what is given.
        token = torch.where(place < start, given[:, place + 1 : place + 2], written)
    return torch.cat(found, 1)


def backwards(symbols: Integers, lengths: Integers) -> Integers:
    """The first `lengths` (B, 1) symbols of each row, the last of them first; what follows means nothing."""
    return np.take_along_axis(symbols, np.maximum(lengths - 1 - np.arange(symbols.shape[1]), 0), axis=1)


def _mask(tokens: Tensor) -> Tensor:
    return (tokens != PADDING)[:, None, None]
