"""Commands that messages name can be typed as they stand."""

import os
import sys
from pathlib import Path

import pytest

from ablate.base.typed import at_results, typed


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "ablate"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_is_named_alone_on_the_path_and_with_its_folder_where_a_shell_would_not_find_it(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert typed("run", Path("my study.yaml")) == "ablate run 'my study.yaml'"
    monkeypatch.setenv("PATH", os.defpath)
    assert typed("ui") == f"{program} ui"


@pytest.mark.parametrize(
    ("started", "shown"), [("x/ablate/__main__.py", "python -m ablate"), ("pytest", "ablate")]
)
def test_without_a_program_of_its_own(started: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    assert typed("ui") == f"{shown} ui"


def test_a_results_folder_is_named_where_it_is_not_the_usual_one() -> None:
    assert typed("ui", *at_results(Path("results"))) == "ablate ui"
    assert typed("ui", *at_results(Path("my results"))) == "ablate ui --results 'my results'"
