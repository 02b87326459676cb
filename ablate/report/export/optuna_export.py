"""The searches of a study as studies of Optuna's, for its own dashboard and plots: `ablate export --optuna`."""

from ablate.analysis.optuna_study import rebuilt
from ablate.analysis.search_table import search_table_of
from ablate.base.errors import AblateError
from ablate.base.sqlite import refuse_other_database
from ablate.base.text import first_line, masked
from ablate.core.facts import Evidence


def export_searches(evidence: Evidence, url: str) -> list[str]:
    """Writes each search of a study into a storage of Optuna's, and returns their names there.

    Raises `AblateError` for a storage that Optuna does not take, or that is another program's.
    """
    names: list[str] = []
    table = search_table_of(evidence)
    if table is None:
        return names
    refuse_other_database(url, own_table="version_info", source="--optuna")
    for variant, task in dict.fromkeys(zip(table.trials["variant"], table.trials["task"], strict=True)):
        words = [evidence.facts.study, evidence.facts.plan.searched, variant, task]
        name = " ".join(word for word in words if word)
        try:
            rebuilt(table, variant, task, url, name)
        except Exception as error:
            raise AblateError(f"--optuna {masked(url)}: {first_line(error)}; name another storage") from None
        names.append(name)
    return names
