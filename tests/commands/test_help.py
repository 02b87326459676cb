"""`--help` of every command, and `--version`, answer at once."""

import importlib.metadata
import subprocess
import sys

import pytest

from ablate.cli import main


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], *([name, "--help"] for name in main.commands)], ids=" ".join
)
def test_nothing_heavy_is_loaded(arguments: list[str]) -> None:
    code = f"import sys\nfrom ablate.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += (
        "assert not {'torch', 'mlflow', 'pandas', 'numpy', 'pydantic', 'rich', 'ruamel'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = importlib.metadata.version("ablate") if arguments == ["--version"] else "Usage:"
    assert expected in done.stdout
