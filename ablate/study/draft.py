"""A study whose mistakes of meaning are looked for."""

from dataclasses import dataclass, field

from ablate.core.workload import Workload
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
