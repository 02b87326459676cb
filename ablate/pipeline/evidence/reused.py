"""Trials that were reused for later code: one training, under the id of another trial."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ablate.core.record import Record

# Key in the environment of a record that is reused for a trial of later code → the id of the trial that was trained.
REUSED_FROM = "kept_from"


def num_reused(records: Mapping[str, Record]) -> int:
    """Returns the number of trials that ran with older code than the repository has now."""
    return sum(REUSED_FROM in record.environment for record in records.values())


def trained_as(trial_id: str, environment: Mapping[str, Any]) -> str:
    """Returns the id under which a trial was trained: another one where its record is reused for later code."""
    return str(environment.get(REUSED_FROM, trial_id))


def trained_ids(trial_ids: Iterable[str], results: Path, num_kept: int) -> dict[str, str]:
    """Returns the id of a trial of a report → the id under which it was trained.

    num_kept: the number of trials that the report has with older code; records are read only where there are some. A
    trial whose record is gone was trained under its own id, as far as is known.
    """
    trained = {trial_id: trial_id for trial_id in trial_ids}
    if num_kept:
        for trial_id in trained:
            try:
                record = json.loads((results / "store" / "trials" / f"{trial_id}.json").read_bytes())
                trained[trial_id] = trained_as(trial_id, record["environment"])
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # The store says what is wrong with a record when a study needs it.
    return trained
