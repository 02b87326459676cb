"""Imports go one way: what each package may import of the others, and what it must not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "ablate"

BASE = {
    "errors",
    "files",
    "clock",
    "collector",
    "registry",
    "plugins",
    "streams",
    "signature",
    "passwords",
    "workload",
    "records.record",
}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "clock": set(),
    "collector": set(),
    "streams": set(),
    "signature": set(),
    "passwords": set(),
    "files": {"errors"},
    "registry": {"errors"},
    "plugins": {"errors", "registry"},
    "workload": {"records.record"},
    "records": BASE | {"records"},
    "study": BASE | {"study", "records.evidence", "records.searched"},
    "components": BASE | {"components"},
    "tasks": BASE | {"tasks"},
    "models": BASE | {"models", "components", "study.sections"},
    "training": BASE | {"training", "models", "components", "tasks", "study.sections"},
    "execution": BASE | {"execution", "records.store", "study.plan"},
    "search": BASE | {"search", "records", "study", "execution.events"},
    "speed": BASE | {"speed", "records.environment", "study.rates"},
    "analysis": BASE | {"analysis", "records.evidence", "records.searched"},
    "report": BASE | {"report", "analysis", "records.evidence", "records.evaluated", "records.searched"},
}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in ALLOWED)


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ablate":
            base = node.module.removeprefix("ablate").lstrip(".")
            names |= (
                {f"{base}.{a.name}" if base.count(".") == 0 else base for a in node.names}
                if base
                else {a.name for a in node.names}
            )
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("ablate.") for a in node.names if a.name.startswith("ablate.")}
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_along_the_route(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = ALLOWED[package]
    for name in imported(path):
        ok = any(name == a or name.startswith(f"{a}.") for a in allowed)
        assert ok, f"{path.name} imports ablate.{name}; {package} may import {sorted(allowed)}"


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import ablate.cli", {"torch", "mlflow", "pandas", "numpy", "pydantic", "rich", "matplotlib"}),
        ("import ablate.study.experiment", {"torch", "mlflow", "pandas", "matplotlib", "scipy"}),
        ("import ablate.execution.worker", {"torch", "mlflow", "pandas", "matplotlib", "scipy"}),
        ("import ablate.analysis.compare, ablate.analysis.claims", {"torch", "mlflow", "matplotlib"}),
        ("import ablate.report.page", {"torch", "mlflow"}),
        ("import ablate.report.terminal", {"torch", "mlflow", "pandas", "matplotlib"}),
        ("import ablate.tracking.tracker", {"torch", "mlflow", "pandas"}),
    ],
)
def test_what_is_heavy_is_loaded_only_where_it_is_used(statement: str, absent: set[str]) -> None:
    assert not loaded_by(statement) & absent


def test_every_package_is_known() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert packages <= set(ALLOWED)
