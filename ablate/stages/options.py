"""How a study is run, and how that ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.typed import DEFAULT_RESULTS

if TYPE_CHECKING:
    from ablate.study.sections.seeds import Asked


@dataclass(frozen=True)
class Options:
    """The options of `ablate run` and `ablate sweep`."""

    results: Path = DEFAULT_RESULTS
    jobs: int | None = None
    "Worker processes; 0: in this process; None: one a core, or one a GPU."
    seeds: Asked = None
    "Number of seeds, or each of them, instead of the study's."
    sets: Sequence[str] = ()
    "`PATH=VALUE` changes to the study."
    only: Sequence[str] = ()
    "Train only these variants, and the baseline; the report uses every trial in the store."
    seed: int | None = None
    "Train only this seed."
    tracking_uri: str | None = None
    "Where MLflow keeps its runs; None: SQLite in the store."
    fresh: bool = False
    "Train again the trials that are in the store; searches are not repeated."
    fail_fast: bool = False
    "Stop at the first failed trial."
    sweep: bool = False
    "Search first, and judge what was found."

    confirm: bool = False
    "Repeat what the study found, on seeds that it has not seen."

    @property
    def partial(self) -> bool:
        """Whether only some of the trials are asked for."""
        return bool(self.only) or self.seed is not None


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    folder: Path
    failed: list[str] = field(default_factory=list)
    "Names of the trials that failed, with the reason."
    trained: int = 0
    missing: int = 0
    "Planned trials that were not asked for, with `only` or `seed`."
