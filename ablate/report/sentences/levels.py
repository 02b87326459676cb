"""The levels of the intervals of a study, in words; imports neither pandas nor matplotlib."""

from collections.abc import Sequence

from ablate.analysis.chances import NOMINAL, weights
from ablate.core.derived import DERIVED
from ablate.core.facts import StudyFacts
from ablate.report.words import Row, level_word, message, number


def family(rows: Sequence[Row], looks: int) -> int:
    """Returns the number of verdicts that share the level, as the levels of a study's rows tell it; 1 without any.

    It is M of the level 1 − 0.05·w/M of a row, where w, the share of its look, is k times that of the first at look k.
    looks: their number; 0 without any.
    """
    shares = []
    for row in rows:
        level = number(row.get("level"))
        if level is not None and level < 1:
            shares.append((1 - level) / (number(row.get("look")) or 1))
    return round(NOMINAL * weights(looks or 1)[0] / max(shares)) if shares else 1


def family_in_words(num_comparisons: int, size: int, kind: str = "comparison") -> str:
    """Returns `3 comparisons and 2 claims`, the members of a family of this size; kind: what the comparisons are."""
    return message("verdicts.family", num_comparisons, max(0, size - num_comparisons), kind)


def level_of(rows: Sequence[Row]) -> str:
    """Returns `99.3 %`, the level of the intervals of some rows; `95 to 97.5 %` where they stopped at other looks."""
    levels = [number(row.get("level")) for row in rows]
    known = [level for level in levels if level is not None]
    return levels_in_words(known or [1 - NOMINAL])


def level_of_claims(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the level of the intervals of claims in a study with these planned rows.

    With looks it is the range over all of them, since each claim stops by itself.
    """
    # Of a study that is only measured, no comparison says its level.
    if facts.family == "all" and rows:
        if not facts.plan.looks:
            return level_of(rows)
        size = family(rows, len(facts.plan.looks))
    else:
        from ablate.analysis.family import family_size  # Loads numpy, which few studies need here.

        size = max(1, family_size(facts))
    levels = [1 - NOMINAL * weight / size for weight in weights(len(facts.plan.looks) or 1)]
    if any(claim.metric in DERIVED and DERIVED[claim.metric].kind == "ratio" for claim in facts.claims):
        levels.append(1 - NOMINAL / size)  # What is measured is looked at once.
    return levels_in_words(levels)


def levels_in_words(levels: Sequence[float]) -> str:
    """Returns `99.3 %`, or `95 to 97.5 %` where the levels differ; of at least one."""
    ends = dict.fromkeys(level_word(level) for level in (min(levels), max(levels)))
    return f"{' to '.join(ends)} %"
