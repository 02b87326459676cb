"""`ablate plan` says what each variant is before it is trained."""

import io
import re
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ablate.base.wording import duration
from ablate.commands.plan import print_plan
from ablate.core.record import Record
from ablate.execution.local_pool import default_jobs
from ablate.records.store import Store
from ablate.stages.options import Options
from ablate.study.prepare import prepare

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
    study = write(STUDY)
    printed = plan_of(study, tmp_path)
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


def plan_of(study: Path, tmp_path: Path, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
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


def experiment_parts(table: str) -> list[str]:
    return next(line.split()[1:] for line in table.splitlines() if line.strip().startswith("variant"))


def numbers(table: str, variant: str) -> list[int]:
    line = next(line for line in table.splitlines() if line.split()[:1] == [variant])
    return [int(cell.replace(",", "")) for cell in re.split(r"\s+", line.strip())[1:]]


def test_no_name_is_broken_in_a_narrow_terminal(write: Callable[..., Path], tmp_path: Path) -> None:
    study = write(STUDY.replace("factors:", "factors:\n  model.feedforward.activation: [gelu]"))
    lines = plan_of(study, tmp_path, width=80).splitlines()
    tables = lines[: next(index for index, line in enumerate(lines) if "to train;" in line)]
    assert max(map(len, tables)) <= 80
    assert "model.feedforward.activation=gelu" in tables


def test_the_time_that_is_left_is_judged_by_the_trials_that_have_run(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    study = write(STUDY)
    store = Store(tmp_path / "results/store")
    cells = prepare(study).cells()
    for cell in cells[:4]:
        metrics = {"train_seconds": 300.0}
        store.save(Record(cell.trial.id, cell.trial.config, cell.seed, "completed", metrics=metrics))
    left, jobs = (600, "1 worker") if default_jobs() == 1 else (300, "2 workers")
    plan = plan_of(study, tmp_path)
    assert f"\n2 trials to train: about {duration(left)} on {jobs}, judging by the trials that have run." in plan
    assert [numbers(plan, name)[3:5] for name in ("baseline", "model.position=none")] == [[2, 0], [1, 1]]


def test_the_space_and_the_budget_of_a_search(write: Callable[..., Path], tmp_path: Path) -> None:
    over = "{model.mixer: {choice: [attention, lstm]}, model.mixer.num_heads: {choice: [1, 2], when: %s}}"
    search = "search: {over: %s, trials: 6, seeds: 2, winners: 2}\n" % (over % "model.mixer=attention")
    plan = plan_of(write(STUDY + search), tmp_path)
    assert re.search(r"\nmodel\.mixer +attention, lstm *\n", plan)
    assert re.search(r"\nmodel\.mixer\.num_heads +1, 2 +model\.mixer=attention *\n", plan)
    assert "6 settings by tpe, for accuracy (max) on 2 tuning seeds: at most 12 trials; then" in plan
    assert "the baseline, winner and winner-2, on the seeds of the study." in plan
    tune = "tune: {over: {training.lr: {float: [1e-4, 1e-2], log: true}}, trials: 3}\n"
    plan = plan_of(write(STUDY + tune), tmp_path)
    assert re.search(r"\ntraining\.lr +0\.0001 to 0\.01 on a log scale *\n", plan)
    assert "3 settings by random for each of 3 variants, for accuracy (max) on 2 tuning seeds" in plan
    assert "at most 18 trials; then each variant as the study gives it and with its best setting" in plan
    # The search, and the 6 trials of the study twice: untuned and tuned.
    assert "6 trials to train. With tuning, a run trains at most 30 trials.\n" in plan
    plan = plan_of(write(STUDY + tune.replace("trials: 3", "trials: 3, untuned: off")), tmp_path)
    assert "at most 18 trials; then each variant with its best setting, on the seeds" in plan
    assert "\nA run trains at most 24 trials.\n" in plan


def test_what_limits_the_verdicts_fits_a_narrow_terminal(write: Callable[..., Path], tmp_path: Path) -> None:
    text = STUDY.replace("model.position: [none]", "model.mixer: [{name: conv, kernel_size: 1}]")
    study = write(text.replace("task: recall", "task: recall\nmetric: {name: accuracy, margin: 0.02}"))
    _, heading, limits = plan_of(study, tmp_path, width=80).partition("\nWhat limits its verdicts\n")
    assert heading
    assert max(map(len, limits.splitlines())) <= 80
    words = " ".join(limits.split())
    assert "- without matching the key, the best accuracy is .53125; chance is .0625" in words
    assert "- model.mixer=conv: the output cannot see positions 0–" in words
    assert "beyond the reach of its 1 layer - `equivalent` within .02 takes" in words
    nothing = STUDY.replace("task: recall", "task: digits")
    assert "What limits" not in plan_of(write(nothing), tmp_path)
