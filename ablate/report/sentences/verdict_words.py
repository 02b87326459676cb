"""The verdict of a comparison in words; beside `equivalent`, the difference if its interval excludes 0."""

from ablate.core.facts import StudyFacts
from ablate.report.words import Column, Row, decimals_beside_0, fixed, interval, message, number, text

BETTER = "better"
WORSE = "worse"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"


def verdict_column(facts: StudyFacts) -> Column:
    """Returns the column of the verdicts of comparisons."""
    return Column("verdict", "Verdict", words=True, show=lambda row: verdict_of(row, facts))


def verdict_of(row: Row, facts: StudyFacts) -> str:
    """Returns the verdict of a row: `equivalent (better by 0.010 [0.003, 0.018], within 0.02)`, or its word alone."""
    word = text(row["verdict"])
    apart = apart_from_zero(row)
    if word != EQUIVALENT or not apart or facts.margin is None:
        return word
    return message("verdicts.equivalent_but", apart, facts.margin)


def apart_from_zero(row: Row) -> str:
    """Returns `better by 0.010 [0.003, 0.018]`, or `worse by …`; "" where the interval holds 0.

    The numbers of a row are oriented: above 0 the variant is better, whatever the direction of its metric.
    """
    diff = number(row.get("diff"))
    low = number(row.get("ci_low"))
    high = number(row.get("ci_high"))
    if diff is None or low is None or high is None or low <= 0 <= high:
        return ""
    places = decimals_beside_0(low, high)
    size = fixed(abs(diff), places)
    if low > 0:
        return message("verdicts.better_by", size, interval(low, high, places))
    return message("verdicts.worse_by", size, interval(-high, -low, places))


def verdict_parts(words: str) -> tuple[str, str]:
    """Returns the word of a verdict, and the rest of it with the blank before."""
    word, blank, rest = words.partition(" ")
    return word, blank + rest
