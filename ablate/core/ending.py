"""How a run ended, which decides whether its numbers count."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, assert_never

EndingKind = Literal["completed", "diverged", "pruned", "failed", "stopped", "running", "unknown"]
"""
- completed: it ran to its end.
- diverged: its training went wrong, or needed more memory or time than it had.
- pruned: a search gave it up because of its numbers.
- failed: an error ended it, of its code or of its machine.
- stopped: somebody ended it, or a scheduler that needed its place.
- running: it has not ended, or has not begun.
- unknown: nothing says how it ended.
"""
Counting = Literal["its number", "the floor", "nothing"]
"""What of a run counts: the number that it measured, the worst value of its metric, or nothing."""


@dataclass(frozen=True)
class Ending:
    """The end of a run, and what says so."""

    kind: EndingKind
    why: str = ""
    """The predicate of the run in a sentence: `crashed`; empty where the kind says all."""
    source: str = ""
    """What says so: `error.txt`, `status FAILED`; empty where nothing does."""
    lacks_number: bool = False
    """Whether it is known to have no result by its missing number alone, which says nothing of the reason."""

    @property
    def what_counts(self) -> Counting:
        """What of the run counts in a comparison."""
        match self.kind:
            case "completed" | "unknown":
                return "nothing" if self.lacks_number else "its number"
            case "diverged":
                return "the floor"
            case "pruned" | "failed" | "stopped" | "running":
                return "nothing"
            case _ as kind:
                assert_never(kind)

    @property
    def leaves_out_its_pair(self) -> bool:
        """Whether its pair is left out, on the assumption that the reason has nothing to do with the result.

        That is known to be wrong of a pruned run, and cannot be said of one that ended well and has no number: their
        comparisons stay open.
        """
        match self.kind:
            case "failed" | "stopped" | "running":
                return True
            case "completed" | "unknown" | "diverged" | "pruned":
                return False
            case _ as kind:
                assert_never(kind)

    @property
    def is_replaceable(self) -> bool:
        """Whether another run of the same seed counts in its place.

        It does where nothing counts of this run, pruned ones among them. That a run diverged is its result; that it ran
        out of memory or time may have been mended since.
        """
        return self.what_counts == "nothing" or (self.kind == "diverged" and bool(self.why))


UNKNOWN = Ending("unknown")
COMPLETED = Ending("completed")
DIVERGED = Ending("diverged")

CRASHED = Ending("failed", "crashed")
FAILED = Ending("failed", "failed")
LOST_ITS_PLACE = Ending("stopped", "was preempted")
KILLED = Ending("stopped", "was killed")
INTERRUPTED = Ending("stopped", "was interrupted")
CANCELLED = Ending("stopped", "was cancelled")
STOPPED = Ending("stopped", "was stopped")
STOPPED_BY_USER = Ending("stopped", "was stopped by the user")
RUNNING = Ending("running", "is still running")
WAITING = Ending("running", "has not started")
PAUSED = Ending("running", "is paused")
PRUNED = Ending("pruned", "was pruned")
# Lost for a reason that lies in the training itself, and counted like a divergence.
NO_MEMORY = Ending("diverged", "ran out of memory")
NO_TIME = Ending("diverged", "reached its time limit")

_NO_MEMORY = re.compile(r"out.?of.?mem|\boom|memoryerror|not enough memory|allocate memory", re.IGNORECASE)
_NO_TIME = re.compile(r"time.?limit|walltime|deadline.?exceeded", re.IGNORECASE)
OF_TRAINING = r"\b(?:loss|gradients?|grad.norm|weights|parameters|activations?)\b"
"""The pattern of words for what a training computes, which is no number where it goes wrong."""
NOT_A_NUMBER = (
    r"(?<!\w)(?:nan|-?inf|not finite|non-?finite|infinite(?=\W*$|\W+(?:or|at|in|on|after|during|loss|gradients?)\b))"
    r"(?![\w-])"
)
"""The pattern of words for what is no number, or is not finite: no `nan-safe loss`, no `infinite horizon`."""
_NOT_FINITE = re.compile(
    rf"{OF_TRAINING}.{{0,40}}{NOT_A_NUMBER}|{NOT_A_NUMBER}.{{0,20}}{OF_TRAINING}", re.IGNORECASE
)
"""What is said of a training that went wrong: `The loss returned in training_step is nan`."""


def ending_of_error(text: str, source: str) -> Ending:
    """Returns how a run ended of which the text of an error is known: of its loss, memory, time, or anything else."""
    if _NO_MEMORY.search(text):
        return replace(NO_MEMORY, source=source)
    if _NO_TIME.search(text):
        return replace(NO_TIME, source=source)
    if _NOT_FINITE.search(text):
        return replace(DIVERGED, source=source)
    return replace(FAILED, source=source)
