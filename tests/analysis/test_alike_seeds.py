"""Seeds that are copies of one another but for jitter; and honest seeds, which are none."""

import numpy as np
import pytest
from made_evidence import study

import ablate
from ablate.analysis.alike_seeds import alike_seeds, judged_alike_seeds
from ablate.core.metric import Metric
from ablate.report.section import ReportData
from ablate.report.sentences.repeats import repeat_lines

METRIC = {"score": Metric("max")}
NAMES = ("baseline", "a", "b")


def judged(values, **changes):
    return study(dict(zip(NAMES, values, strict=False)), metric="score", metrics=METRIC, **changes)


def groups(values, **changes):
    evidence = judged(values, **changes)
    return judged_alike_seeds(evidence, evidence.facts.tasks[0])


def honest(rng, num_seeds=6):
    return 0.8 + 0.05 * rng.normal(size=(3, num_seeds))


def in_threes(rng, num_seeds=6, jitter=1e-5):
    """What `seed //= 3` gives on a GPU that jitters."""
    values = honest(rng, num_seeds)[:, np.arange(num_seeds) // 3]
    return values + jitter * rng.uniform(-1, 1, values.shape)


def test_seeds_in_threes_are_two_whatever_the_jitter():
    rng = np.random.default_rng(0)
    for jitter in (1e-7, 1e-5):
        assert groups(in_threes(rng, jitter=jitter)) == [[0, 1, 2], [3, 4, 5]]
    assert groups(in_threes(rng, num_seeds=7)) == [[0, 1, 2], [3, 4, 5]]


def test_copies_that_dominate_are_found_as_long_as_two_seeds_differ_from_them():
    rng = np.random.default_rng(1)
    values = honest(rng, 10)[:, [0, 1, 2, 2, 2, 2, 2, 2, 2, 2]] + 1e-5 * rng.normal(size=(3, 10))
    assert groups(values) == [[2, 3, 4, 5, 6, 7, 8, 9]]


def test_a_seed_that_fails_with_every_variant_makes_no_copies_of_the_others():
    values = honest(np.random.default_rng(2), 10)
    values[:, 7] = 1e4
    assert groups(values) == []


def test_losses_that_crowd_near_zero_beside_some_that_failed_are_no_copies():
    found = 0
    for number in range(60):
        rng = np.random.default_rng(number)
        values = np.exp(rng.normal(-10, 1, size=(2, 12)))
        values[rng.random(values.shape) < 0.3] += 0.05 * rng.random()
        found += groups(values) != []
    assert found <= 3


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("num_examples", [0, 100, 1797, 10_000])
def test_honest_seeds_are_none_as_full_floats_or_accuracies_on_a_grid(num_examples):
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(50):
        shared = rng.normal(size=20)
        values = 0.8 + 0.01 * (0.9 * shared + 0.44 * rng.normal(size=(3, 20)))
        if num_examples:
            values = np.round(values * num_examples) / num_examples
        found += bool(groups(values))
    assert found == 0


def test_runs_that_have_nothing_left_to_gain_are_none():
    rng = np.random.default_rng(4)
    values = np.minimum(honest(rng, 20) + 0.2, 1.0)
    assert (values == 1.0).mean() > 0.3
    assert groups(values) == []


def test_one_variant_in_which_two_seeds_differ_parts_them():
    values = in_threes(np.random.default_rng(5))
    values[2, 1] += 0.001
    assert groups(values) == [[0, 2], [3, 4, 5]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_run_without_a_value_parts_nothing_and_tells_nothing(value):
    values = in_threes(np.random.default_rng(6), num_seeds=9)
    values[1, 0] = value
    assert groups(values) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_coarse_metrics_and_times_do_not_part_what_a_loss_shows():
    rng = np.random.default_rng(7)
    losses = in_threes(rng)
    evidence = study(
        dict(zip(NAMES, np.round(losses, 2) + 0.01 * rng.integers(0, 2, losses.shape), strict=True)),
        metrics={"accuracy": Metric("max"), "loss": Metric("min"), "train_seconds": Metric("min")},
        others={
            "loss": dict(zip(NAMES, losses, strict=True)),
            "train_seconds": dict(zip(NAMES, rng.normal(size=losses.shape), strict=True)),
        },
    )
    task = evidence.facts.tasks[0]
    assert alike_seeds(evidence.trials, task.metrics) == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.slow
def test_a_report_and_an_analysis_name_them(tmp_path):
    values = in_threes(np.random.default_rng(8))
    evidence = judged(values)
    (line,) = repeat_lines(ReportData(evidence, evidence.trials[:0], evidence.trials[:0]))
    assert "0–2; 3–5" in line
    rows = evidence.trials[["variant", "seed", "score"]]
    told = ablate.analyse(rows, metric="score", direction="max", baseline="baseline", results=tmp_path)
    (caution,) = [text for text in told.evidence.facts.cautions if "thousandth" in text]
    assert "0–2; 3–5" in caution
    plain = ablate.analyse(
        rows.assign(score=honest(np.random.default_rng(9)).ravel()),
        metric="score",
        direction="max",
        baseline="baseline",
        results=tmp_path / "honest",
    )
    assert not [text for text in plain.evidence.facts.cautions if "thousandth" in text]
