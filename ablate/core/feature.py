"""The contract of features: capabilities that a study or a user may ask for, each a folder of `ablate/features/`.

A feature is found by scanning that folder, and used through one instance. Its methods do nothing unless they are
overridden, or named in its `class` statement: `check="checks:check_speed"` is a function of its module `checks`, or a
value, which is loaded when it is asked for. No other room names a feature: they ask each of them, in order.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.derived import Derived
    from ablate.core.facts import Evidence
    from ablate.core.record import Record
    from ablate.core.trial import Cell

PACKAGE = "ablate.features"


@dataclass(frozen=True)
class Measured:
    """What a feature knows of its measurements after a run."""

    # Kept under its name, where it has rows.
    frame: pd.DataFrame
    # How it was measured, plain data.
    facts: Mapping[str, Any]
    # Of the store, that the report rests on beside records; None where something is missing.
    files: Sequence[Path] | None


class Feature:
    """One of them. Arguments named `run`, `draft` and `experiment` are of `route.run`, `study.draft` and `study`."""

    # Features whose methods are called before its own, where they are there.
    after: ClassVar[Sequence[str]] = ()
    # Its keys, and dotted places below them, that hold paths of a study: each path is one key, whatever its dots.
    by_path: ClassVar[Sequence[str]] = ()
    # The way of choosing variants that a confirmation repeats; else it takes those that were chosen.
    repeats: ClassVar[str] = ""
    # Whether a study with other sections of its is another study.
    decides: ClassVar[bool] = True

    def __init_subclass__(cls, **elsewhere: str) -> None:
        for method, place in elsewhere.items():
            setattr(cls, method, _loading(cls.__module__, *place.split(":")))

    @property
    def name(self) -> str:
        """That of its folder."""
        return type(self).__module__.rpartition(".")[2]

    def metrics(self) -> Mapping[str, Derived]:
        """Metrics that claims may use."""
        return {}

    def grammar(self) -> Mapping[str, tuple[Any, Any]]:
        """Its sections of a study: name → (type, default)."""
        return {}

    def check(self, draft: Any) -> Any:
        """Refuses mistakes of meaning in its sections, by `draft.document`; baseline and variants can be built.

        What it returns is `experiment.read` under its name.
        """

    def narrow(self, experiment: Any, options: Any) -> Any:
        """The experiment as a run with these options trains it, before anything is written."""
        return experiment

    def varies(self, study: Any) -> Mapping[str, Sequence[str]]:
        """Section of its own → the paths whose values it chooses for each variant."""
        return {}

    def names(self, study: Any) -> Sequence[str]:
        """Names of variants that it will find, which claims and labels may use."""
        return ()

    def settles(self, experiment: Any, options: Any = None) -> bool:
        """Whether trainings choose the variants of a run with these options; `StudyError` where they cannot."""
        return False

    def settle(self, run: Any) -> Any:
        """The experiment with the variants that were chosen, how and by which trainings; may `run.drive(plan)`."""
        return run.experiment

    def adds(self, experiment: Any) -> int:
        """How many variants it will add to those of the study."""
        return 0

    def at_most(self, experiment: Any, left: int) -> int:
        """The most trainings of a run that it settles, with `left` of the variants as the study gives them."""
        return left

    def facts(self, experiment: Any) -> Mapping[str, Any]:
        """What it keeps with the facts of a study, plain data under its name."""
        return {}

    def companions(self, experiment: Any, cells: Sequence[Cell]) -> Iterable[Cell]:
        """The trainings that accompany judged cells, each with a role of its own."""
        return ()

    def more(
        self, experiment: Any, cells: Sequence[Cell], evidence: Callable[[], Evidence]
    ) -> Iterable[Cell]:
        """The trainings for which verdicts ask once judged `cells`, of all looks so far, are in; it is asked again."""
        return ()

    def frames(
        self, experiment: Any, cells: Sequence[Cell], records: Mapping[str, Record]
    ) -> Mapping[str, pd.DataFrame]:
        """Name → a table that it keeps of its trainings, among these that no verdict rests on."""
        return {}

    def begun(self, run: Any) -> bool:
        """Whether a new claim about its metrics, or about what it settles, comes too late: something is known."""
        return False

    def measure(self, run: Any, missing: bool) -> Measured | None:
        """Measures what is `missing`, after training, and returns what is known; `AblateError` is a warning."""
        return None

    def kept(self, folder: Any, evidence: Evidence) -> Any:
        """What it keeps in the study's folder beside that, for its sections."""
        return None

    def plan(self, experiment: Any, store: Any) -> tuple[list[Any], Mapping[str, Any] | None]:
        """What `ablate plan` says of it, in sentences and tables, and as plain data under its name; None: nothing."""
        return [], None

    def account(self, evidence: Evidence) -> str:
        """What it did, in sentences, for the methods of a paper and for `How it was run`; empty: nothing."""
        return ""

    def costs(self) -> Mapping[str, tuple[str, Callable[[float], str]]]:
        """Metric of its table of its own name, at the study's own size → the label of its axis, and how a value is
        said.
        """
        return {}

    def brief(self, rows: Sequence[Any], names: Mapping[str, str]) -> Iterable[Any]:
        """Tables for the summary of a report, of the rows of its table of its own name; names for readers."""
        return ()

    def tables(self, evidence: Evidence) -> Mapping[str, pd.DataFrame]:
        """Name of a CSV file without its ending → what it makes of the evidence; without rows, there is no file."""
        return {}

    def export(self, evidence: Evidence, url: str) -> list[str]:
        """Writes what it keeps into a storage of another tool, and returns the names that it has there."""
        return []

    def rooms(self, kind: str) -> list[str]:
        """The modules of its folder `sections` or `commands`."""
        package = f"{type(self).__module__}.{kind}"
        if find_spec(package) is None:
            return []
        found = importlib.import_module(package)
        return [f"{package}.{module.name}" for module in pkgutil.iter_modules(found.__path__)]


def _loading(package: str, module: str, name: str) -> Callable[..., Any]:
    def method(feature: Feature, *arguments: Any) -> Any:
        found = getattr(importlib.import_module(f"{package}.{module}"), name)
        return found(*arguments) if callable(found) else found

    return method


@functools.cache
def features() -> tuple[Feature, ...]:
    """All features, in the order in which their methods are called."""
    try:
        package = importlib.import_module(PACKAGE)
    except ModuleNotFoundError:
        return ()
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")
    every = sorted((kind() for kind in Feature.__subclasses__()), key=lambda feature: feature.name)
    left = {feature.name: feature for feature in every}
    found: list[Feature] = []
    while left:
        name = next(name for name, feature in left.items() if not {*feature.after} & left.keys())
        found.append(left.pop(name))
    return tuple(found)


def grammar() -> dict[str, tuple[Any, Any]]:
    """The sections that features add to a study: name → (type, default)."""
    return {name: section for feature in features() for name, section in feature.grammar().items()}


def varied(study: Any) -> dict[str, Sequence[str]]:
    """Section → the paths whose values it chooses for each variant."""
    return {section: paths for feature in features() for section, paths in feature.varies(study).items()}


@functools.cache
def derived() -> Mapping[str, Derived]:
    """All metrics that claims may use beside those of tasks."""
    from ablate.core.derived import DERIVED

    return {**DERIVED, **{name: of for feature in features() for name, of in feature.metrics().items()}}
