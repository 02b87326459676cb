"""The judging of a study, from the evidence in its folder alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.core.derived import DERIVED
from ablate.records.folder import CLAIMS, COMPARISONS, StudyFolder

if TYPE_CHECKING:
    import pandas as pd

    from ablate.report.section import ReportData


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a study, as `StudyFolder.save_verdicts` writes them."""

    # By the names of their files.
    tables: Mapping[str, pd.DataFrame]
    # In sentences.
    answer: Sequence[str]


def judge_evidence(folder: StudyFolder) -> ReportData:
    """Judges the evidence of a study, and returns all that its report is made from. Raises `AblateError`."""
    from ablate.analysis.claims import judge_claims
    from ablate.analysis.compare import compare
    from ablate.analysis.conditions_tables import conditions_table, trends
    from ablate.analysis.interactions import interactions
    from ablate.analysis.speed_tables import speed_tables
    from ablate.analysis.stability import stability
    from ablate.pipeline.evidence.other_runs import configs_of, other_runs, stored_elsewhere
    from ablate.records.evaluated import reported_evaluations
    from ablate.report.section import ReportData

    evidence = folder.evidence()
    # Other runs may have been added since the evidence was collected.
    others = other_runs(folder, configs_of(folder), evidence, stored_elsewhere(folder, evidence))
    comparisons = compare(evidence)
    claims = judge_claims(evidence)
    stability_rows = stability(evidence)
    tables = {"stability": stability_rows, **speed_tables(evidence)}
    tables |= {"conditions": conditions_table(evidence), "trends": trends(evidence)}
    interaction_rows = interactions(evidence)
    if len(interaction_rows):
        tables["interactions"] = interaction_rows
    if evidence.only_measured:
        # Nothing was trained that could be compared, and claims about it wait.
        comparisons = comparisons[:0]
        for name in ("stability", "conditions", "trends"):
            tables[name] = tables[name][:0]
        ratios = [name for name, derived in DERIVED.items() if derived.kind == "ratio"]
        claims = claims[claims["metric"].isin(ratios)]
    return ReportData(
        evidence,
        comparisons,
        claims,
        evaluated=reported_evaluations(folder, evidence),
        tables=tables,
        results=folder.results,
        other_runs=evidence.facts.plan.other_runs | others,
        dated=_dated(folder),
    )


def _dated(folder: StudyFolder) -> str:
    """Returns the date of the first plan of a study; empty where none was kept, or it cannot be read."""
    plans = folder.readable_plans()
    return plans[0].declared if plans else ""


def verdicts_of(data: ReportData, folder: StudyFolder) -> Verdicts:
    """Returns the verdicts of judged evidence, with the claims of the folder that still wait."""
    from ablate.pipeline.preregister.claims import with_waiting
    from ablate.report.sections import HEADLINE
    from ablate.report.sentences.noise_words import noise_lines

    tables = {COMPARISONS: data.comparisons, CLAIMS: with_waiting(data.claims, folder)}
    for name, table in data.tables.items():
        tables[f"{name}.csv"] = table
    return Verdicts(tables, [*HEADLINE.answers(data), *noise_lines(data), *HEADLINE.warnings(data)])
