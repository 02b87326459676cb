"""Paired ablation studies of sequence models: `ablate.run("study.yaml")`, `ablate.load("results/x")`.

The rooms of the house, from the door to the cellar; imports point down this list and never up:

    cli         the command line: finds the commands
    commands    one file a command: what it reads, which steps of the route it takes, what it prints
    features    one folder a capability that a study or a user may ask for, complete
    route       from a file to a report, on one route
    report      sections of a report, one file each; page, markdown and terminal
    analysis    from evidence to comparisons and verdicts
    tracking    MLflow, synchronised from finished records
    execution   driver, engines, supervision, worker, progress
    search      Optuna: samplers, pruners, queue, plan
    records     the store, a study's folder, its list of trials
    external    a user's own training code: a function, a command, a script
    training    the built-in workload: one trial → one record
    models      parts → model
    study       what to run: from a study file to an study
    tasks       one task a file
    components  swappable parts, one family a file
    core        the nouns, and the contracts: Plan, Engine, Workload, Estimate, Feature
    base        without a subject: errors, registry, plugins, streams, files, words for numbers

A plugin takes `register`, `PartConfig`, `DataFile` and `Invalid` from here, and the base class of a slot from the
slot's module.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ablate.base.datafile import DataFile
    from ablate.base.errors import Invalid
    from ablate.base.registry import PartConfig, register
    from ablate.commands._results import Results, load, run
    from ablate.session.options import Options

__all__ = ["DataFile", "Invalid", "Options", "PartConfig", "Results", "load", "register", "run"]

_WHERE = {
    "DataFile": "base.datafile",
    "Invalid": "base.errors",
    "Options": "session.options",
    "PartConfig": "base.registry",
    "Results": "commands._results",
    "load": "commands._results",
    "register": "base.registry",
    "run": "commands._results",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Each name from its module when it is first used: the command line needs none of them."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
