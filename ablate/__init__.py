"""Paired ablation studies of sequence models: `ablate.run("study.yaml")`, `ablate.load("results/x")`.

Of runs that exist: `ablate.analyse(frame)`.

The rooms of the house, from the door to the cellar; imports point down this list and never up:

    cli         the command line: finds the commands
    commands    every command, a file each; pages of the guide, templates of `ablate new`
    runs        runs that exist, whoever made them: from their files to evidence
    commits     a command at commits of a repository: two of them compared, a stream of tries
    pipeline    from a study file to its report: run_study, on one screen, and what it calls
    stages      what a study may ask for beside training and judging its variants; STAGES, the one list
    session     the contract of stages, and what a run holds: workers, MLflow, display, lock; its options
    report      page, terminal, paper and atlas; sections and figures, a file each; words
    tracking    MLflow, synchronised from finished records
    analysis    from evidence to estimates and verdicts, by one judge
    execution   driver, engines, supervision, worker, progress
    records     the store, a study's folder, its list of trials
    search      samplers and pruners of Optuna
    study       what to run: from a study file to a study
    external    a user's own training code: a function, a command, a script
    training    the built-in workload: one trial → one record
    models      parts → model
    tasks       one task a file
    components  swappable parts, one family a file
    core        the nouns, and the contracts: Plan, Engine, Workload, Estimate
    base        without a subject: errors, registry, plugins, streams, files, words for numbers

A plugin takes `register`, `PartConfig`, `DataFile` and `Invalid` from here, and the base class of a slot from the
slot's module.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ablate.base.datafile import DataFile
    from ablate.base.errors import Invalid
    from ablate.base.registry import PartConfig, register
    from ablate.commands._analysis import analyse
    from ablate.commands._results import Results, load, run
    from ablate.session.options import Options

__all__ = ["DataFile", "Invalid", "Options", "PartConfig", "Results", "analyse", "load", "register", "run"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Imports a public name on first use, so that the command line starts without any of them."""
    if name == "DataFile":
        from ablate.base.datafile import DataFile

        return DataFile
    if name == "Invalid":
        from ablate.base.errors import Invalid

        return Invalid
    if name == "Options":
        from ablate.session.options import Options

        return Options
    if name in ("PartConfig", "register"):
        from ablate.base.registry import PartConfig, register

        return PartConfig if name == "PartConfig" else register
    if name == "analyse":
        from ablate.commands._analysis import analyse

        return analyse
    if name in ("Results", "load", "run"):
        from ablate.commands._results import Results, load, run

        return {"Results": Results, "load": load, "run": run}[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
