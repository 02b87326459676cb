"""The facts that a stage keeps with the evidence of a study: a class for each stage, by which they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import ConfigDict

from ablate.base.kept import schema_of

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True)
class StageFacts:
    """Base of the facts of a stage; a subclass is a frozen dataclass, at or below `analysis`."""

    # Kept facts with another key are of another version.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    key: ClassVar[str]
    """The name of the facts, and of the frame beside them, in files."""
    columns: ClassVar[Sequence[str]] = ()
    """The columns that the frame has in every study; none where there is no frame."""

    @classmethod
    def read(cls, plain: object) -> Self:
        """Returns the facts in plain data, as files have them. Raises `ValidationError`."""
        return schema_of(cls).validate_python(plain)

    def plain(self) -> dict[str, Any]:
        """Returns the facts as files have them."""
        return asdict(self)


REMEDY = "Restore the report, or run the study again, which replaces it"
"""The way out where facts, or the frame beside them, are not what a stage keeps."""
FactsT = TypeVar("FactsT", bound=StageFacts)
