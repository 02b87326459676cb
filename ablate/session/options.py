"""The options of a run, and its outcome."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.text import DEFAULT_RESULTS

if TYPE_CHECKING:
    from ablate.study.sections import Asked


class SeedsType(click.ParamType):
    """A number of seeds, or each of them: 5, or 0,3,7."""

    name = "seeds"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int | tuple[int, ...]:
        """Parses `5` as a number of seeds, and `0,3,7` as a list of seeds."""
        if isinstance(value, (int, tuple)):
            return value
        numbers = value.removesuffix(",").split(",")  # `7,` is the one seed 7
        are_numbers = all(number.strip().isdecimal() for number in numbers)
        if value == "0" or not are_numbers:
            self.fail(
                f"{value!r} is neither a number of seeds, such as 5, nor a list of seeds, such as 0,3,7"
            )
        if "," not in value:
            return int(value)
        return tuple(int(number) for number in numbers)


class FolderType(click.Path):
    """A folder, which may not exist yet, by a name that is not empty; an empty one would be the current folder."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Returns the path; refuses an empty name, and what is there and is no folder."""
        if value == "":
            self.fail("must name a folder; given ''; allowed: any folder, '.' for the current one")
        path = super().convert(value, parameter, context)
        if os.path.lexists(path) and not os.path.isdir(path):
            kind = "a link that leads to no folder" if os.path.islink(path) else "no folder"
            self.fail(f"{value!r} is {kind}; name another")
        return path


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
            type=click.IntRange(0),
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
        metadata=option("--seed", "Train only this seed.", report=True, type=click.IntRange(0), metavar="N"),
    )
    confirm: bool = field(
        default=False,
        metadata=option(
            "--confirm",
            "Repeat what the study found, on seeds that it has not used, beside its report.",
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
            "Train finished trials again whose code, and nothing else, has changed.",
            is_flag=True,
        ),
    )
    keep_finished: bool = field(
        default=False,
        metadata=option(
            "--keep-finished",
            "Use finished trials whose code, and nothing else, has changed; the report says so.",
            is_flag=True,
        ),
    )
    fail_fast: bool = field(
        default=False, metadata=option("--fail-fast", "Stop at the first failed trial.", is_flag=True)
    )
    sweep: bool = field(
        default=False,
        metadata=option("", "Search first, and judge what was found: `ablate sweep`.", report=True),
    )

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
