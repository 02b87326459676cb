"""How a run ended, which decides whether its numbers count."""

from __future__ import annotations

from dataclasses import dataclass
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
    """The reason, as the predicate of the run: `crashed`; empty where the kind says all."""
    source: str = ""
    """What says so: `error.txt`, `status FAILED`; empty where nothing does."""
    lacks_number: bool = False
    """Whether it is known to have no result by its missing number alone, which says nothing of the reason."""

    @property
    def counts(self) -> Counting:
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
        """Whether another run of the same seed counts in its place, since something outside its numbers ended it.

        That a run diverged is its result; that it ran out of memory or time may have been mended since.
        """
        return self.counts == "nothing" or (self.kind == "diverged" and bool(self.why))


UNKNOWN = Ending("unknown")
COMPLETED = Ending("completed")
DIVERGED = Ending("diverged")
