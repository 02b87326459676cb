"""Rates are measured once and kept, since the trials depend on them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ablate.base.errors import AblateError, StudyError
from ablate.commands.run import execute
from ablate.records.folder import StudyFolder
from ablate.speed.rates import Timing
from ablate.stages.match import kept_rates
from ablate.stages.options import Options
from ablate.study.prepare import prepare

CONFIGS = {"baseline": {"a": 1}, "x": {"a": 2}, "placebo": {"a": 1}}
GROUPS = {"recall": CONFIGS}


class Stopwatch:
    """Measures what it is told, and remembers of which configs."""

    def __init__(self, **seconds: list[float]) -> None:
        self.seconds = seconds
        self.asked: list[list[str]] = []

    def __call__(self, configs: Mapping[str, Any]) -> Timing:
        self.asked.append(list(configs))
        return Timing([self.seconds[name] for name in configs], "this machine")


def key(config: Mapping[str, Any]) -> str:
    return str(config["a"])


def of(
    results: Path, measure: Any = None, groups: Any = GROUPS, *, fresh: bool = False
) -> dict[str, float] | None:
    return kept_rates(StudyFolder(results, "fair"), groups, key, measure, fresh=fresh)


def test_the_median_over_blocks_is_kept(tmp_path: Path) -> None:
    watch = Stopwatch(baseline=[0.2, 0.1, 9.0], x=[0.4, 0.3, 0.5])
    assert of(tmp_path, watch) == {"1": 0.2, "2": 0.4}
    assert watch.asked == [["baseline", "x"]]
    later = Stopwatch()
    assert of(tmp_path, later) == of(tmp_path) == {"1": 0.2, "2": 0.4}
    assert later.asked == []
    kept = json.loads((tmp_path / "fair" / "rates.json").read_text())
    entry = kept["rates"]["2"]
    assert "measured before training on one thread" in kept["about"]
    assert (entry["variant"], entry["task"], entry["machine"]) == ("x", "recall", "this machine")
    assert entry["blocks"] == [0.4, 0.3, 0.5]


def test_variants_that_cannot_be_matched_are_refused_before_anything_is_held(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    """Three steps at 1 s are not whole steps at .77 s within 1 %."""
    path = write(
        "name: fair\ntask: recall\nmodel: {d_model: 8, mixer: {num_heads: 2}}\ntraining: {steps: 3}\n"
        "factors: {model.position: [none]}\nmatch: {seconds: baseline, by: training.steps}\n"
    )
    experiment = prepare(path)
    baseline, other = (experiment.rate_key(variant.configs[0]) for variant in experiment.variants)
    StudyFolder(tmp_path / "results", "fair").save_rates(
        {baseline: {"seconds_per_step": 1.0}, other: {"seconds_per_step": 0.77}}
    )
    options = Options(results=tmp_path / "results", jobs=0)
    with pytest.raises(StudyError, match="cannot give the baseline's 3 seconds of training within 1 %"):
        execute(path, options, Console(file=io.StringIO()))
    assert not (tmp_path / "results/store").exists()


def test_without_leave_nothing_is_measured_or_written(tmp_path: Path) -> None:
    assert of(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_new_variant_is_measured_in_units_of_the_kept_baseline(tmp_path: Path) -> None:
    of(tmp_path, Stopwatch(baseline=[0.2], x=[0.4]))
    # The machine is half as fast today.
    watch = Stopwatch(baseline=[0.4], y=[1.2])
    groups = {"recall": {**CONFIGS, "y": {"a": 3}}}
    found = of(tmp_path, watch, groups)
    assert watch.asked == [["baseline", "y"]]
    assert found == {"1": 0.2, "2": 0.4, "3": pytest.approx(0.6)}


def test_another_baseline_has_all_measured_again(tmp_path: Path) -> None:
    of(tmp_path, Stopwatch(baseline=[0.2], x=[0.4]))
    watch = Stopwatch(baseline=[0.7], x=[0.9])
    found = of(tmp_path, watch, {"recall": {"baseline": {"a": 5}, "x": {"a": 2}}})
    assert watch.asked == [["baseline", "x"]]
    assert found is not None
    assert (found["5"], found["2"]) == (0.7, 0.9)


def test_fresh_measures_again(tmp_path: Path) -> None:
    of(tmp_path, Stopwatch(baseline=[0.2], x=[0.4]))
    watch = Stopwatch(baseline=[0.3], x=[0.5])
    assert of(tmp_path, watch, fresh=True) == {"1": 0.3, "2": 0.5}
    assert of(tmp_path) == {"1": 0.3, "2": 0.5}


def test_what_another_run_has_measured_meanwhile_stands(tmp_path: Path) -> None:
    class Slow(Stopwatch):
        def __call__(self, workload: Any) -> Any:
            of(tmp_path, Stopwatch(baseline=[0.2], x=[0.4]))
            return super().__call__(workload)

    assert of(tmp_path, Slow(baseline=[0.3], x=[0.5])) == {"1": 0.2, "2": 0.4}


def test_every_task_has_rates_of_its_own(tmp_path: Path) -> None:
    watch = Stopwatch(baseline=[0.2], x=[0.4])
    groups = {"recall": CONFIGS, "copy": {"baseline": {"a": 7}, "x": {"a": 8}}}
    assert of(tmp_path, watch, groups) == {"1": 0.2, "2": 0.4, "7": 0.2, "8": 0.4}
    assert watch.asked == [["baseline", "x"], ["baseline", "x"]]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", '{"rates": {"1": {}}}', '{"rates": {"1": {"seconds_per_step": 0}}}'),
        '{"rates": {"1": {"seconds_per_step": 0.2}}, "digest": "of another"}',
    ],
)
def test_a_table_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "fair").mkdir()
    (tmp_path / "fair" / "rates.json").write_text(text)
    with pytest.raises(AblateError, match=r"is not a table of rates \(.*\); restore it, or remove it"):
        of(tmp_path)
