"""Tasks that are answered by a sequence: a source of symbols, and the target that a model has to write for it.

The two stand apart for an encoder–decoder, each padded (·) at its end, or in one sequence for a decoder, which reads
from left to right and is asked about the target only. An example of three symbols, of at most four, with the target
reversed:

    source   a b c ·            inputs   a b c ⊢ c b a · ·
    inputs   ⊢ c b a ·          targets        c b a ⊣
    targets  c b a ⊣

The vocabulary, which source and target share: 0 is padding, 1 the start (⊢), 2 the end (⊣); the rest are symbols.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ablate.core.metric import Metric
from ablate.core.signature import Signature
from ablate.tasks.labelling import Labelling
from ablate.tasks.task import IGNORED, Batch, Integers, StepwiseModel, Task, Topology

PADDING = 0
START = 1
END = 2
FIRST_SYMBOL = 3


@dataclass(frozen=True)
class Sequences:
    """Sequences of symbols in one array, without start and end."""

    symbols: Integers
    "(B, longest); the symbols of a sequence come first, and what follows them means nothing."
    lengths: Integers
    "Number of symbols of each sequence, (B, 1)."


@dataclass(frozen=True)
class Answers:
    """The distribution of the targets of one length, without their end tokens, when the sources are unknown."""

    nats: float
    "Entropy of the targets."
    likeliest: float
    "Probability of the likeliest target."
    shares: NDArray[np.float64]
    "Probability of each of C symbols, the most frequent among them, at each place, (length, C)."


class Transduction(Labelling):
    """A task whose answer is a sequence of tokens, an end token last.

    Accuracy is the share of sequences that are right as a whole, the end included, with the right tokens before each
    position (teacher forcing). Greedy decoding from the start token has the same accuracy: as long as the model is
    right, its own tokens are the right ones, and one wrong token fails the sequence either way.
    """

    topologies: tuple[Topology, ...] = ("encoder_decoder", "decoder")
    signature_apart: Signature | None = None
    "The signature of source and target as two sequences, where a model reads them as one; else None."

    def set_chances(self, answers: Sequence[Answers], num_test: int) -> None:
        """Sets `metrics` and `chance_loss` for targets of several equally likely lengths: the loss of guessing, and as
        floors of accuracy those of always writing one sequence and one token at each place.

        answers: the targets of each length. num_test: N, examples of the test split.
        """
        count = len(answers)
        longest = max(len(targets.shares) for targets in answers)
        # Probability of the end, and of each symbol, at each place.
        tokens = np.zeros((longest + 1, 1 + answers[0].shares.shape[1]))
        losses: list[float] = []
        for targets in answers:
            length = len(targets.shares)
            tokens[:length, 1:] += targets.shares / (length + 1) / count
            tokens[length, 0] += 1 / (length + 1) / count
            losses.append((targets.nats + math.log(count)) / (length + 1))
        self.set_floors(
            loss=sum(losses) / count,
            sequence=max(targets.likeliest for targets in answers) / count,
            token=float(tokens.max(1).sum()),
            num_test=num_test,
        )

    def set_floors(
        self, *, loss: float, sequence: float, token: float, num_test: int, solved: float | None = 0.95
    ) -> None:
        """Sets `metrics` (`accuracy`, `token_accuracy`, `loss`) and `chance_loss` from what guessing reaches without
        the source.

        loss: the loss of the targets' distribution.
        sequence: the accuracy of always writing one sequence.
        token: the token accuracy of always writing one token at each place.
        num_test: N, examples of the test split.
        solved: the accuracy at which the task counts as learned.
        """
        self.chance_loss = loss
        self.metrics = {
            "accuracy": Metric("max", 1 / num_test, floor=sequence, ceiling=1.0, solved=solved),
            "token_accuracy": Metric("max", floor=token, ceiling=1.0),
            "loss": Metric("min", floor=loss, ceiling=0.0),
        }

    def for_topology(self, topology: Topology) -> Task:
        """Returns the task laid out for a topology: for a decoder a new task, in which source and target are one
        sequence; otherwise, or where they are one sequence already, the task itself.
        """
        source = self.signature.source
        if topology != "decoder" or source is None:
            return self
        task: Transduction = self.config.build()
        task.signature_apart = self.signature
        task.signature = replace(
            self.signature,
            seq_len=source.seq_len + self.signature.seq_len,
            padded=source.padded or self.signature.padded,
            source=None,
        )
        return task

    def sliced(self, name: str) -> Task:
        """Returns a new task for the slice called `name`, laid out as this task is: in one sequence or in two."""
        topology: Topology = "decoder" if self.signature.source is None else "encoder_decoder"
        return super().sliced(name).for_topology(topology)

    def pairs(self, source: Sequences, target: Sequences) -> Batch:
        """Returns a batch of the `source`, the `inputs` (start token, then target) and the `targets`
        (target, then end token).

        They are two sequences an example, with masks where they may be padded; see `laid_out`.
        """
        is_source = np.arange(source.symbols.shape[1]) < source.lengths
        source_tokens = torch.from_numpy(np.where(is_source, source.symbols, PADDING))

        place = np.arange(target.symbols.shape[1] + 1)
        symbols = np.pad(target.symbols, ((0, 0), (0, 1)))
        with_end = np.where(place == target.lengths, END, IGNORED)
        targets = torch.from_numpy(np.where(place < target.lengths, symbols, with_end))
        shifted = np.where(place <= target.lengths, np.roll(symbols, 1, axis=1), PADDING)
        shifted[:, 0] = START
        tokens = torch.from_numpy(shifted)

        signature = self.signature_apart or self.signature
        source_padded = signature.source is not None and signature.source.padded
        return Batch(
            tokens,
            targets,
            mask=_mask(tokens) if signature.padded else None,
            source=source_tokens,
            source_mask=_mask(source_tokens) if source_padded else None,
        )

    def laid_out(self, examples: Batch) -> Batch:
        """Returns examples of two sequences as the model reads them:
        source and target joined in one for a decoder, else unchanged.
        """
        if examples.source is None or self.signature.source is not None:
            return examples
        tokens = torch.cat([examples.source, examples.inputs], dim=1)
        targets = torch.cat([torch.full_like(examples.source, IGNORED), examples.targets], dim=1)
        # Padding last, all else in its order.
        order = (tokens == PADDING).long().argsort(dim=1, stable=True)
        tokens = tokens.gather(1, order)
        targets = targets.gather(1, order)
        return Batch(tokens, targets, mask=_mask(tokens) if self.signature.padded else None)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics by name, each (B): `accuracy` is 1 where every token is right, else 0; `token_accuracy` is
        the share of right tokens; `loss` is the mean over the tokens in nats.
        """
        labels = super().measure(logits, batch)
        return {
            "accuracy": labels["sequence_accuracy"],
            "token_accuracy": labels["accuracy"],
            "loss": labels["loss"],
        }


def signature_of_pairs(vocab_size: int, source_lengths: range, target_lengths: range) -> Signature:
    """Returns the signature of sources and targets as two sequences, from the numbers of symbols that each may have;
    targets get one place more, for the end token.

    A sequence of several lengths is padded.
    """
    # Nothing is read out at the source: it has no outputs.
    source = Signature(
        max(source_lengths), num_outputs=0, vocab_size=vocab_size, padded=len(source_lengths) > 1
    )
    return Signature(
        max(target_lengths) + 1,
        num_outputs=vocab_size,
        vocab_size=vocab_size,
        readout="all",
        padded=len(target_lengths) > 1,
        source=source,
    )


def greedy(model: StepwiseModel, batch: Batch) -> Tensor:
    """Returns the tokens (B, T) that greedy decoding writes, laid out as `targets`: each is the likeliest after the
    tokens before it, with padding before the answer and after its end token.

    The model first reads the given inputs up to the start token. T is that of the inputs.
    """
    inputs = batch.inputs
    start = (inputs == START).long().argmax(1, keepdim=True)
    memory = None if model.source_embedding is None else model.encode(batch.source, batch.source_mask)
    state = None
    token = inputs[:, :1]
    has_ended = torch.zeros_like(start, dtype=torch.bool)
    written: list[Tensor] = []
    for place in range(inputs.shape[1]):
        logits, state = model.step(token, place, state, memory)
        answer = logits.argmax(-1, keepdim=True).masked_fill(has_ended | (place < start), PADDING)
        has_ended = has_ended | (answer == END)
        written.append(answer)
        # Up to the start, the model reads what is given, and then what it has written.
        token = torch.where(place < start, inputs[:, place + 1 : place + 2], answer)
    return torch.cat(written, dim=1)


def backwards(symbols: Integers, lengths: Integers) -> Integers:
    """Returns the first L symbols of each row, L from `lengths` (B, 1), in reverse order,
    in the shape of `symbols`; the rest means nothing.
    """
    places = np.maximum(lengths - 1 - np.arange(symbols.shape[1]), 0)
    return np.take_along_axis(symbols, places, axis=1)


def _mask(tokens: Tensor) -> Tensor:
    """Returns the mask (B, 1, 1, T) of tokens (B, T): False at padding, so that no query attends to padding."""
    return (tokens != PADDING)[:, None, None]
