"""Files of a run that say in their names of which part of the data they speak: `train_metrics.json`, `test.csv`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ablate.core.data_parts import RANKS
from ablate.report.words import message
from ablate.runs.cells import is_number
from ablate.runs.formats.metric_files import MetricRows
from ablate.runs.roles import STEPS
from ablate.runs.settings import is_seed

_PART = re.compile(rf"({'|'.join(RANKS)})(?:[-_.].*)?|.*[-_.]({'|'.join(RANKS)})")


@dataclass
class _Part:
    """What the files of one part of the data hold, over all runs."""

    file: str
    """The name of the first of them."""
    metrics: set[str]


def told_apart(
    runs: Sequence[Mapping[Path, MetricRows]],
) -> tuple[list[dict[Path, MetricRows]], list[str]]:
    """Returns the files of each run, in which a metric of a part that counts less is called `train/acc`.

    A metric is renamed where a file of a part that counts more has it too, in any run: test data count more than
    validation data, and these more than training data. The sentences say which metrics those are.
    """
    parts: dict[str, _Part] = {}
    for files in runs:
        for file, read in files.items():
            part = _part_in(file)
            if part:
                parts.setdefault(part, _Part(file.name, set())).metrics.update(_metrics(read))
    shadowed: dict[str, set[str]] = {}
    notes = []
    for part, of_part in parts.items():
        for other, of_other in parts.items():
            shared = of_part.metrics & of_other.metrics
            if RANKS[part] < RANKS[other] and shared:
                shadowed.setdefault(part, set()).update(shared)
                notes.append(message("analyse.other_part", of_part.file, sorted(shared), of_other.file, part))
    renamed = []
    for files in runs:
        renamed.append({file: _renamed(read, _part_in(file), shadowed) for file, read in files.items()})
    return renamed, notes


def _part_in(file: Path) -> str:
    """Returns the part of the data in the name of a file, in small letters; empty where none is."""
    match = _PART.fullmatch(file.stem.lower())
    return (match[1] or match[2]) if match else ""


def _metrics(read: MetricRows) -> set[str]:
    """Returns the names of numbers that are neither steps nor seeds."""
    names = set()
    for row in (read.end, *read.rows, *read.of_seeds.values()):
        names |= {name for name, value in row.items() if is_number(value)}
    return {name for name in names if name.lower() not in STEPS and not is_seed(name)}


def _renamed(read: MetricRows, part: str, shadowed: Mapping[str, set[str]]) -> MetricRows:
    """Returns the rows of a file in which the metrics that other parts shadow have the name of their part."""
    names = shadowed.get(part)
    if not names:
        return read

    def under_part(row: Mapping[str, str]) -> dict[str, str]:
        return {f"{part}/{name}" if name in names else name: value for name, value in row.items()}

    return read.mapped(under_part)
