"""Limitations of a report: files that an earlier run may have left, and that trials of a user's own code read."""

from collections.abc import Mapping

from ablate.base.errors import listed
from ablate.core.record import Record
from ablate.external.running import ADDED, DOUBTFUL


def limitations_of_inputs(records: Mapping[str, Record]) -> list[str]:
    """Returns a limitation for files added to data while trials ran, and one for files read that are in no commit."""
    limitations: list[str] = []
    added = _named(records, ADDED)
    if added:
        limitations.append(
            f"{listed(added, 3)}: added to `data:` while a trial ran, where other trials find it; add it to "
            "`exclude:` under workload, so that it is not part of the data"
        )
    doubtful = _named(records, DOUBTFUL)
    if doubtful:
        limitations.append(
            f"{listed(doubtful, 3)}: read by trials, and in no commit; commit it if it is config, and add it to "
            "`exclude:` under workload if an earlier run has left it"
        )
    return limitations


def _named(records: Mapping[str, Record], key: str) -> dict[str, None]:
    """Returns the paths under a key of the environments of records, each once."""
    paths: dict[str, None] = {}
    for record in records.values():
        paths |= dict.fromkeys(record.environment.get(key, ()))
    return paths
