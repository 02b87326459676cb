"""The reports of studies as earlier analyses: their verdicts were known before their trials were analysed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path

import numpy as np

from ablate.base.errors import AblateError
from ablate.core.facts import TRIALS
from ablate.records.evidence_folder import EXAMPLES
from ablate.records.facts_file import are_given
from ablate.records.folder import StudyFolder
from ablate.records.tables import rows_and_facts
from ablate.runs.content import digests_of_values, share_runs
from ablate.runs.evidence import evidence_of
from ablate.runs.formats.study_trials import folder_of, trials_of
from ablate.runs.looks.calls import differ_in_columns_alone
from ablate.runs.looks.ledger import Analysis, line_of, verdicts_in
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles


def reports_of_studies(
    now: Analysis, lines: Sequence[Analysis], results: Path, source: str
) -> Iterator[Analysis]:
    """Yields the reports of studies that judge runs of an analysis, unless it or one in the ledger repeats them.

    results: the folder of results whose studies are looked at, beside the one that `source` is in.
    """
    own = folder_of(Path(source)) if source else None
    places = [] if own is None else [own]
    for place in StudyFolder.all(results):
        is_own = own is not None and place.path.resolve() == own.path.resolve()
        if not is_own and _may_share_numbers(now, place):
            places.append(place)
    for place in places:
        try:
            report = _line_of(place)
        except AblateError:
            continue
        if share_runs(report, now) and not any(_is_same_judgement(report, other) for other in (now, *lines)):
            yield report


def _is_same_judgement(report: Analysis, other: Analysis) -> bool:
    """Returns whether an analysis repeats the judgement of a report.

    Names of columns, `--where` and `--at` may differ; an analysis without counts, of an older version, repeats none.
    """
    has_counts = other.counts is not None
    return has_counts and report.judged_as(other) and differ_in_columns_alone(report.call, other.call)


def _may_share_numbers(now: Analysis, place: StudyFolder) -> bool:
    """Returns whether a report is of a study, and the numbers of its trials are among those of an analysis."""
    # By example, trials have no numbers that are too fine to be equal by chance.
    if not now.numbers or not place.has_report or (place.path / EXAMPLES).is_file():
        return False
    try:
        rows, facts = rows_and_facts(place.path / TRIALS)
    except AblateError:
        return False
    values = [cell for row in rows for cell in row.values() if isinstance(cell, float) and isfinite(cell)]
    return not are_given(facts) and not {*now.numbers}.isdisjoint(digests_of_values(np.array(values)))


def _line_of(place: StudyFolder) -> Analysis:
    """Returns the report of a study as a line of the ledger. Raises `AblateError`."""
    reported = place.evidence()
    table = by_roles(trials_of(reported), AnalysisOptions())
    evidence = evidence_of(table, table.options.metrics(), table.options, place.name)
    line = line_of(table, evidence, source=str(place.path))
    return replace(line, report=place.name, date=reported.facts.reported, verdicts=verdicts_in(place))
