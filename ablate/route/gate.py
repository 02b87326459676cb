"""Whether the claims of a report let it pass: `--gate` and `--strict`.

Exploratory claims count like the others, and are named as such: a build that rests on a claim should not pass because
the claim came late. With `--strict`, a claim that is incomplete or not judged yet is as open as an inconclusive one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

REFUTED, OPEN = 1, 3
"""Exit codes; a refuted claim wins over one that is open."""


def pass_gate(claims: Sequence[Mapping[str, str]], *, strict: bool) -> tuple[int, list[str]]:
    """The exit code that the rows of `claims.csv` ask for, and a line for each claim that does."""
    if not claims:
        return 0, ["note: the study makes no claim that could be refuted."]
    refuted = [row for row in claims if row["verdict"] == "refuted"]
    still_open = [row for row in claims if strict and row["verdict"] not in ("supported", "refuted")]
    lines = [f"{_verdict(row)}: {row['claim']}" for row in (*refuted, *still_open)]
    return REFUTED if refuted else OPEN if still_open else 0, lines


def _verdict(row: Mapping[str, str]) -> str:
    verdict = row["verdict"] or row["reason"] or "not judged yet"
    return f"{verdict} (exploratory)" if row["exploratory"] == "True" else verdict
