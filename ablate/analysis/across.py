"""Over the tasks of a study: on how many of them each verdict holds."""

from __future__ import annotations

import pandas as pd

from ablate.analysis.compare import planned
from ablate.core.facts import Facts

COUNTED = ("better", "worse", "equivalent")
COLUMNS = ("variant", "tasks", *COUNTED, "open")


def across(facts: Facts, comparisons: pd.DataFrame) -> pd.DataFrame:
    """One row a variant, with `COLUMNS`; none where the study has one task. `comparisons` is the result of `compare`.

    `better`, `worse`, `equivalent`, `open`: the number of the `tasks` with this verdict on the primary metric; all
    others are `open`.
    """
    mine = planned(comparisons)
    mine = mine[mine["metric"] == facts.metric]
    rows = []
    for variant in facts.variants[1:] if len(facts.tasks) > 1 else ():
        verdicts = mine.loc[mine["variant"] == variant.name, "verdict"]
        counts = {verdict: int((verdicts == verdict).sum()) for verdict in COUNTED}
        open_ = len(verdicts) - sum(counts.values())
        rows.append({"variant": variant.name, "tasks": len(verdicts), **counts, "open": open_})
    return pd.DataFrame([row for row in rows if row["tasks"]], columns=list(COLUMNS))
