"""A setting's row of the table, as it is kept in Optuna's storage: with a digest, so that an edit is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ablate.base.digests import digest_of_data
from ablate.search.storage import StorageError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

RESULT = "result"
"""The attribute of a trial in the storage that holds its row of the table."""
_DIGEST = "digest"


def sealed(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result with the digest of it."""
    return {**result, _DIGEST: digest_of_data(result)}


def result_of(trial: FrozenTrial) -> dict[str, Any]:
    """The result of a trial, empty before it has one. Raises `StorageError` when it is not what was written."""
    kept = trial.user_attrs.get(RESULT, {})
    found = dict(kept) if isinstance(kept, dict) else {}
    digest = found.pop(_DIGEST, None)
    if not isinstance(kept, dict) or (digest is not None and digest != digest_of_data(found)):
        raise StorageError(
            f"setting {trial.number} of the search was changed in its storage; move the storage away; the "
            "search is then repeated, and finished trials come from the store"
        )
    return found
