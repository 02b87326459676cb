"""The tables of an atlas: how much repeats, the claims of a card, and what was decided otherwise, or not at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ablate.analysis.replication import EXPECTED_Z, ReplicationStatistics
from ablate.base import wording
from ablate.core.facts import StudyFacts
from ablate.core.reason import Reason
from ablate.core.short_names import short_claim, short_names
from ablate.report.atlas.by_construction import Constructed
from ablate.report.atlas.published import NOT_CONFIRMED, ClaimsOfStudies, PublishedClaim, PublishedStudy
from ablate.report.sentences.improving_words import improving_column
from ablate.report.sentences.levels import level_of, levels_in_words
from ablate.report.sentences.reason_words import because
from ablate.report.tables.directions import direction_of
from ablate.report.tables.trends import trend_difference
from ablate.report.tables.verdicts import difference_of, names_of, row_name
from ablate.report.words import NOTHING, Column, Row, Table, count, message, tabulated, text

BEYOND = 4
"""How many times the seeds that it has a claim may need and still be called open: with more it is out of reach."""
NOT_BY_SEEDS = ("examples", "pool", "seedless")
"""The reasons of claims that no number of seeds decides."""


def constructed_table(statements: Sequence[Constructed]) -> Table:
    """Returns what proofs and counts decide, with their tests, and the ids of what was trained all the same."""
    columns = [
        Column("says", "The notes say"),
        Column("because", "Decided, because"),
        Column("test", "Test"),
        Column("claims", "Trained all the same"),
    ]
    return tabulated(columns, [vars(statement) for statement in statements])


def replication_table(statistics: ReplicationStatistics, claims: Sequence[PublishedClaim]) -> Table:
    """Returns the table of how many first verdicts fresh seeds gave again, and how far both estimates lie apart.

    statistics: of the comparisons of variants, of which some carry no claim. claims: those of the atlas.
    """
    outcomes = [claim.confirmation for claim in claims if claim.confirmation in ("confirmed", NOT_CONFIRMED)]
    confirmed = message("atlas.share", outcomes.count("confirmed"), len(outcomes))
    repeated = message("atlas.share", statistics.differences_repeated, statistics.differences)
    signs = message("atlas.share", statistics.signs_kept, statistics.differences)
    equivalent = message("atlas.share", statistics.equivalences_repeated, statistics.equivalences)
    apart = message("atlas.expected", _decimal(statistics.mean_z), _decimal(EXPECTED_Z))
    rows = [
        {"what": message("atlas.confirmed"), "result": confirmed},
        {"what": message("atlas.repeated"), "result": repeated},
        {"what": message("atlas.signs"), "result": signs},
        {"what": message("atlas.equivalences"), "result": equivalent},
        {"what": message("atlas.ratio"), "result": _decimal(statistics.median_ratio)},
        {"what": message("atlas.apart", statistics.num_z), "result": apart},
    ]
    columns = [Column("what", "On fresh seeds, tuned again"), Column("result", "Result", True)]
    return tabulated(columns, rows)


def _decimal(value: float) -> str:
    """Returns a number to two decimals; `NOTHING` where it is not known."""
    return NOTHING if math.isnan(value) else wording.number(value, 2)


def claims_table(study: PublishedStudy, claims: Sequence[PublishedClaim]) -> Table:
    """Returns a row for each claim of a card: its verdict, where it holds, its difference, and what weakens it."""
    level = levels_in_words([claim.level for claim in claims])
    rows = [_claim_cells(study, claim) for claim in claims]
    columns = [
        Column("id", "Id"),
        Column("words", "Claim"),
        Column("verdict", "Verdict"),
        Column("conditions", "In"),
        Column("difference", f"Difference [{level}]", True),
        Column("n", "n", True),
        improving_column(rows, study.facts, _names_of_sides(study.facts)),
        Column("reason", "Reason"),
    ]
    return tabulated(columns, rows)


def _names_of_sides(facts: StudyFacts) -> dict[str, str]:
    """Returns variant → its name for readers.

    In a study of one factor a baseline without a label has the name of its level.
    """
    names = short_names(facts)
    baseline = facts.variants[0].name
    if len(facts.factors) == 1 and baseline not in facts.labels:
        ((path, (level, *_)),) = facts.factors.items()
        names[baseline] = names_of(facts)[f"{path}={level}"]
    return names


def _claim_cells(study: PublishedStudy, claim: PublishedClaim) -> Row:
    """Returns what a table says of a claim, by column, with the rest of its row."""
    is_open = claim.row.verdict == "inconclusive"
    return {
        **vars(claim.row),
        "id": claim.id,
        "words": text(short_claim(claim.row.claim, study.facts)),
        "verdict": claim.verdict,
        "conditions": verdicts_in_conditions(claim),
        "difference": _difference_with_condition(study, claim),
        "n": count(claim.row.n),
        "level": levels_in_words([claim.level]),
        "reason": reason_in_words(study, claim) if is_open else "",
    }


def _difference_with_condition(study: PublishedStudy, claim: PublishedClaim) -> str:
    """Returns the difference of a claim; where it is judged in several conditions, with the one that decides."""
    difference = difference_of(vars(claim.row), direction_of(study.facts, claim.row.task, claim.row.metric))
    if len(claim.in_conditions) < 2:
        return difference
    return message("atlas.difference", difference, claim.row.task)


def verdicts_in_conditions(claim: PublishedClaim) -> str:
    """Returns where a claim holds, as `short: supported (fresh seeds: refuted), long: inconclusive`.

    Verdicts on fresh seeds are shown beside those that are decided. Of a claim with one condition its name is returned.
    """
    if len(claim.in_conditions) == 1:
        return claim.in_conditions[0].task
    verdicts = []
    for row in claim.in_conditions:
        fresh = "" if row.verdict == "inconclusive" else claim.fresh_verdicts.get(row.task, "")
        verdicts.append(message("atlas.in_condition", row.task, row.verdict, fresh))
    return ", ".join(verdicts)


def reason_in_words(study: PublishedStudy, claim: PublishedClaim) -> str:
    """Returns the reason of a claim in words; over several conditions it says that the seeds are those of each."""
    words = because(claim.row.reason, unit=study.facts.replication.run_name)
    parsed = Reason.parse(claim.row.reason)
    names_seeds = parsed is not None and parsed.code == "open" and bool(parsed.numbers)
    if names_seeds and len(claim.in_conditions) > 1:
        return message("atlas.in_each_condition", words)
    return words


def trend_lines(study: PublishedStudy) -> list[str]:
    """Returns a sentence on each trend of a study: by how much a difference grows along its conditions.

    Trends that have a reason are left out, as where one side is at the end of its range.
    """
    names = names_of(study.facts)
    return [_trend_line(row, study, row_name(row, names)) for row in study.trends if not row["reason"]]


def _trend_line(row: Row, study: PublishedStudy, name: str) -> str:
    """Returns the sentence on one trend; `name`: that of its variant for readers."""
    difference = trend_difference(row, study.facts)
    return message("atlas.trend", name, text(row["metric"]), difference, text(row["along"]), level_of([row]))


def is_out_of_reach(claim: PublishedClaim) -> bool:
    """Returns whether a claim is open and takes far more seeds than it has, or something else than seeds."""
    reason = Reason.parse(claim.row.reason)
    if claim.row.verdict != "inconclusive" or reason is None:
        return False
    if reason.code in NOT_BY_SEEDS:
        return True
    needed = reason.numbers.get("seeds", 0.0)
    return reason.code == "open" and needed > BEYOND * claim.row.n


def out_of_reach_table(claims: ClaimsOfStudies) -> Table:
    """Returns the claims that are out of reach, with the seeds that they have and what they would take."""
    columns = [
        Column("id", "Id"),
        Column("words", "Claim"),
        Column("difference", "Difference", True),
        Column("level", "Level", True),
        Column("n", "n", True),
        Column("reason", "Not decided, because"),
    ]
    return tabulated(columns, [_claim_cells(study, claim) for study, claim in claims])
