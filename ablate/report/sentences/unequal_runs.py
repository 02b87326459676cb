"""Words for runs that trained for another length than the others of their variant, beside verdicts and in counts."""

from collections.abc import Mapping, Sequence

from ablate.core.facts import StudyFacts
from ablate.core.rows import list_in
from ablate.core.unequal_run import UnequalRun
from ablate.report.words import Column, Row, message, text

UNEQUAL = "unequal_runs"


def unequal_column(facts: StudyFacts, names: Mapping[str, str]) -> Column:
    """Returns the column of runs with an unequal budget, below the row of a comparison; `names`: those for readers."""
    return Column(UNEQUAL, "Unequal runs", below=True, show=lambda row: unequal_in_words(row, facts, names))


def unequal_in_words(row: Row, facts: StudyFacts, names: Mapping[str, str]) -> str:
    """Returns `unequal budget: seed 3 of gelu ended at step 600 of 1,000`; "" where all runs trained as long."""
    groups: dict[tuple[str, str, float, float], list[UnequalRun]] = {}
    for run in unequal_runs(row):
        groups.setdefault((run.variant, run.counted, run.reached, run.usual), []).append(run)
    sentences = []
    for (variant, counted, reached, usual), runs in groups.items():
        name = names.get(variant, variant)
        if facts.replication.has_numbers:
            numbers = [str(run.seed) for run in runs]
            which = message("treatment.numbers_of", facts.replication.run_name, numbers, name)
        else:
            which = message("treatment.runs_of", len(runs), name)
        code = "treatment.ended_early" if reached < usual else "treatment.ran_on"
        sentences.append(message(code, which, counted, f"{reached:.15g}", f"{usual:.15g}"))
    return message("treatment.unequal_runs", sentences) if sentences else ""


def unequal_runs(row: Row) -> list[UnequalRun]:
    """Returns the runs of a row that trained for another length than the others of their variant."""
    return list_in(text(row.get(UNEQUAL)), UnequalRun)


def of_which(rows: Sequence[Row]) -> str:
    """Returns `, of which 1 ended early`, for the number of runs on which some rows rest; "" where all are equal."""
    runs: dict[tuple[str, str, int], UnequalRun] = {}
    for row in rows:
        for run in unequal_runs(row):
            runs[run.variant, text(row["task"]), run.seed] = run
    if not runs:
        return ""
    have_ended = all(run.ended_early for run in runs.values())
    return message("treatment.of_which_early" if have_ended else "treatment.of_which_unequal", len(runs))
