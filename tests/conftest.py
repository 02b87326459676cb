import os
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from harness import TOY_STUDY
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


@pytest.fixture
def tracking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has runs brought into MLflow."""
    monkeypatch.delenv("ABLATE_TRACKING")


@pytest.fixture(autouse=True)
def _forget_parts() -> Iterator[None]:
    """What a test registers, in itself or by a plugin, is unknown to the next one."""
    parts = {slot: dict(CATALOGUE._parts[slot]) for slot in CATALOGUE.slots()}
    loaded = dict(plugins._loaded)
    yield
    for name, plugin in list(plugins._loaded.items()):
        if loaded.get(name) != plugin:
            plugins._forget(name, set())
    for slot, found in CATALOGUE._parts.items():
        for name, part in list(found.items()):
            if not part.__module__.startswith("ablate.") and parts.get(slot, {}).get(name) is not part:
                del found[name]


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
