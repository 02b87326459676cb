"""`ablate plan`: what each variant is, what a study can detect, what a difference takes."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from harness import TOY_STUDY, ablate_here, ablate_without, features, plan_here, prepare
from made_evidence import ACCURACY, study

from ablate.analysis.prospects import Power, Prospect
from ablate.base.errors import AblateError
from ablate.base.wording import duration
from ablate.commands.plan import plan_blocks
from ablate.core.events import Ended
from ablate.core.overhead import Overhead, guessed
from ablate.core.record import Record
from ablate.core.short_names import short_name
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import default_jobs
from ablate.pipeline.plan.plan import RUN_PER_PLAN, StudyPlan, plan_study, study_of
from ablate.records.environment import machine
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trial_list import ReportSources
from ablate.report.words import Table
from ablate.session.options import Options
from ablate.session.workers import reference
from ablate.study import ids
from ablate.training import workload

STUDY = """
name: sizes
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
factors:
  model.mixer.score: [additive]
  model.position: [none]
seeds: 2
"""
TOY = TOY_STUDY + "metric: {name: accuracy, margin: 0.05}\n"
ALONE = "".join(
    line for line in TOY.splitlines(keepends=True) if "model." not in line and "factors" not in line
)
EFFECT, NOISE = "model.effect=0.2", "model.noise=0.3"
KNOWN = {"baseline": [0.5, 0.5, 0.5], EFFECT: [0.5, 0.6, 0.7], NOISE: [0.5, 0.7, 0.9]}
"""Spreads of 0.1 and 0.2."""
OF_ONE = 4.62482
"""What three seeds detect of a spread of 1 at 0.025, see tests/analysis/test_prospects.py."""
RECALL = "name: r\ntask: recall\nmodel: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}\n"
RECALL += "factors: {model.mixer.score: [additive]}\nseeds: 8\n"
LATE = "name: late\nworkload: {command: 'sh late.sh {rate} {seed}', read: {loss: 'loss (.*)'}}\nconfig: {rate: 1}\n"
LATE += "metrics: {loss: min}\nfactors: {config.rate: [2]}\nseeds: 2\n"
FIVE_MINUTES = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:05:00Z"}
Plan = Callable[..., StudyPlan]


@pytest.fixture
def plan(write: Callable[..., Path], tmp_path: Path) -> Plan:
    """The plan of a study; what it says fits 80 columns."""

    def plan(text: str = TOY, detect: float | None = None, *sets: str) -> StudyPlan:
        options = Options(results=tmp_path / "results", sets=sets)
        found = plan_study(*study_of(write(text), options), options, pytest.fail, detect)
        printed = plan_here(write(text), width=80, detect=detect, sets=sets)
        limits = (
            printed.partition("\nWhat its seeds can detect\n")[2] or printed.partition("\nWhat limits")[2]
        )
        assert max(map(len, limits.splitlines()), default=0) <= 80
        assert "nan" not in printed
        return found

    return plan


def lines(found: StudyPlan) -> list[str]:
    return [part for part in plan_blocks(found, 80) if isinstance(part, str)]


def tables(found: StudyPlan) -> list[Table]:
    return [part for part in plan_blocks(found, 80) if isinstance(part, Table)]


def numbers(table: Table, *names: str) -> dict[str, list[float]]:
    """Variant → what its row has under these headings, or in all columns but the first."""
    keys = names or [column.key for column in table.columns[1:]]
    return {row["variant"]: [float(row[key].replace(",", "") or 0) for key in keys] for row in table.rows}


# What it trains


@pytest.mark.slow
def test_parameters_and_flops_of_each_variant(plan, tmp_path):
    found = plan(STUDY)
    sizes = tables(found)[0]
    for variant in found.study.variants:
        (described,) = found.study.describe(variant).values()
        assert described.flops is not None
        assert described.training_flops == 3 * described.flops or "additive" in variant.name
        row = [described.parameters, described.flops, described.training_flops, 0, 2]
        assert numbers(sizes)[short_name(variant.name, {})] == row
    assert found.to_train == found.at_most == 6
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_sizes_are_told_without_torchs_compiler_and_without_frames_where_nothing_has_run(write):
    path = write(STUDY + "match: {parameters: baseline, by: model.feedforward.expansion}\n")
    absent = {"torch._dynamo", "sympy", "pandas", "pyarrow", "matplotlib", "mlflow"}
    ablate_without(absent, "plan", path, cwd=path.parent)


def test_variants_are_built_once_shapes_counted_once_and_sets_of_sources_hashed_once(write, monkeypatch):
    calls = []
    for module, name in ((workload, "build_model"), (workload, "count"), (ids, "source_digest")):
        known = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *of, f=known, **how: (calls.append(f.__name__), f(*of, **how))[1]
        )
    plan_here(write(STUDY.replace("seeds:", "  training.lr: [0.1, 0.2]\nplacebo: on\nseeds:")))
    # Three models, and the baseline's again for those that train it otherwise; two with the same products.
    assert Counter(calls) == {"build_model": 4, "count": 2, "source_digest": 3}


@pytest.mark.slow
def test_what_is_matched_stands_beside_the_sizes(plan, write):
    text = STUDY + "match: {parameters: baseline, by: model.feedforward.expansion}\n"
    sizes, matched = tables(plan(text))[:2]
    rows = features(write(text))["match"]["rows"]
    assert [row["variant"] for row in rows] == [row["variant"] for row in matched.rows]
    for given, row in zip(rows, matched.rows, strict=True):
        assert numbers(sizes, "parameters")[short_name(given["variant"], {})] == [given["achieved"]]
        assert float(row["value"]) == given["value"]
        residual = float(row["residual"].replace("−", "-").removesuffix(" %"))
        assert residual == round(100 * given["residual"], 2)


@pytest.mark.slow
def test_the_time_that_is_left_is_judged_by_the_trials_that_have_run(plan, write, tmp_path):
    store, experiment = Store(tmp_path / "results/store"), prepare(write(STUDY))
    compute = experiment.baseline_description.compute
    for cell in experiment.cells()[:4]:
        store.save(
            Record.of(cell.trial, **FIVE_MINUTES, environment={"machine": machine(), "compute": compute})
        )
    beside = Overhead(start=16.0, report=10.0)
    last = ReportSources("digest", [], {}, {}, {}, overhead=beside)
    StudyFolder(tmp_path / "results", "elsewhere").trial_list.note_report(last)
    found = plan(STUDY)
    assert found.overhead == beside
    assert found.expected_seconds == 26 + 600 / min(2, default_jobs())
    assert any(", of which 26 s is starting and reporting, judging by" in line for line in lines(found))
    assert any(
        f"2 trials to train: about {duration(found.expected_seconds)}" in line for line in lines(found)
    )
    cached = numbers(tables(found)[0], "cached", "to train")
    assert (cached["baseline"], cached["no positions"]) == ([2, 0], [1, 1])
    # A study that has none of them, of twice the computation, by what these took here.
    other = plan(STUDY, None, "name=other", "training.steps=2000")
    assert other.expected_seconds == pytest.approx(26 + 6 * 600 / min(6, default_jobs()))
    assert plan(STUDY, None, "name=other", "seeds=[7]").expected_seconds == pytest.approx(
        26 + 3 * 300 / min(3, default_jobs())
    )
    # That of the study itself counts, where it is known.
    StudyFolder(tmp_path / "results", "sizes").trial_list.note_report(
        replace(last, overhead=Overhead(1.0, 2.0))
    )
    StudyFolder(tmp_path / "results", "elsewhere").trial_list.note_report(last)
    assert plan(STUDY).expected_seconds == 3 + 600 / min(2, default_jobs())


@pytest.mark.slow
def test_the_overhead_of_a_first_run_is_judged_by_the_time_that_the_plan_took_to_get_there(plan, monkeypatch):
    monkeypatch.setattr("ablate.pipeline.plan.plan.BEGAN", time.monotonic() - 10)
    found = plan(STUDY)
    assert found.expected_seconds is None
    age = found.overhead.seconds / RUN_PER_PLAN / guessed(1.0).seconds
    assert 10 < age < 60
    said = f"Starting and reporting take about {duration(found.overhead.seconds)} more."
    assert [line for line in lines(found) if line.endswith(said)]


@pytest.mark.slow
def test_the_time_of_a_training_of_ones_own_code_counts_the_start_of_its_process(tmp_path, write):
    (tmp_path / "late.sh").write_text("sleep 0.5; echo loss 1")
    path = write(LATE)
    options = Options(jobs=1, results=tmp_path / "results")
    study, stages = study_of(path, options)
    assert plan_study(study, stages, options, pytest.fail).expected_seconds is None
    study.workload.freeze()
    ended = []
    InProcess(reference(study, options.results)).run([study.cells()[0].trial], ended.append)
    (record,) = (event.record for event in ended if isinstance(event, Ended))
    assert record.status == "completed", record.reason
    Store(options.results / "store").save(record)
    found = plan_study(study, stages, options, pytest.fail)
    assert found.to_train == 3
    assert found.expected_seconds == found.overhead.seconds + 3 * record.seconds
    assert record.seconds > 0.5


@pytest.mark.slow
def test_the_budget_of_a_search(plan):
    over = "{model.mixer: {choice: [attention, lstm]}, model.mixer.num_heads: {choice: [1, 2], when: %s}}"
    search = "search: {over: %s, trials: 6, seeds: 2, winners: 2}\n" % (over % "model.mixer=attention")
    assert any(
        "6 settings by tpe" in line and "at most 12 trials" in line for line in lines(plan(STUDY + search))
    )
    tune = "tune: {over: {training.lr: {float: [1e-4, 1e-2], log: true}}, trials: 3}\n"
    # The search, and the 6 trials of the study, each at the chosen setting and at most at both others.
    planned = plan(STUDY + tune)
    assert planned.at_most == 27 + 6 * 3
    assert any("4 trainings" in line and "12 at most in all" in line for line in lines(planned))
    # Each seed tunes for itself, so that what is judged is among what was tried.
    planned = plan(STUDY + tune.replace("trials: 3", "trials: 3, each_seed: on"))
    assert planned.at_most == 18 + 6
    tuned = [line for line in lines(planned) if "tune: " in line]
    assert "on each of 2 seeds of the study: at most 18 trials; then each variant is judged" in tuned[0]
    assert "Runner-up settings are not evaluated." in tuned[0]
    assert not any("Runner-up settings are evaluated" in line for line in lines(planned))


# What it can detect


@pytest.fixture
def stored(write: Callable[..., Path], tmp_path: Path) -> Callable[..., None]:
    """Puts trials of the toy study into the store."""

    def stored(values: Mapping[str, Sequence[float]]) -> None:
        store, cells = Store(tmp_path / "results/store"), prepare(write(TOY)).cells()
        StudyFolder(tmp_path / "results", "toy").trial_list.add(cells)
        for cell in cells:
            metrics = {"accuracy": values[cell.variant][cell.seed]}
            store.save(Record.of(cell.trial, metrics=metrics))

    return stored


def prospects(found: StudyPlan) -> dict[str, Prospect]:
    (task,) = found.power.tasks
    return {one.variant: one for one in task.prospects}


def family(power: Power) -> tuple[int, int, int, float]:
    return power.seeds, power.comparisons, power.looks, pytest.approx(power.level)


def test_before_any_trial_it_speaks_in_standard_deviations(plan, tmp_path):
    found = plan()
    assert found.power.tasks[0].effect == pytest.approx(OF_ONE, 1e-6)
    assert family(found.power) == (3, 2, 1, 0.025)
    assert not found.power.source
    assert any("once three seeds have run" in " ".join(line.split()) for line in lines(found))
    assert not (tmp_path / "results").exists()


def test_the_trials_in_the_store_tell_the_spread(plan, stored):
    stored(KNOWN)
    found = plan(TOY, 0.2)
    rows = prospects(found)
    for name, spread, seeds in ((EFFECT, 0.1, 6), (NOISE, 0.2, 13)):
        one = rows[name]
        assert (one.pairs, one.spread, one.seeds) == (3, pytest.approx(spread), seeds)
        assert one.detectable == pytest.approx(OF_ONE * spread, 1e-6)
    assert (found.power.source, found.power.asked) == ("trials in the store", 0.2)
    assert any("10 seeds for the median" in line for line in lines(found))


def test_a_report_tells_it_where_the_store_does_not(plan, tmp_path):
    found = study(KNOWN, tasks={"coin": {"accuracy": ACCURACY}})
    StudyFolder(tmp_path / "results", "toy").save_evidence(found)
    told = plan(TOY + "variants: {new: {model.width: 5}}\n")
    assert told.power.source == f"the last report, {tmp_path / 'results/toy'}"
    assert prospects(told)[EFFECT].spread == pytest.approx(0.1)
    assert prospects(told)["new"] == Prospect("new", why="pairs")
    assert not plan(TOY.replace("name: accuracy", "name: loss")).power.source  # a report on another metric


@pytest.mark.slow
def test_one_seed_and_no_variant(plan, stored):
    stored(KNOWN)
    found = plan(TOY, 0.2, "seeds=1")
    assert found.power.tasks[0].effect is None
    assert {one.detectable for one in prospects(found).values()} == {None}
    assert not any("three seeds" in line for line in lines(plan(TOY, None, "seeds=1", "name=untried")))
    for detect in (None, 0.2):
        alone = plan(ALONE, detect)
        assert (alone.power.comparisons, alone.power.tasks) == (0, [])
        assert any("no variant to compare" in line for line in lines(alone)) == (detect is not None)


def test_seeds_until_settled_are_planned_for_the_last_look(plan):
    power = plan(TOY, None, "seeds={min: 5, max: 20}").power
    assert family(power)[:3] == (20, 2, 4)
    assert 0.009 < power.level < 0.025
    assert power.tasks[0].effect == pytest.approx(0.84, abs=0.01)


def test_the_steps_of_a_path_are_compared_before_they_are_chosen(plan):
    path = ALONE + "variants: {both: {model.effect: 0.2, model.noise: 0.3}}\ndesign: {name: path, to: both}\n"
    found = plan(path, None, "seeds=5")
    assert family(found.power) == (5, 2, 1, 0.025)
    # Two changes on three tuning seeds; then the baseline, a step and the target on five.
    assert any("At most 21 trials to train" in line for line in lines(found))


@pytest.mark.slow
def test_an_all_or_nothing_task_is_planned_by_rates(plan):
    found = plan(RECALL, 0.46875)
    (task,) = found.power.tasks
    assert (task.by_rate, task.prospects, task.seeds) == (True, (), 12)
    assert task.failure_rate == pytest.approx(0.7, abs=0.05)


def test_numbers_that_no_option_takes_are_mistakes_in_the_call(toy_study):
    for words in (("--seeds", "9" * 5000), ("--seeds", "٣"), ("--jobs", "1e9"), ("--detect", "nan")):
        done = ablate_here("plan", toy_study, *words, cwd=toy_study.parent)
        assert (done.returncode, f"Invalid value for '{words[0]}'" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("scales", "detect", "is_possible"),
    [
        *[
            ((0.1, 0.2), 2.0, True),
            ((0.1, 0.2), 9.5, False),
            ((2.0, 4.0), 0.9, False),
            ((2.0, 4.0), 0.3, True),
        ],
        *[((1.0, 1.0), 0.9, True), ((1.0, 1.0), 1.1, False)],
    ],
)
def test_a_difference_to_detect_in_a_mean_of_several_scales_is_in_units_of_these(
    plan, scales, detect, is_possible
):
    text = "name: two\ntask: {name: digits}\nmodel: {d_model: 16, num_layers: 1}\ntraining: {steps: 20}\n"
    text += (
        "factors: {model.position: [none]}\nmetric: {name: accuracy, margin: 0.02}\nseeds: 4\nover: mean\n"
    )
    text += "conditions: {slow: {training.lr: 0.002}, fast: {training.lr: 0.01}}\n"
    slow, fast = scales
    text += f"scale: {{slow: {slow}, fast: {fast}}}\n"
    if is_possible:
        plan(text, detect)
        return
    with pytest.raises(AblateError, match="--detect"):
        plan(text, detect)
