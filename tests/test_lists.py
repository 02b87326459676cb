"""Every section, stage, reader and engine of the package is on the one list of its kind, and the guide on that list."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ablate.execution.engines
import ablate.report.sections
import ablate.runs.formats
import ablate.stages
from ablate.analysis.measures import ESTIMATORS
from ablate.core.derived import DERIVED
from ablate.core.stage_facts import StageFacts
from ablate.report.section import Section
from ablate.report.sections import SECTIONS
from ablate.runs.reader import Reader
from ablate.runs.sources import READERS
from ablate.session.stage import Stage
from ablate.session.workers import ENGINES
from ablate.stages import STAGES

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "ablate" / "commands" / "pages" / "architecture.md"
ROOMS = (ablate.report.sections, ablate.stages, ablate.runs.formats)


def load_all(room: ModuleType) -> Iterator[ModuleType]:
    """Imports every module of a room, so that its classes are known, and yields them."""
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        yield importlib.import_module(module.name)


def subclasses(kind: type) -> set[type]:
    """Returns the classes of the package that make a kind whole: those that no other of them extends."""
    whole: set[type] = set()
    for subclass in kind.__subclasses__():
        below = subclasses(subclass)
        if not below and subclass.__module__.startswith("ablate."):
            whole.add(subclass)
        whole |= below
    return whole


def names(classes: set[type]) -> list[str]:
    return sorted(f"{one.__module__}.{one.__qualname__}" for one in classes)


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        (Section, {type(section) for section in SECTIONS}),
        (Stage, {*STAGES}),
        (Reader, {type(reader) for reader in READERS}),
    ],
    ids=["section", "stage", "reader"],
)
def test_every_class_of_a_kind_is_on_its_list(kind, listed):
    for room in ROOMS:
        assert [*load_all(room)]
    assert names(subclasses(kind) - listed) == [], "are on no list, so that nothing uses them"
    assert names(listed - subclasses(kind)) == [], "are on the list, and another class extends them"


def test_every_engine_is_on_the_list():
    engines = set()
    for module in load_all(ablate.execution.engines):
        for one in vars(module).values():
            is_own = isinstance(one, type) and one.__module__ == module.__name__
            if is_own and all(hasattr(one, part) for part in ("name", "capacity", "run", "close")):
                engines.add(one)
    assert names(engines) == names({*ENGINES})


def test_no_two_of_a_kind_have_one_name():
    for room in ROOMS:
        assert [*load_all(room)]
    assert len({section.title for section in SECTIONS}) == len(SECTIONS)
    keys = [facts.key for facts in subclasses(StageFacts)]
    assert len({*keys}) == len(keys)


def test_every_derived_metric_has_an_estimator():
    assert {*DERIVED} == {*ESTIMATORS}


def test_the_guide_names_files_and_lists_that_are_there():
    """Of the table of what to write and what to change where something is added."""
    rows = re.findall(r"^\| an? [^|]+\|([^|]+)\|([^|]+)\|$", GUIDE.read_text(), re.MULTILINE)
    assert len(rows) > 10
    package = ROOT / "ablate"
    for written, changed in rows:
        for path in re.findall(r"`([a-z_/]+/(?:[a-z_]+\.(?:py|j2))?)`", f"{written} {changed}"):
            is_there = (package / path).exists() or (ROOT / path).exists()
            assert is_there, f"{path} is not there"
        for name, path in re.findall(r"`([A-Z]{2,})` (?:in|and of .* in) `([a-z_/.]+)`", changed):
            file = package / path
            file = file / "__init__.py" if file.is_dir() else file
            assert re.search(rf"^{name}\b", file.read_text(), re.MULTILINE), f"{path} has no {name}"
