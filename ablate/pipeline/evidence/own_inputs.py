"""Limitations of a report for what trials of a user's own code have read beside their code, config and data."""

from collections.abc import Mapping

from ablate.base.errors import listed
from ablate.base.text import to_add
from ablate.core.record import VARIABLES, Record
from ablate.external.running import ADDED, DOUBTFUL, LACKED, SHARED
from ablate.external.trace import digest_of_variable


def limitations_of_inputs(records: Mapping[str, Record]) -> list[str]:
    """Returns a limitation for each kind of input beside code, config and data that trials have read.

    These are files added to data while they ran, files in no commit, files that their copies lack, and variables that
    not all found alike.
    """
    limitations: list[str] = []
    added = _named(records, ADDED)
    if added:
        limitations.append(
            f"a trial added {listed(added, 3)} to `data:`, where other trials find it; add it to `exclude:` under "
            "workload, so that it is not part of the data"
        )
    doubtful = _named(records, DOUBTFUL)
    if doubtful:
        limitations.append(
            f"trials read {listed(doubtful, 3)}, which is in no commit; commit it if it is config, or add it to "
            "`exclude:` under workload if an earlier run left it there"
        )
    shared = _named(records, SHARED)
    if shared:
        limitations.append(
            f"trials read and then write {listed(shared, 3)} outside their copies, so that one may continue from "
            "another's file; have the code write to its own folder, or to $ABLATE_DIR"
        )
    lacked = _named(records, LACKED)
    if lacked:
        limitations.append(
            f"trials looked for {listed(lacked, 3)}, which your folder has and their copies lack, and went on. Add "
            f"{to_add('data', lacked)} under workload where they are to read this, else {to_add('exclude', lacked)}"
        )
    differing = _differing_variables(records)
    if differing:
        limitations.append(
            f"trials found different values of {listed(differing, 3)} in the environment, which may explain a "
            "difference between variants. Make it a key of `config:`, or give it one value and run with --fresh"
        )
    return limitations


def _differing_variables(records: Mapping[str, Record]) -> list[str]:
    """Returns the variables of the environment of which records have read several values."""
    return sorted(name for name, digests in _variables(records).items() if len(digests) > 1)


def changed_variables(records: Mapping[str, Record]) -> list[str]:
    """Returns the environment variables that had one value in all trials that read them, and have another now."""
    changed: list[str] = []
    for name, digests in _variables(records).items():
        if len(digests) == 1 and digest_of_variable(name) not in next(iter(digests)).split():
            changed.append(name)
    return sorted(changed)


def agreed_variables(records: Mapping[str, Record]) -> dict[str, str] | None:
    """Returns variable of the environment → the digest of the one value that all trials have read and that it has now.

    None where one has another value now, or not all have read the same.
    """
    if _differing_variables(records) or changed_variables(records):
        return None
    return {name: digest_of_variable(name) for name in _variables(records)}


def _variables(records: Mapping[str, Record]) -> dict[str, set[str]]:
    """Returns variable of the environment → the digests of its values in the trials that have read it."""
    values: dict[str, set[str]] = {}
    for record in records.values():
        for name, digest in record.environment.get(VARIABLES, {}).items():
            values.setdefault(name, set()).add(digest)
    return values


def _named(records: Mapping[str, Record], key: str) -> dict[str, None]:
    """Returns the paths under a key of the environments of records, each once."""
    paths: dict[str, None] = {}
    for record in records.values():
        paths |= dict.fromkeys(record.environment.get(key, ()))
    return paths
