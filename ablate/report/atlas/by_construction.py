"""Statements that a proof or a count decides, from the CSV file that lists them beside an atlas."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path

from ablate.base.errors import AblateError, Problem, nearest
from ablate.records.tables import numbered_rows


@dataclass(frozen=True)
class Constructed:
    """A statement that a proof or a count decides, with the test that holds it: the columns of the file."""

    says: str
    """The statement of the notes."""
    because: str
    """The reason for which no training is needed to decide it."""
    test: str
    """Path of the test, from the top of the repository."""
    claims: str
    """Ids of trained claims that follow from it, with a blank between them; empty where nothing was trained."""

    @property
    def claim_ids(self) -> list[str]:
        """The ids of the trained claims that follow from it."""
        return self.claims.split()


def read_constructed(path: Path, known: Collection[str]) -> list[Constructed]:
    """Returns the statements of a CSV file with the columns of `Constructed`; none where there is no file.

    known: the ids of all claims of the atlas. Raises `AblateError`, also for each id that is none of them.
    """
    columns = [field.name for field in fields(Constructed)]
    statements = []
    problems = []
    for line, row in numbered_rows(path, columns):
        statement = Constructed(**{column: row[column] for column in columns})
        statements.append(statement)
        unknown = [claim_id for claim_id in statement.claim_ids if claim_id not in known]
        problems += [_unknown_id(path, line, claim_id, known) for claim_id in unknown]
    if problems:
        raise AblateError("\n".join(str(problem) for problem in problems))
    return statements


def _unknown_id(path: Path, line: int, claim_id: str, known: Collection[str]) -> Problem:
    """Returns the problem of an id on a line of the file that no claim has."""
    return Problem(
        "is the id of no claim of this atlas",
        ("claims",),
        claim_id,
        hint=nearest(claim_id, known) or "Run its study, or remove the id",
        line=line,
        source=str(path),
    )
