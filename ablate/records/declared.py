"""`claims.csv`: when each claim of a study was first declared, written before the first trial."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from ablate.base.clock import now
from ablate.base.errors import AblateError
from ablate.base.files import write_text
from ablate.core.claim import Claim

WAITING = "not judged yet"
COLUMNS = ("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory")


def declare(path: Path, claims: Sequence[Claim], has_results: Callable[[Claim], bool]) -> list[Claim]:
    """The claims with their dates: that of `path` where it knows them, else now.

    `claims` are all of the study, also those that a run cannot settle. A claim that is new while there are results
    that it could have been read from is exploratory. Claims without a verdict yet are written to `path`, so that
    their date stands before any result; claims that the study has no more are taken out.
    """
    known = {row["hash"]: row for row in read_claims(path)}
    facts = []
    for claim in claims:
        row = known.get(claim.hash)
        date = row["declared"] if row else now()
        late = row["exploratory"] == "True" if row else has_results(claim)
        facts.append(replace(claim, declared=date, exploratory=late))
    if known.keys() != {claim.hash for claim in claims}:
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        for fact in facts:
            row = known.get(fact.hash, {"reason": WAITING})
            dated = {"hash": fact.hash, "declared": fact.declared, "exploratory": fact.exploratory}
            writer.writerow(row | {"claim": fact.text} | dated)
        write_text(path, buffer.getvalue())
    return facts


def waiting(path: Path, judged: Collection[str]) -> list[dict[str, str]]:
    """The rows of `path` whose hash is not `judged`, without a verdict: their dates stand until they are."""
    kept = ("claim", "hash", "declared", "exploratory")
    rows = [row for row in read_claims(path) if row["hash"] not in judged]
    return [{name: row[name] for name in kept} | {"reason": WAITING} for row in rows]


def read_claims(path: Path) -> list[dict[str, str]]:
    """The rows of a claims file; none when it does not exist."""
    if not path.is_file():
        return []
    wrong = AblateError(f"{path}: is not a table of claims; restore it, or take it away to declare anew")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if not set(COLUMNS) <= set(reader.fieldnames or ()):
                raise wrong
            return list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise wrong from error
