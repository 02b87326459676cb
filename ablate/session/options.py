"""The options of a run, and its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ablate.base.errors import Gather
from ablate.base.numerals import COUNT
from ablate.base.text import DEFAULT_RESULTS
from ablate.session.option import as_path, as_texts, check_options, option, options_in
from ablate.session.option_types import FolderType, SeedsType


def _seeds(given: Any) -> Any:
    """Returns a number of seeds, or each of them; what is neither is left to be refused."""
    to_list = getattr(given, "tolist", None)  # Arrays of numpy, pandas and torch have it.
    seeds = given if to_list is None else to_list()
    return tuple(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else seeds


def _sets(given: Sequence[str] | Mapping[str, Any]) -> Sequence[str]:
    """Returns changes to a study, each a `PATH=VALUE`."""
    if isinstance(given, Mapping):
        from ablate.study.files import as_sets

        return as_sets(given)
    return as_texts(given)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `ablate run`, `ablate sweep` and `ablate.run`."""

    jobs: int | None = option(
        None,
        "Number of worker processes; with 0, train in this process (default: one per core, or per GPU).",
        domain=COUNT,
        metavar="N",
    )
    engine: str = option(
        "local",
        "Where trials run: local, on this machine, or ray, on a cluster; see `ablate guide cluster`.",
        show_default=True,
        metavar="NAME",
    )
    seeds: int | Sequence[int] | None = option(
        None,
        "Number of seeds, or each of them, as in 0,3,7 (default: the study's).",
        in_python="Number of seeds, or a list of them (default: the study's).",
        read=_seeds,
        type=SeedsType(),
        metavar="N",
    )
    sets: Sequence[str] | Mapping[str, Any] = option(
        (),
        "Override a value of the study, for instance training.lr=0.01; may be repeated.",
        flag="--set",
        in_python='Override values of the study: `{"training.lr": 0.01}` or `["training.lr=0.01"]`.',
        texts=True,
        read=_sets,
        metavar="PATH=VALUE",
    )
    only: str | Sequence[str] = option(
        (),
        "Train only this variant and the baseline; may be repeated.",
        in_python="Train only this variant, or a list of them, and the baseline.",
        texts=True,
        report=True,
        metavar="VARIANT",
    )
    condition: str | Sequence[str] = option(
        (),
        "Train only in this condition, or on this task; may be repeated.",
        in_python="Train only in this condition, or on this task, or in each of a list of them.",
        texts=True,
        report=True,
        metavar="NAME",
    )
    seed: int | None = option(None, "Train only this seed.", domain=COUNT, report=True, metavar="N")
    confirm: bool = option(
        False, "Repeat what the study decided on new seeds, in a report of its own.", report=True
    )
    results: str | Path = option(
        DEFAULT_RESULTS,
        "Results folder.",
        read=lambda given: as_path(given, "results"),
        type=FolderType(path_type=Path, file_okay=False),
        show_default=True,
    )
    tracking_uri: str | None = option(
        None, "MLflow server or database (default: SQLite in the results folder).", metavar="URI"
    )
    fresh: bool = option(False, "Train finished trials again; searches are not repeated.")
    retrain: bool = option(False, "Train again the finished trials of which only the code has changed.")
    keep_finished: bool = option(
        False, "Use finished trials although their code has changed, and nothing else; the report says so."
    )
    fail_fast: bool = option(False, "Stop at the first failed trial.")
    keep_going: bool = option(
        False,
        "Go on where the first run, which is the baseline's, fails (default: stop, with exit code 1), and where a "
        "variant of your own code has the baseline's numbers.",
        in_python="Go on where the first run, which is the baseline's, fails (default: raise `AblateError`), and where "
        "a variant of your own code has the baseline's numbers.",
    )
    sweep: bool = option(
        False, "Search first, then judge the winners, as `ablate sweep` does.", flag=None, report=True
    )

    def __post_init__(self) -> None:
        """Raises `Invalid` for values that no run takes, as they may be in Python; the study judges the seeds."""
        seeds = self.seeds if isinstance(self.seeds, Sequence) else [self.seeds]
        with Gather() as at:
            with at():
                check_options(self)
            if self.seeds is not None and not all(seed in COUNT for seed in seeds):
                allowed = "a number of seeds, such as 5, or a list of seeds, such as [0, 3, 7]"
                at.refuse(True, "seeds", "must be whole numbers from 0", self.seeds, allowed)

    @property
    def forks(self) -> bool:
        """True where this process may be forked: it is a command, and no user's notebook."""
        return False

    @property
    def results_folder(self) -> Path:
        """The results folder, which Python may give as text."""
        return Path(self.results)

    @property
    def partial(self) -> bool:
        """True where only some of the trials are asked for."""
        return bool(self.only or self.condition) or self.seed is not None

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
        """The values of the options that change what a report holds, by name; those at their default included."""
        values = asdict(self)
        return {name: values[name] for name, declared in options_in(type(self)).items() if declared.report}


@dataclass(frozen=True, kw_only=True)
class RunCall(Options):
    """The options of a run that is a command."""

    @property
    def forks(self) -> bool:
        """True: the process is the command's own."""
        return True


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run."""

    folder: Path
    # Names of the trials that failed, with the reason.
    failed: list[str] = field(default_factory=list)
    trained: int = 0
    # Judged trials without a finished record.
    missing: int = 0
    # Variants that were trained no further, since they changed no number of the baseline's.
    stopped: list[str] = field(default_factory=list)
