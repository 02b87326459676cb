"""`ablate plan` says what each variant is before it is trained."""

import io
import re
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ablate.overview import print_plan
from ablate.run import Options
from ablate.study.experiment import prepare

STUDY = """
name: sizes
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
factors:
  model.mixer.score: [additive]
  model.position: [none]
seeds: 2
"""


def test_parameters_by_part_and_flops_of_each_variant(write: Callable[..., Path], tmp_path: Path) -> None:
    study, console = write(STUDY), Console(file=io.StringIO(), width=200)
    print_plan(study, Options(results=tmp_path / "results"), console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    plan, parts = printed.split("parameters by part")
    experiment = prepare(study)
    for variant in experiment.variants:
        (described,) = experiment.describe(variant)
        assert described.flops is not None
        assert described.training_flops == 3 * described.flops or "additive" in variant.name
        row = [described.parameters, described.flops, described.training_flops, 0, 2]
        assert numbers(plan, variant.name) == row
        by_part = described.parameters_by_part
        assert numbers(parts, variant.name) == [by_part.get(part, 0) for part in experiment_parts(parts)]
    assert "6 trials to train" in printed
    assert not (tmp_path / "results").exists()


def experiment_parts(table: str) -> list[str]:
    return next(line.split()[1:] for line in table.splitlines() if line.strip().startswith("variant"))


def numbers(table: str, variant: str) -> list[int]:
    line = next(line for line in table.splitlines() if line.split()[:1] == [variant])
    return [int(cell.replace(",", "")) for cell in re.split(r"\s+", line.strip())[1:]]
