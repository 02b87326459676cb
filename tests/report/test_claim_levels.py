"""The level that stands above the intervals of claims is the one at which they were judged."""

from pathlib import Path

import pytest

from ablate import load
from ablate.analysis.claims import judged_claims
from ablate.analysis.runs import runs_of
from ablate.records.folder import StudyFolder
from ablate.report.sentences.levels import level_of_claims
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import level_word

ATLAS = Path(__file__).parents[2] / "results" / "atlas"


@pytest.mark.parametrize("study", ["02-cost", "16-cross", "17-mlps"])
def test_a_table_of_claims_names_the_level_of_their_intervals(study):
    folder = StudyFolder(ATLAS, study)
    evidence = load(folder.path).evidence
    (level,) = {judged.level for judged in judged_claims(runs_of(evidence))}
    assert level_of_claims(planned_rows(folder.comparisons()), evidence.facts) == f"{level_word(level)} %"
