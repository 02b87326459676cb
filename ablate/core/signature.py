"""The shapes of a task's inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Signature:
    """The shapes of one task, whose inputs are tokens (B, T) or feature vectors (B, T, num_features)."""

    # T, the length of training and evaluation sequences.
    seq_len: int
    # Width of the logits.
    num_outputs: int
    # Number of input tokens; None when the inputs are feature vectors.
    vocab_size: int | None = None
    # Width of the input vectors; None when the inputs are tokens.
    num_features: int | None = None
    # Logits from the last position (B, num_outputs), the mean over positions, or each position (B, T, num_outputs).
    # Padding is neither last nor in the mean.
    readout: Literal["last", "mean", "all"] = "last"
    # True where batches have masks, for sequences of several lengths in one batch.
    padded: bool = False
    # Number of parts that the positions of an input are told to belong to; None when they are not told.
    num_segments: int | None = None
    # The shapes of the sequence that a decoder reads through cross-attention; None without one.
    source: Signature | None = None
