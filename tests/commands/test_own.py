"""`ablate new --part` and `--workload`: files that pass the contracts of built-in parts, and train."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from harness import ablate_here, prepare, with_database

from ablate.base.registry import CATALOGUE
from ablate.cli import main
from ablate.commands._results import run
from ablate.commands.templates import PARTS
from ablate.commands.templates.own_code import create_part

FEW = ["training.steps=3", "training.warmup_steps=0"]
SLOW = pytest.mark.slow


CATALOGUE.load_builtin()


@pytest.mark.slow
@pytest.mark.parametrize("slot", PARTS)
def test_a_part_passes_the_contract_of_parts(slot, tmp_path):
    part, study = create_part(slot, tmp_path / "my_part")
    done = ablate_here("check", part, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    num_rules = 6 if slot == "task" else 7
    assert len(done.stdout.splitlines()) == num_rules
    assert len(prepare(study).variants) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "variant", "shorter"),
    [
        (["--workload", "mine"], "settings.momentum=0.9", ["settings.steps=3"]),
        pytest.param(["--part", "norm", "mine"], "model.norm=mine", FEW, marks=SLOW),
        pytest.param(["--part", "task", "mine"], "model.position=none", FEW, marks=SLOW),
    ],
)
def test_what_it_writes_is_compared_by_one_more_command(call, variant, shorter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_database(tmp_path / "results/store")
    done = CliRunner().invoke(main, ["new", *call])
    assert done.output.endswith("which work as they are.\nNext: ablate run mine.yaml\n")
    results = run("mine.yaml", seeds=2, sets=shorter, jobs=0)
    assert variant in set(results.comparisons.variant)
    assert "failed" not in set(results.trials.status)


def test_an_exception_where_no_stage_expects_it_names_the_file_and_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from ablate import register\nfrom ablate.tasks.recall import Recall\n\n\n"
        "@register('task', 'mine')\nclass Mine(Recall):\n    def coverage(self, draws):\n        return draws / 0\n"
    )
    Path("mine.yaml").write_text(
        "{name: mine, task: mine, plugins: [mine.py], factors: {model.position: [none]}}"
    )
    done = CliRunner().invoke(main, ["plan", "mine.yaml"])
    assert done.exit_code == 2
    assert done.output.endswith("ZeroDivisionError: division by zero (mine.py:8). Correct the plugin\n")
