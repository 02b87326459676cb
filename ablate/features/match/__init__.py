"""`match:` gives every variant as much of one quantity as the baseline has, by changing the value at one path."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ablate.core.feature import Feature


class MatchFeature(
    Feature,
    grammar="section:GRAMMAR",
    check="matcher:check_match",
    narrow="matcher:narrow",
    facts="sections.matched:facts",
    plan="sections.matched:plan",
):
    """Parameters, FLOPs or the compute of training; whatever a search or a path tries is matched too."""

    after: ClassVar[Sequence[str]] = ("confirm",)

    def varies(self, study: Any) -> Mapping[str, Sequence[str]]:
        """The path that is changed."""
        section = study.section("match")
        return {"match": [section.by]} if section is not None else {}
