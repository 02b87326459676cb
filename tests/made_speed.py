"""Evidence of speed that was never measured, from log ratios."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from made_evidence import study
from numpy.typing import ArrayLike

from ablate.core.facts import Evidence, frame_of
from ablate.core.speed import TimedCall
from ablate.core.speed_facts import SpeedFacts


def speed_frame(
    logs: Mapping[str, ArrayLike],
    *,
    call: TimedCall = "step",
    task: str = "recall",
    size: float = math.nan,
    own: bool = True,
    seconds: float = 0.01,
    memory: Mapping[str, ArrayLike] | None = None,
    examples: int = 64,
    tokens: int = 2048,
    flops: float = 1e9,
    busy: float = 0.0,
) -> pd.DataFrame:
    """The rows of one task, size and call. `logs`: variant → log ratio of each process, NaN where it was not timed.

    The first variant is the baseline, whose logs are those of its second copy; it takes `seconds`. `memory`: variant →
    peak bytes of a step, one number or one a process; a megabyte where it is not given.
    """
    baseline = next(iter(logs))
    rows = []
    for variant, of in logs.items():
        values = np.atleast_1d(np.asarray(of, float))
        peak = np.broadcast_to(np.asarray((memory or {}).get(variant, 1e6), float), values.shape)
        for process, log in enumerate(values):
            taken = seconds * (1.0 if variant == baseline else math.exp(log))
            row = (variant, task, size, own, call, process, taken, log)
            more = (peak[process] if call == "step" else math.nan, examples, tokens, flops, 12, busy)
            rows += [(*row, *more)] if not math.isnan(log) else []
    return pd.DataFrame(rows, columns=list(SpeedFacts.columns))


def timed(*frames, margin=0.02, processes=None, **options):
    """A study whose variants were timed so; `options` are those of `made_evidence.study`.

    Its trials, where `values` does not give them, are two a variant.
    """
    frame = pd.concat(frames, ignore_index=True) if frames else frame_of((), SpeedFacts.columns)
    named = dict.fromkeys(frame["variant"])
    values = options.pop("values", {variant: [0.5, 0.6] for variant in named})
    sizes = sorted(frame["size"].dropna().unique().tolist())
    evidence = study(values, **options)
    planned = processes or frame["process"].nunique()
    facts = SpeedFacts("task.seq_len" if sizes else "", sizes, margin, planned, 1, "a machine")
    return with_speed(evidence, frame, facts)


def with_speed(evidence: Evidence, frame: pd.DataFrame, facts: SpeedFacts | None = None) -> Evidence:
    """The evidence with these measurements, taken so or as its own were."""
    if facts is None:
        return replace(evidence, frames={**evidence.frames, SpeedFacts.key: frame})
    return evidence.having(facts, frame)
