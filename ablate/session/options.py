"""The options of a run, and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import Gather
from ablate.base.numerals import COUNT
from ablate.base.text import DEFAULT_RESULTS
from ablate.session.option_types import FolderType, NumberType, SeedsType

if TYPE_CHECKING:
    from ablate.study.sections import Asked


def option(flag: str, text: str, *, report: bool = False, **settings: Any) -> dict[str, Any]:
    """Returns the metadata of a field of `Options`, from which commands make their click options.

    The order of the fields is that of the options. flag: of the command line. text: its help. settings: of the click
    option.

    report: whether the option changes the report of a document. Then it is in the name of the report's folder, and in
    the digest by which a report is known to be up to date, as is what `--set` and `--seeds` change of the document.
    """
    return {"flag": flag, "report": report, "click": {"help": text} | settings}


@dataclass(frozen=True)
class Options:
    """The options of `ablate run` and `ablate sweep`."""

    jobs: int | None = field(
        default=None,
        metadata=option(
            "--jobs",
            "Number of worker processes; with 0, train in this process (default: one per core, or per GPU).",
            type=NumberType(COUNT),
            metavar="N",
        ),
    )
    engine: str = field(
        default="local",
        metadata=option(
            "--engine",
            "Where trials run: local, on this machine, or ray, on a cluster; see `ablate guide cluster`.",
            default="local",
            show_default=True,
            metavar="NAME",
        ),
    )
    seeds: Asked = field(
        default=None,
        metadata=option(
            "--seeds",
            "Number of seeds, or each of them, as in 0,3,7 (default: the study's).",
            type=SeedsType(),
            metavar="N",
        ),
    )
    sets: Sequence[str] = field(
        default=(),
        metadata=option(
            "--set",
            "Override a value of the study, for instance training.lr=0.01; may be repeated.",
            multiple=True,
            metavar="PATH=VALUE",
        ),
    )
    only: Sequence[str] = field(
        default=(),
        metadata=option(
            "--only",
            "Train only this variant and the baseline; may be repeated.",
            report=True,
            multiple=True,
            metavar="VARIANT",
        ),
    )
    seed: int | None = field(
        default=None,
        metadata=option("--seed", "Train only this seed.", report=True, type=NumberType(COUNT), metavar="N"),
    )
    confirm: bool = field(
        default=False,
        metadata=option(
            "--confirm",
            "Repeat what the study decided on new seeds, in a report of its own.",
            report=True,
            is_flag=True,
        ),
    )
    results: Path = field(
        default=DEFAULT_RESULTS,
        metadata=option(
            "--results",
            "Results folder.",
            type=FolderType(path_type=Path, file_okay=False),
            default=DEFAULT_RESULTS,
            show_default=True,
        ),
    )
    tracking_uri: str | None = field(
        default=None,
        metadata=option(
            "--tracking-uri",
            "MLflow server or database (default: SQLite in the results folder).",
            metavar="URI",
        ),
    )
    fresh: bool = field(
        default=False,
        metadata=option("--fresh", "Train finished trials again; searches are not repeated.", is_flag=True),
    )
    retrain: bool = field(
        default=False,
        metadata=option(
            "--retrain",
            "Train again the finished trials of which only the code has changed.",
            is_flag=True,
        ),
    )
    keep_finished: bool = field(
        default=False,
        metadata=option(
            "--keep-finished",
            "Use finished trials although their code has changed, and nothing else; the report says so.",
            is_flag=True,
        ),
    )
    fail_fast: bool = field(
        default=False, metadata=option("--fail-fast", "Stop at the first failed trial.", is_flag=True)
    )
    keep_going: bool = field(
        default=False,
        metadata=option(
            "--keep-going",
            "Go on where the first run, which is the baseline's, fails (default: stop, with exit code 1).",
            is_flag=True,
        ),
    )
    sweep: bool = field(
        default=False,
        metadata=option("", "Search first, then judge the winners: `ablate sweep`.", report=True),
    )
    forks: bool = field(
        default=False,
        metadata=option("", "Whether this process may be forked: it is a command, and no user's notebook."),
    )

    def __post_init__(self) -> None:
        """Raises `Invalid` for values that no run takes, as they may be in Python; the study judges the seeds."""
        seeds = self.seeds if isinstance(self.seeds, Sequence) else [self.seeds]
        with Gather() as at:
            for name, number in (("jobs", self.jobs), ("seed", self.seed)):
                if number is not None:
                    with at():
                        COUNT.check(name, number)
            for name in ("sets", "only"):
                texts = getattr(self, name)
                is_list = isinstance(texts, (list, tuple)) and all(isinstance(text, str) for text in texts)
                at.refuse(not is_list, name, "must be a list of texts", texts)
            for each in fields(self):
                value = getattr(self, each.name)
                if isinstance(each.default, bool):
                    at.refuse(not isinstance(value, bool), each.name, "must be true or false", value)
            if self.seeds is not None and not all(seed in COUNT for seed in seeds):
                allowed = "a number of seeds, such as 5, or a list of seeds, such as [0, 3, 7]"
                at.refuse(True, "seeds", "must be whole numbers from 0", self.seeds, allowed)

    @property
    def partial(self) -> bool:
        """True where only some of the trials are asked for."""
        return bool(self.only) or self.seed is not None

    def overrides(self) -> list[str]:
        """Returns what the name of a report's folder has of the options, as `NAME=VALUE`.

        The document has what `--set` and `--seeds` change, a confirmation has a name of its own, and the report of a
        search is that of its study.
        """
        overrides: list[str] = []
        for name, value in self.report_options.items():
            if name in ("confirm", "sweep") or value is None:
                continue
            values = sorted(set(value)) if isinstance(value, (list, tuple)) else [value]
            overrides += [f"{name}={each}" for each in values]
        return overrides

    @property
    def report_options(self) -> dict[str, Any]:
        """The options that change the report of a document, by name."""
        values = asdict(self)
        return {field.name: values[field.name] for field in fields(self) if field.metadata["report"]}


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run."""

    folder: Path
    # Names of the trials that failed, with the reason.
    failed: list[str] = field(default_factory=list)
    trained: int = 0
    # Judged trials without a finished record.
    missing: int = 0
