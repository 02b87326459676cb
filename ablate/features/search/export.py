"""Searches as studies of Optuna's, for its own dashboard: `ablate export --optuna`."""

from __future__ import annotations

from ablate.base.errors import AblateError
from ablate.base.text import masked
from ablate.core.facts import Evidence
from ablate.features.search.table import table_of


def export(evidence: Evidence, url: str) -> list[str]:
    """Writes each search of a study into a storage of Optuna's, and returns their names."""
    names: list[str] = []
    if (found := table_of(evidence)) is None:
        return names
    for variant, task in dict.fromkeys(zip(found.trials["variant"], found.trials["task"], strict=True)):
        names.append(" ".join(filter(None, [evidence.facts.study, evidence.facts.searched, variant, task])))
        try:
            found.rebuilt(variant, task, url, names[-1])
        except Exception as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise AblateError(f"--optuna {masked(url)}: {masked(first)}; name another storage") from None
    return names
