"""The gate that the claims of a report must pass, with `--gate`."""

from collections.abc import Mapping, Sequence

from ablate.analysis.judge import DECIDED_CLAIM

# Exit codes; a refuted claim wins over one that is open.
PASSED = 0
REFUTED = 1
OPEN = 3


def pass_gate(claims: Sequence[Mapping[str, str]], *, strict: bool) -> tuple[int, list[str]]:
    """Returns an exit code for rows of `claims.csv`, and a line for each claim that does not pass.

    Exploratory claims count like the others: a build that rests on a claim should not pass because the claim came late.

    strict: a claim that is incomplete or not judged yet is as open as an inconclusive one.
    """
    if not claims:
        return PASSED, ["note: the study makes no claim that could be refuted."]
    refuted = [row for row in claims if row["verdict"] == "refuted"]
    still_open: list[Mapping[str, str]] = []
    if strict:
        still_open = [row for row in claims if row["verdict"] not in DECIDED_CLAIM]
    lines = [_line(row) for row in (*refuted, *still_open)]
    if refuted:
        return REFUTED, lines
    if still_open:
        return OPEN, lines
    return PASSED, lines


def _line(row: Mapping[str, str]) -> str:
    outcome = row["verdict"] or row["reason"]
    if row["exploratory"] == "True":
        outcome += " (exploratory)"
    return f"{outcome}: {row['claim']}"
