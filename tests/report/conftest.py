import pytest
import synthetic

from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder


def published(evidence, folder):
    study = StudyFolder.at(folder)
    study.save_evidence(evidence)
    write_report(study, pytest.fail)
    return folder


@pytest.fixture(scope="session")
def evidence():
    """Ten variants with a diverged run, a failed run, a placebo and an ugly name, over five seeds."""
    return synthetic.study()


@pytest.fixture(scope="session")
def folder(evidence, tmp_path_factory):
    """The published results of `evidence`."""
    return published(evidence, tmp_path_factory.mktemp("results") / "quickstart")


@pytest.fixture
def publish(tmp_path):
    """Publishes evidence into a new folder."""

    def call(evidence, name="study"):
        return published(evidence, tmp_path / name)

    return call
