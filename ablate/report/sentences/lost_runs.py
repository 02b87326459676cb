"""Words about runs without a result: the pairs that a comparison leaves out, and what that assumes."""

import itertools
from collections.abc import Iterator, Sequence

from ablate.core.facts import StudyFacts
from ablate.core.provenance import LostRun
from ablate.report.words import Column, Row, message, text


def left_out_column(facts: StudyFacts) -> Column:
    """Returns the column of left-out pairs, below the row of a comparison."""
    return Column("left_out", "Left out", below=True, show=lambda row: left_out(row, facts))


def left_out_of_claims_column(facts: StudyFacts) -> Column:
    """Returns the column of left-out pairs, below the row of a claim."""
    return Column("left_out", "Left out", below=True, show=lambda row: left_out_of_claim(row, facts))


def left_out(row: Row, facts: StudyFacts) -> str:
    """Returns `7 of 8 (seed 3 crashed); …`: the pairs or runs that a comparison leaves out; "" where none is."""
    return _left_out([text(row["variant"]), text(row["baseline"])], text(row["task"]), facts)


def left_out_of_claim(row: Row, facts: StudyFacts) -> str:
    """Returns the pairs or runs that the claim of a row leaves out, as `left_out` does; "" where none is."""
    claims = [claim for claim in facts.claims if claim.text == text(row["claim"])]
    return _left_out(claims[0].variants, text(row["task"]), facts) if claims else ""


def _left_out(sides: Sequence[str], task: str, facts: StudyFacts) -> str:
    """Returns the pairs or runs that a comparison of variants leaves out on a task; "" where none is."""
    runs = {side: facts.lost_of(side, task) for side in sides}
    lost = [*itertools.chain(*runs.values())]
    if not lost:
        return ""
    given = [{*facts.seeds_of(side, task), *(run.seed for run in runs[side])} for side in sides]
    pairs = set.intersection(*given)
    if facts.replication.has_numbers and len(pairs) > 1:
        lost = [run for run in lost if run.seed in pairs]
        if not lost:
            return ""
        lost_seeds = {run.seed for run in lost}
        counts = message("analyse.of", len(pairs) - len(lost_seeds), len(pairs), list(_reasons(lost, facts)))
    else:
        counts = "; ".join(_of_side(side, task, facts) for side in sides if runs[side])
    reasons = {run.why for run in lost}
    return message("analyse.left_out_crashed" if reasons == {"crashed"} else "analyse.left_out", counts)


def _of_side(side: str, task: str, facts: StudyFacts) -> str:
    """Returns `4 of 5 of wide (seed 3 crashed)`: the number of runs of a variant that have a result."""
    lost = facts.lost_of(side, task)
    ended = len(facts.seeds_of(side, task))
    return message("analyse.of", ended, ended + len(lost), list(_reasons(lost, facts)))


def reason_of(why: str, source: str) -> str:
    """Returns why a run has no result, with what says so where that says more: `failed: error.txt`."""
    word = why.rpartition(" ")[2]
    return why if not source or word in source.lower() else f"{why}: {source}"


def _reasons(runs: Sequence[LostRun], facts: StudyFacts) -> Iterator[str]:
    """Yields `seeds 3 and 5 crashed` for each variant and reason, or `2 crashed` where their numbers say nothing."""
    groups: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        groups.setdefault((run.variant, reason_of(run.why, run.source)), []).append(run.seed)
    baseline = facts.variants[0].name
    for (variant, why), seeds in groups.items():
        label = facts.labels.get(baseline, baseline) if variant == baseline else ""
        if facts.replication.has_numbers:
            yield message("analyse.numbers_lost", facts.replication.run_name, seeds, label, why)
        else:
            yield message("analyse.runs_lost", len(seeds), label, why)
