from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from ablate.base.errors import AblateError
from ablate.report.terminal import print_verdicts


def printed(folder: Path, width: int = 80, encoding: str = "utf-8") -> str:
    buffer = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_verdicts(folder, Console(file=buffer, width=width))
    buffer.seek(0)
    return buffer.read()


def test_every_verdict_and_claim_fits_eighty_columns(folder: Path) -> None:
    text = printed(folder)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    row = next(line for line in text.splitlines() if line.startswith("model.position=none"))
    assert row.split()[1:] == ["worse", "−.4617", "[−.4676,", "−.4557]", "<.001", "5"]
    for piece in ("unstable", "supported", "refuted", "<script>alert('x')</", "(exploratory)"):
        assert piece in text
    assert "placebo" not in text


def test_ascii_where_the_terminal_has_nothing_else(folder: Path) -> None:
    assert "-.4617 [-.4676, -.4557]" in printed(folder, encoding="ascii")


def test_names_are_not_markup(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "x")
    path = tmp_path / "x" / "comparisons.csv"
    path.write_text(path.read_text().replace("model.norm=batch", "[bold]x[/bold]\x1b[31m"))
    text = printed(tmp_path / "x")
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AblateError, match=r"has no comparisons\.csv; run the study first"):
        print_verdicts(tmp_path, Console(file=io.StringIO()))


def test_no_heavy_library_is_imported(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rich.console import Console\n"
        "from ablate.report.terminal import print_verdicts\n"
        "print_verdicts(Path(sys.argv[1]), Console())\n"
        "print([m for m in ('torch', 'pandas', 'numpy', 'matplotlib', 'mlflow') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
