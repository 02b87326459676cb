"""What trials of one's own code read that an earlier run may have left, as limitations of a report."""

from collections.abc import Mapping

from ablate.base.errors import listed
from ablate.core.record import Record
from ablate.external.running import ADDED, DOUBTFUL


def limitations_of_inputs(records: Mapping[str, Record]) -> list[str]:
    """Returns what was added to data while trials ran, and what they read that is in no commit."""
    limitations: list[str] = []
    added = _named(records, ADDED)
    if added:
        limitations.append(
            f"{listed(added, 3)}: added to `data:` while a trial ran, where other trials find it; add it to "
            "`exclude:` under workload, so that it is no part of the data"
        )
    doubtful = _named(records, DOUBTFUL)
    if doubtful:
        limitations.append(
            f"{listed(doubtful, 3)}: read by trials, and in no commit; commit it if it is config, and add it to "
            "`exclude:` under workload if an earlier run has left it"
        )
    return limitations


def _named(records: Mapping[str, Record], key: str) -> dict[str, None]:
    """Returns the paths that the environments of records have under a key."""
    paths: dict[str, None] = {}
    for record in records.values():
        paths |= dict.fromkeys(record.environment.get(key, ()))
    return paths
