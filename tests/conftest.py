import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from harness import TOY_STUDY, run_here
from hypothesis import HealthCheck, settings

from ablate.base import plugins
from ablate.base.registry import CATALOGUE

# How fast the machine is must not decide what passes.
settings.register_profile("ablate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ablate")
os.environ.setdefault("MPLBACKEND", "agg")
# One thread a worker: two that spin for work on two cores take four times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# MLflow takes three seconds of every run; those whose tests look at it ask for `tracking`.
os.environ["ABLATE_TRACKING"] = "off"
# As in an environment that is active: `python` of a command is the one that these tests run with.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
# A shell has what it runs in the background ignore Ctrl-C, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _fast_ones(cases: Sequence[pytest.Item], count: int) -> set[pytest.Item]:
    """As many of the cases of a test, evenly spread from the first on."""
    return {cases[place * len(cases) // count] for place in range(min(count, len(cases)))}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow what is left of a test's cases where it says how many of them are fast."""
    cases_of: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("fast_cases"):
            cases_of.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in cases_of.values():
        [count] = cases[0].get_closest_marker("fast_cases").args
        for case in {*cases} - _fast_ones(cases, count):
            case.add_marker("slow")


@pytest.fixture
def tracking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has runs brought into MLflow."""
    monkeypatch.delenv("ABLATE_TRACKING")


REPORTING = ("commands", "external", "pipeline", "runs", "stages", "study", "tracking")
"""The rooms whose tests make reports, and look at figures only in modules that are marked so."""


@pytest.fixture(autouse=True, scope="module")
def _figures_are_blank(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where reports are made in this process for what stands in them."""
    if request.path.parent.name in REPORTING and not request.node.get_closest_marker("draws"):
        from undrawn import undrawn

        with undrawn():
            yield
    else:
        yield


@contextlib.contextmanager
def _parts_as_before() -> Iterator[None]:
    """Forgets what is registered inside, in itself or by a plugin; brings back what was known before."""
    parts = {slot: dict(CATALOGUE._parts[slot]) for slot in CATALOGUE.slots()}
    loaded = dict(plugins._loaded)
    names = {module for name, plugin in loaded.items() for module in (name, *plugin.files)}
    modules = {name: sys.modules[name] for name in names if name in sys.modules}
    yield
    for name, plugin in list(plugins._loaded.items()):
        if loaded.get(name) is not plugin:
            plugins._forget({name, *plugin.files})
    for slot, found in CATALOGUE._parts.items():
        for name, part in list(found.items()):
            if not part.__module__.startswith("ablate.") and parts.get(slot, {}).get(name) is not part:
                del found[name]
    plugins._loaded.update(loaded)
    sys.modules.update(modules)
    for slot, known in parts.items():
        CATALOGUE._parts[slot].update(known)


@pytest.fixture(autouse=True, scope="module")
def _forget_parts_of_fixtures() -> Iterator[None]:
    """What the fixtures of a module register is unknown to the next one."""
    with _parts_as_before():
        yield


@pytest.fixture(autouse=True)
def _forget_parts() -> Iterator[None]:
    """What a test registers is unknown to the next one."""
    with _parts_as_before():
        yield


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file into the test's folder."""

    def write(text: str, name: str = "study.yaml") -> Path:
        path = tmp_path / name
        path.write_text(dedent(text))
        return path

    return write


@pytest.fixture
def toy_study(write: Callable[..., Path]) -> Path:
    return write(TOY_STUDY)


@pytest.fixture
def run(write: Callable[..., Path]) -> Callable[..., tuple[Any, str]]:
    """Runs a study, given as its file or its text, into `results` beside it; the outcome, and what was printed."""

    def run(study: str | Path, **options: object) -> tuple[Any, str]:
        return run_here(study if isinstance(study, Path) else write(study), **options)

    return run


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the study `MADE` of the module has run once, and its results.

    It is as deep as the folders of tests, because plugins are kept as relative paths.
    """
    folder = tmp_path_factory.mktemp("made")
    (folder / "study.yaml").write_text(request.module.MADE)
    run_here(folder / "study.yaml", **getattr(request.module, "OPTIONS", {}))
    return folder


@pytest.fixture
def ran(made: Path, tmp_path: Path) -> Path:
    """A copy of the results of `made` in the folder of the test, where `run` goes on from them."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results"
