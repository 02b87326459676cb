from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic

from ablate.analysis.claims import judge
from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.report.page import write_report
from ablate.report.section import Material


def published(evidence: Evidence, folder: Path) -> Path:
    comparisons, claims = compare(evidence), judge(evidence)
    folder.mkdir(parents=True, exist_ok=True)
    comparisons.to_csv(folder / "comparisons.csv", index=False)
    claims.to_csv(folder / "claims.csv", index=False)
    write_report(Material(evidence, comparisons, claims), folder)
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
