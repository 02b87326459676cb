"""Measured seconds of a training step, as a file beside the study that they match."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablate.base.digests import digest_of_data
from ablate.base.errors import AblateError
from ablate.base.files import write_text

_ABOUT = (
    "Seconds of a training step, measured before training on one thread: the median over blocks in which the "
    "variants of a task take turns in random order. Remove this file and run with --fresh to measure again."
)


def load_rates(path: Path) -> dict[str, dict[str, Any]]:
    """Key of a config → its measured seconds of a training step, and how; empty without a file.

    Raises `AblateError`.
    """
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rates: dict[str, dict[str, Any]] = found["rates"]
        if found.get("digest", digest := digest_of_data(rates)) != digest:
            raise ValueError("it was changed")
        if not all(entry["seconds_per_step"] > 0 for entry in rates.values()):
            raise ValueError("a rate is not positive")
        return rates
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "restore it, or remove it to measure again"
        raise AblateError(f"{path}: is not a table of rates ({error}); {hint}") from error


def save_rates(path: Path, rates: Mapping[str, Any]) -> None:
    """Writes measured rates."""
    write_text(
        path, json.dumps({"about": _ABOUT, "rates": rates, "digest": digest_of_data(rates)}, indent=1) + "\n"
    )
