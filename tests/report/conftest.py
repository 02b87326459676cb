from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic

from ablate.core.facts import Evidence
from ablate.records.folder import StudyFolder
from ablate.route.publish import publish as publish_folder


def published(evidence: Evidence, folder: Path) -> Path:
    study = StudyFolder.at(folder)
    study.save_evidence(evidence)
    publish_folder(study, pytest.fail)
    return folder


@pytest.fixture(scope="session")
def evidence() -> Evidence:
    """Ten variants with a diverged run, a failed run, a placebo and an ugly name, over five seeds."""
    return synthetic.study()


@pytest.fixture(scope="session")
def folder(evidence: Evidence, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published results of `evidence`."""
    return published(evidence, tmp_path_factory.mktemp("results") / "quickstart")


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Path]:
    """Publishes evidence into a new folder."""

    def call(evidence: Evidence, name: str = "study") -> Path:
        return published(evidence, tmp_path / name)

    return call
