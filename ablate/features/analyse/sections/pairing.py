"""How runs that exist were compared: with or without pairs, over what, and how the two runs of a pair correlate."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ablate.analysis.compare import every
from ablate.analysis.runs import Runs
from ablate.analysis.unpaired import Unpaired
from ablate.core.facts import Evidence
from ablate.report.section import Block, Material, Section
from ablate.report.verdicts import names_of, variant_column
from ablate.report.words import Column, Table, fixed, say, tabulated


class Pairing(Section, place=150, title="How they were compared", open=True):
    """One row a comparison."""

    def applies(self, material: Material) -> bool:
        return bool(material.facts.given)

    def blocks(self, material: Material) -> Iterator[Block]:
        yield table(material.evidence)


def table(evidence: Evidence) -> Table:
    """The same wherever it is shown."""
    columns = [
        variant_column(names_of(evidence.facts)),
        Column("task", "Task", varying=True),
        Column("how", "Compared", show=lambda row: say("analyse.how", row["how"], row["n_a"], row["n_b"])),
        Column("r", "Correlation", True, show=lambda row: fixed(row["r"], 2)),
    ]
    return tabulated(columns, list(compared(evidence)), say("analyse.caption"))


def compared(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """One row a planned comparison: variant, task, how, r, n_a and n_b (runs of each side, or documents, sources)."""
    runs = Runs(evidence)
    for one in (one for one in every(runs) if one.judged):
        c, d, r = one.contrast, one.contrast.differences, np.nan
        a, b, how = c.a[0], c.b[0], d.unit
        if how == "documents":
            sides = [runs.of(name, one.pair.task) for name in (*one.pair.a, *one.pair.b)]
            a, b = (np.nanmean(side.by_example(one.metric), axis=0) for side in sides)  # type: ignore[arg-type]
        if isinstance(d, Unpaired):
            how = "known" if d.known else "welch"
        elif len(a) > 2 and min(np.ptp(a), np.ptp(b)) > 0:
            r = float(np.corrcoef(a, b)[0, 1])
        counts = {"n_a": len(a), "n_b": d.n if how == "documents" else len(b)}
        yield {"variant": one.pair.name, "task": one.pair.task.name, "how": how, **counts, "r": r}
