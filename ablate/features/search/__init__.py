"""`search:` with `ablate sweep`, and `tune:`: searches with Optuna, on equal budgets, for what is then judged."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ablate.core.feature import Feature


class SearchFeature(
    Feature,
    grammar="section:GRAMMAR",
    check="spec:check_searches",
    names="section:names",
    settles="stage:settles",
    settle="stage:settle",
    at_most="stage:at_most",
    begun="stage:begun",
    more="stage:more",
    frames="stage:frames",
    facts="stage:facts",
    plan="stage:plan",
    account="table:account",
    export="stage:export",
):
    """A sweep searches from the baseline, and tuning for every variant; what they choose is judged on other seeds."""

    after: ClassVar[Sequence[str]] = ("probe",)
    repeats: ClassVar[str] = "tuning"
    by_path: ClassVar[Sequence[str]] = ("search.over", "tune.over")

    def varies(self, study: Any) -> Mapping[str, Sequence[str]]:
        """The paths that are searched."""
        return {
            name: [*section.over]
            for name in ("search", "tune")
            if (section := study.section(name)) is not None
        }
