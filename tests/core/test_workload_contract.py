"""The promises of every workload, checked over the registry and the workloads of the tests."""

import copy
import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from harness import ablate, content
from own import CONFIGS, METRICS, OPTIONS, OWN

from ablate import load
from ablate.base.datafile import FOLDER
from ablate.base.errors import Invalid
from ablate.base.plugins import load_plugins
from ablate.base.registry import CATALOGUE
from ablate.core.metric import Description, Metric
from ablate.core.speed import CALLS
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.study.patch import apply_patches, value_at
from ablate.study.schema import config_model

TESTS = Path(__file__).parents[1]
CATALOGUE.load_builtin()
load_plugins(TESTS / f"{name}.py" for name in ("parabola", "peaks", "toy"))

SMALL = {
    "sequence": {
        "task": "recall",
        "model": {"d_model": 8, "num_layers": 1, "mixer": {"num_heads": 2}},
        "training": {"steps": 6, "eval_every": 2, "batch_size": 16},
    },
    "toy": {"task": {"name": "coin"}},
    "peaks": {"task": {"name": "peak"}},
    **{
        kind: {"workload": OPTIONS[kind], "config": CONFIGS[kind], "metrics": METRICS[kind]}
        for kind in OPTIONS
    },
}
"""Settings of a quick trial, where the defaults are not enough."""
FAULTY = {
    "sequence": {"model.mixer.num_heads": 3, "training.warmup_steps": 7},
    "toy": {"model.width": 13},
    "peaks": {"model.heads": 7},
}
"""Settings that pass the schema and not `check`."""


def instance(name):
    workload = CATALOGUE.get("workload", name)()
    workload.folder = OWN
    workload.load_parts()
    return workload


class Emitted:
    """A driver: keeps the reports and states, and asks to stop at the report of that number."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.reports = []
        self.states = []

    def __call__(self, step, metrics, state=None):
        if state is not None:
            self.states.append(state)
        if not metrics:
            return False
        self.reports.append((step, dict(metrics)))
        return len(self.reports) == self.stop_at


@pytest.fixture(params=CATALOGUE.names("workload"))
def name(request):
    return str(request.param)


@pytest.fixture
def workload(name):
    return instance(name)


@pytest.fixture
def config(name, workload):
    return config_model(workload).model_validate(SMALL.get(name, {}), context={FOLDER: OWN}).model_dump()


def of_each_workload(test):
    """Runs a test with every workload; those of own code but the command are slow."""
    names = []
    for name in CATALOGUE.names("workload"):
        marks = [pytest.mark.slow] if name in ("script", "function") else []
        names.append(pytest.param(name, marks=marks))
    return pytest.mark.parametrize("name", names, indirect=True)(test)


class TestWorkload:
    def test_its_schema_survives_json(self, workload, config):
        assert isinstance(workload, Workload)
        assert set(config) == set(workload.schema())
        again = config_model(workload).model_validate(json.loads(json.dumps(config)))
        assert again.model_dump() == config

    def test_a_config_that_cannot_be_built_is_refused_with_its_paths(self, name, workload, config):
        workload.check(config)
        for path, value in FAULTY.get(name, {}).items():
            with pytest.raises(Invalid) as caught:
                workload.check(apply_patches(config, {path: value}))
            for problem in caught.value.problems:
                assert problem.path == tuple(path.split("."))
                assert problem.rule
                assert problem.given == value

    def test_its_description_is_complete(self, workload, config):
        described = workload.describe(config)
        assert isinstance(described, Description)
        assert described.metrics
        for metric in described.metrics.values():
            assert isinstance(metric, Metric)
            assert metric.direction in ("max", "min")
            assert metric.resolution >= 0
            if metric.floor is not None and metric.ceiling is not None:
                assert (metric.floor < metric.ceiling) == (metric.direction == "max")
        assert workload.parameters(config) == described.parameters
        emitted = Emitted()
        record = workload.train(Trial("id", config, 0), emitted)
        assert set(described.metrics) <= set(record.metrics)
        if described.reports is not None:
            assert [step for step, _ in emitted.reports] == list(described.reports)

    def test_a_config_always_has_the_same_identity(self, name, workload, config):
        other, turned = instance(name), dict(reversed(copy.deepcopy(config).items()))
        assert dict(other.identity(turned)) == dict(workload.identity(config))
        assert all(isinstance(v, str) for pair in workload.identity(config).items() for v in pair)
        assert other.fingerprint(turned) == workload.fingerprint(config)
        assert other.irrelevant() == workload.irrelevant()
        for path in workload.irrelevant():
            value_at(config, path)
        assert workload.sources(config_model(workload).model_validate(config))

    def test_more_threads_are_part_of_the_identity(self, name, config):
        part = CATALOGUE.get("workload", name)
        wider = type("Wider", (part,), {"threads": 3})()
        assert part.threads == 1
        assert dict(wider.identity(config)) == {**part().identity(config), "threads": "3"}

    @of_each_workload
    def test_a_trial_gives_finite_metrics(self, workload, config):
        record = workload.train(Trial("id", config, 7, "placebo"), Emitted())
        assert (record.id, record.config, record.seed, record.stream) == ("id", config, 7, "placebo")
        assert record.status == "completed"
        assert all(math.isfinite(value) for value in record.metrics.values() if value is not None)
        assert all(record.metrics[name] is not None for name in workload.describe(config).metrics)

    @of_each_workload
    def test_only_seed_and_stream_decide(self, workload, config):
        first, same, seed, stream = (
            content(workload.train(Trial("id", config, *key), Emitted()))
            for key in [(0, ""), (0, ""), (1, ""), (0, "placebo")]
        )
        assert first == same
        assert first != seed
        assert first != stream
        assert seed != stream

    def test_what_can_be_timed_can_be_repeated_in_any_order(self, workload, config):
        copies = [workload.operations(copy.deepcopy(config)) for _ in range(2)]
        for operations in [*copies, *copies]:
            assert [*operations] == [call for call in CALLS if call in operations]
            for operation in operations.values():
                operation.run()
                assert operation.examples > 0
                assert operation.tokens > 0
                assert operation.device in ("cpu", "cuda")
        for call, operation in copies[0].items():
            assert operation.flops() == copies[1][call].flops()

    @of_each_workload
    def test_it_reports_in_order_and_stops_when_told(self, workload, config):
        whole, stopped = Emitted(), Emitted(stop_at=2)
        workload.train(Trial("id", config, 0), whole)
        assert all(earlier < later for (earlier, _), (later, _) in pairwise(whole.reports))
        assert all(math.isfinite(value) for _, metrics in whole.reports for value in metrics.values())
        record = workload.train(Trial("id", config, 0, prunable=True), stopped)
        assert record.status == "pruned"
        assert record.reason
        assert stopped.reports == whole.reports[:2]
        assert len(whole.reports) > 2

    def test_it_has_the_abilities_that_it_claims(self, workload, config):
        trial = Trial("id", config, 0, checkpoint="final" if workload.keeps_weights else "none")
        whole = workload.train(trial, Emitted())
        if workload.keeps_weights:
            assert whole.kept[0] == "final"
            assert whole.weights is not None
            workload.check_evaluation(config, config["task"])
            found = workload.evaluate(trial, whole.weights, config["task"]).metrics
            for name in workload.describe(config).metrics:
                assert found[name] == pytest.approx(whole.metrics[name])
        else:
            assert whole.weights is None
            with pytest.raises(TypeError, match="keeps no weights"):
                workload.evaluate(trial, b"", {})
        if workload.resumes:
            emitted = Emitted()
            workload.train(Trial("id", config, 0, save_every=2), emitted)
            resumed = workload.train(Trial("id", config, 0, state=emitted.states[0]), Emitted())
            assert content(resumed) == content(workload.train(Trial("id", config, 0), Emitted()))
        if workload.steps_path is not None:
            short = apply_patches(config, {workload.steps_path: 3})
            workload.train(Trial("id", short, 0), emitted := Emitted())
            assert emitted.reports[-1][0] == 3


def test_a_workload_without_metrics_says_so():
    silent = type("Silent", (type(instance("parabola")),), {"metrics": {}})()
    with pytest.raises(TypeError, match="Silent must define `metrics` or override `describe`"):
        silent.describe({})


@pytest.mark.slow
def test_a_workload_that_only_trains_has_about_twenty_lines_and_runs(tmp_path):
    lines = (TESTS / "parabola.py").read_text().partition("class Training")[2].splitlines()
    assert len([line for line in lines if line.strip()]) <= 20
    (tmp_path / "s.yaml").write_text(
        f"name: s\nworkload: parabola\nplugins: [{TESTS / 'parabola.py'}]\nseeds: 2\n"
        "factors: {training.lr: [0.2]}\nclaims: [training.lr=0.2 beats training.lr=0.1 on loss]\n"
    )
    done = ablate("run", "s.yaml", "--jobs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = load(tmp_path / "results" / "s")
    assert len(results.trials) == 2 * 2
    assert list(results.comparisons.variant) == ["training.lr=0.2"]
