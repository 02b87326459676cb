"""A study whose mistakes of meaning are looked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ablate.core.workload import Workload
from ablate.study.conditions import Condition
from ablate.study.designs import Design, Resolve
from ablate.study.document import Document
from ablate.study.schema import StudyConfig
from ablate.study.stage_config import StageOutline


@dataclass(frozen=True)
class Draft:
    """A study whose mistakes of meaning are looked for."""

    workload: Workload
    config: StudyConfig
    design: Design
    resolve: Resolve
    document: Document
    # What its stages will add.
    outline: StageOutline = field(default_factory=StageOutline)
    # In each of which every variant has a config.
    conditions: Sequence[Condition] = ()

    @property
    def tasks(self) -> list[str]:
        """The names of its conditions, as the column `task` of tables has them."""
        return [condition.name for condition in self.conditions]
