"""The words of trackers and schedulers for the end of a run, and the status that each gives the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from ablate.base.errors import Gather, listed, nearest

RunStatus = Literal["completed", "diverged", "failed"]


@dataclass(frozen=True)
class Ending:
    """The end of a run: its status and the reason for it."""

    outcome: RunStatus
    why: str = ""
    """The reason, as the predicate of the run: `crashed`; empty for a run that completed."""
    is_left_out: bool = False
    """Whether its pair is left out, on the assumption that the reason has nothing to do with the result."""

    @property
    def is_replaceable(self) -> bool:
        """Whether another run of the same seed counts in its place, since this one has no result."""
        return self.outcome == "failed" or (self.outcome == "diverged" and bool(self.why))


COMPLETED = Ending("completed")
DIVERGED = Ending("diverged")
NO_VALUE = Ending("failed", "has no value")
"""A run without a number and without a status that says why; its comparison stays open."""
# Given up because of its numbers, which tells something about the result.
_PRUNED = Ending("failed", "was pruned")


def _left_out(why: str) -> Ending:
    return Ending("failed", why, is_left_out=True)


_CRASHED = _left_out("crashed")
_FAILED = _left_out("failed")
_KILLED = _left_out("was killed")
_CANCELLED = _left_out("was cancelled")
_PREEMPTED = _left_out("was preempted")
_RUNNING = _left_out("is still running")
_WAITING = _left_out("has not started")
_PAUSED = _left_out("is paused")
# Lost for a reason that lies in the training itself, and counted like a divergence.
_NO_MEMORY = Ending("diverged", "ran out of memory")
_NO_TIME = Ending("diverged", "reached its time limit")

_KEPT = ("keep", "kept")

ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys(("completed", "complete", "finished", "done", "terminated", "ok"), COMPLETED),
    **dict.fromkeys(("success", "successful", "succeeded"), COMPLETED),
    # Of loops that keep or discard a change: both have run to their end.
    **dict.fromkeys((*_KEPT, "discard", "discarded"), COMPLETED),
    "diverged": DIVERGED,
    "pruned": _PRUNED,
    **dict.fromkeys(("crashed", "crash"), _CRASHED),
    **dict.fromkeys(("failed", "fail", "failure", "error", "errored", "node_fail", "boot_fail"), _FAILED),
    **dict.fromkeys(("killed", "aborted", "interrupted"), _KILLED),
    **dict.fromkeys(("cancelled", "canceled"), _CANCELLED),
    **dict.fromkeys(("preempted", "preempting"), _PREEMPTED),
    **dict.fromkeys(("running", "completing"), _RUNNING),
    **dict.fromkeys(("scheduled", "pending", "queued", "waiting", "requeued"), _WAITING),
    **dict.fromkeys(("paused", "suspended"), _PAUSED),
    **dict.fromkeys(("out_of_memory", "out_of_me", "oom"), _NO_MEMORY),
    **dict.fromkeys(("timeout", "time_limit", "deadline"), _NO_TIME),
}
"""Word, in small letters with underscores → how the run ended; those of W&B, MLflow, Ray, SLURM, Optuna and gate."""

_LEFT_OUT = {ending.why for ending in ENDINGS.values() if ending.is_left_out}
STATUSES = ("status", "state")
"""The names of columns with the ends of runs, in small letters."""


def status_column(table: pd.DataFrame) -> str | None:
    """Returns the column that is called status or state, in any case, and holds a word of `ENDINGS`; else None."""
    for name in table.columns:
        if str(name).lower() in STATUSES and table[name].map(_word).isin(list(ENDINGS)).any():
            return str(name)
    return None


def endings(statuses: pd.Series) -> pd.Series:
    """Returns how each run ended, by what its status says; a run without a status completed. Raises `Invalid`."""
    words = statuses.map(_word)
    unknown = ~words.isin(["", *ENDINGS])
    with Gather() as at:
        for place, given in statuses[unknown].drop_duplicates().head(8).items():
            at.refuse(
                True,
                str(place),
                "has an unknown status",
                given,
                listed(ENDINGS, len(ENDINGS)),
                nearest(_word(given), ENDINGS)
                or "If the column says something else, rename it, or name another: --column status NAME",
            )
    return words.map(lambda word: ENDINGS.get(word, COMPLETED))


def num_not_completed(statuses: pd.Series) -> int:
    """Returns of how many runs a known status says that they did not complete."""
    ended = statuses.map(lambda status: ENDINGS.get(_word(status), COMPLETED))
    return sum(ending != COMPLETED for ending in ended)


def is_kept(statuses: pd.Series) -> pd.Series:
    """Returns whether a status says that a loop has kept the change that the run tried."""
    return statuses.map(_word).isin(_KEPT)


def is_left_out(trials: pd.DataFrame) -> pd.Series:
    """Returns whether the pair of a run is left out, by its status and reason."""
    return (trials["status"] == "failed") & trials["reason"].isin(_LEFT_OUT)


def _word(status: object) -> str:
    """Returns a status as `ENDINGS` has it: without the mark of a cut word, and without who cancelled it."""
    text = str(status).strip().lower()
    text = re.sub(r" by \S+$", "", text).removesuffix("+")
    return re.sub(r"[\s-]+", "_", text)
