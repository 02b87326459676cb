"""The route from a study file to its report, composed; also the Python API."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.collector import uncollected
from ablate.base.errors import Problem, StudyError
from ablate.core.evidence import Evidence
from ablate.stages.publish import print_results

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Console

    from ablate.core.cell import Cell
    from ablate.core.searched import Searched
    from ablate.execution.pool import Standby
    from ablate.records.store import Store
    from ablate.stages.session import Course, Outcome, Session
    from ablate.study.experiment import Experiment


@dataclass(frozen=True)
class Options:
    """How a study is run; the options of `ablate run`."""

    results: Path = Path("results")
    jobs: int | None = None
    "Worker processes; 0: in this process; None: one a core, or one a GPU."
    seeds: int | None = None
    "Number of seeds, instead of the study's."
    sets: Sequence[str] = ()
    "`PATH=VALUE` changes to the study."
    only: Sequence[str] = ()
    "Train only these variants, and the baseline; the report uses all that is there."
    seed: int | None = None
    "Train only this seed."
    tracking_uri: str | None = None
    "Where MLflow keeps its runs; None: SQLite in the store."
    fresh: bool = False
    "Train again what is in the store; what a search has tried and chosen stands."
    fail_fast: bool = False
    "Stop at the first failed trial."
    sweep: bool = False
    "Search first, and judge what was found."


@dataclass(frozen=True)
class Results:
    """A study's results folder: frames, verdicts and facts."""

    folder: Path
    evidence: Evidence
    comparisons: pd.DataFrame
    claims: pd.DataFrame

    @property
    def trials(self) -> pd.DataFrame:
        """One row a trial."""
        return self.evidence.trials

    @property
    def curves(self) -> pd.DataFrame:
        """id, step, metric, value."""
        return self.evidence.curves

    @property
    def searched(self) -> Searched | None:
        """What a sweep has tried, or what tuned the variants: `.trials`, a row a setting, and `.facts`."""
        from ablate.core.searched import SWEEP, TUNING, Searched

        file = {"sweep": SWEEP, "tuning": TUNING}.get(self.evidence.facts.searched)
        return Searched.load(self.folder / file) if file else None

    def figures(self) -> dict[str, Figure]:
        """The figures of the report by name: `forest`, `seeds`, `cost`, the learning curves, those of a search."""
        from ablate.report.page import figures
        from ablate.stages.publish import material

        return figures(material(self.folder, self.evidence, self.comparisons, self.claims))


def run(study: str | Path, **options: Any) -> Results:
    """Runs a study, or with `sweep=True` its search, and loads its results. Raises `AblateError`.

    The keywords are those of `Options`: results, jobs, seeds, sets, only, seed, fresh, sweep, …
    """
    from rich.console import Console

    if "results" in options:
        options["results"] = Path(options["results"])
    outcome = execute(Path(study), Options(**options), Console(file=sys.stderr))
    return load(outcome.folder)


def load(folder: str | Path) -> Results:
    """The results of a study from its folder alone; raises `AblateError` when they are not there."""
    import pandas as pd

    folder = Path(folder)
    evidence = Evidence.load(folder)
    comparisons, claims = (pd.read_csv(folder / name) for name in ("comparisons.csv", "claims.csv"))
    return Results(folder, evidence, comparisons, claims[claims["verdict"].notna()].reset_index(drop=True))


def execute(path: Path, options: Options, console: Console) -> Outcome:
    """Plans, trains what is missing, compares and reports; prints as it goes."""
    cached = unchanged(path, options)
    if cached is not None:
        from ablate.stages.session import Outcome

        console.print(
            f"Nothing to train: {cached} is up to date with the study, the sources and the records.",
            soft_wrap=True,
        )
        print_results(cached, console)
        return Outcome(cached)
    from ablate.base.locks import exclusive, interruptible
    from ablate.records.store import Store
    from ablate.stages.session import Session

    def say(message: str) -> None:
        console.print(message, highlight=False, markup=False, soft_wrap=True)

    with closing(_standby(path, options)) as standby:
        with uncollected():
            from ablate.records.rates import Rates
            from ablate.speed.rates import measuring
            from ablate.study.experiment import prepare

            rates = Rates(options.results, measuring(say), options.fresh)
            experiment = prepare(path, options.sets, options.seeds, rates)
        asked = _asked(experiment, options)
        store = Store(options.results / "store", lambda message: session.warn(message))
        session = Session(experiment, store, options, console, standby)
        with exclusive(store.root, experiment.study.name, say), interruptible():
            return session.go(_course(session, asked))


def _asked(experiment: Experiment, options: Options) -> list[Cell]:
    """The trials that the options ask for; raises `StudyError` for what the study cannot do."""
    from ablate.stages.selection import chosen

    if options.sweep and experiment.search is None:
        rule = "is required: it says what a sweep looks for"
        hint = "Add it, or use `ablate run`"
        raise StudyError([Problem(rule, ("search",), hint=hint, source=str(experiment.path))])
    return chosen(experiment.cells(), options.only, options.seed)


def _course(session: Session, asked: list[Cell]) -> Course:
    """What the run trains and judges."""
    from ablate.stages.courses import Given, Swept, Tuned

    experiment = session.experiment
    if session.options.sweep and experiment.search is not None:
        return Swept(experiment, experiment.search, session)
    if experiment.tune is not None:
        return Tuned(experiment, experiment.tune, session)
    return Given(experiment, experiment.cells(), asked)


def _standby(path: Path, options: Options) -> Standby:
    """Workers for a study of the package's own workload; others may need none of its parts."""
    from ablate.execution.pool import Standby, default_jobs
    from ablate.study.document import read_document
    from ablate.study.load import DEFAULT_WORKLOAD

    if read_document(path).data.get("workload", DEFAULT_WORKLOAD) != DEFAULT_WORKLOAD:
        return Standby(0)
    return Standby(default_jobs() if options.jobs is None else options.jobs)


def unchanged(path: Path, options: Options) -> Path | None:
    """The results folder, when running the study would train nothing and report the same; imports no torch."""
    if options.only or options.seed is not None or options.fresh or options.tracking_uri:
        return None
    from ablate.records.state import LastReport
    from ablate.records.store import Store
    from ablate.study.document import read_document

    name = read_document(path).data.get("name")
    folder = options.results / str(name)
    if not isinstance(name, str) or not name or Path(name).name != name or not folder.is_dir():
        return None
    last = LastReport(Store(options.results / "store"), folder)
    return folder if last.matches(_inputs(path, options)) else None


def remember(path: Path, options: Options, store: Store, folder: Path, trials: list[str]) -> None:
    """Notes what the report that stands in `folder` was made from, for `unchanged`."""
    from ablate.base.plugins import plugin_files
    from ablate.records.state import LastReport

    LastReport(store, folder).write(_inputs(path, options), trials, plugin_files())


def _inputs(path: Path, options: Options) -> list[Any]:
    """What a report depends on beside the records, the package and the plugins: the study and the options."""
    return [hashlib.blake2b(path.read_bytes()).hexdigest(), list(options.sets), options.seeds, options.sweep]
