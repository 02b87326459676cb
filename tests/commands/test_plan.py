"""`ablate plan` says what each variant is before it is trained."""

import io
import re
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ablate.commands.plan import print_plan
from ablate.stages.run import Options
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


def plan_of(study: Path, tmp_path: Path) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_plan(study, Options(results=tmp_path / "results"), console)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_what_is_matched_stands_beside_the_sizes(write: Callable[..., Path], tmp_path: Path) -> None:
    study = write(STUDY + "match: {parameters: baseline, by: model.feedforward.expansion}\n")
    plan = plan_of(study, tmp_path)
    sizes, _, matched = plan.partition("parameters matched by model.feedforward.expansion")
    experiment = prepare(study)
    for variant in experiment.variants:
        (given,) = experiment.matched[variant.name]
        size, row = (
            next(line.split() for line in text.splitlines() if line.split()[:1] == [variant.name])
            for text in (sizes, matched)
        )
        assert size[1] == f"{given.achieved:,}"
        assert float(row[1]) == given.value
        assert float(row[2].replace("−", "-")) == round(100 * given.residual, 2)


def test_the_whole_training_is_shown_where_its_length_differs(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    assert "of training" not in plan_of(write(STUDY), tmp_path)
    study = write(STUDY + "variants: {long: {training.steps: 2000}}\n")
    plan = plan_of(study, tmp_path)
    experiment = prepare(study)
    (described,) = experiment.describe(experiment.variants[-1])
    assert described.compute == described.training_flops * 2000 * 64
    assert numbers(plan.split("parameters by part")[0], "long")[3] == described.compute


def test_a_plan_measures_nothing(write: Callable[..., Path], tmp_path: Path) -> None:
    plan = plan_of(write(STUDY + "match: {seconds: baseline, by: training.steps}\n"), tmp_path)
    assert "Seconds are matched by training.steps, at rates that the first run measures" in plan
    assert "residual" not in plan
    assert not (tmp_path / "results").exists()


def experiment_parts(table: str) -> list[str]:
    return next(line.split()[1:] for line in table.splitlines() if line.strip().startswith("variant"))


def numbers(table: str, variant: str) -> list[int]:
    line = next(line for line in table.splitlines() if line.split()[:1] == [variant])
    return [int(cell.replace(",", "")) for cell in re.split(r"\s+", line.strip())[1:]]
