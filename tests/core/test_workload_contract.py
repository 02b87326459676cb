"""The promises of every workload, checked over the registry and the workloads of the tests."""

import atexit
import copy
import functools
import json
import math
import re
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from harness import ablate, ablate_here, content
from own import CONFIGS, METRICS, OPTIONS, OWN

from ablate import load
from ablate.base.datafile import FOLDER
from ablate.base.errors import Invalid
from ablate.base.plugins import load_plugins
from ablate.base.registry import CATALOGUE
from ablate.core.data_statement import DataStatement
from ablate.core.metric import Description, Metric
from ablate.core.record import INPUTS
from ablate.core.speed import CALLS
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.execution.run_trial import run_trial
from ablate.study.patch import apply_patches, value_at
from ablate.study.schema import config_model

TESTS = Path(__file__).parents[1]
CATALOGUE.load_builtin()
load_plugins(TESTS / f"{name}.py" for name in ("apart", "parabola", "peaks", "toy"))

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


@functools.cache
def own_copy():
    """The user's code in a folder of its own: trials of it get a copy, and in this repository one of all its files."""
    folder = Path(tempfile.mkdtemp(prefix="ablate-own-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copytree(OWN, folder, dirs_exist_ok=True)


def instance(name):
    workload = CATALOGUE.get("workload", name)()
    workload.folder = own_copy()
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
    return (
        config_model(workload).model_validate(SMALL.get(name, {}), context={FOLDER: own_copy()}).model_dump()
    )


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
        wider.folder = own_copy()
        assert part.threads == 1
        assert dict(wider.identity(config)) == {**instance(name).identity(config), "threads": "3"}

    def test_a_trial_gives_finite_metrics(self, workload, config):
        record = workload.train(Trial("id", config, 7, "placebo"), Emitted())
        assert (record.id, record.config, record.seed, record.stream) == ("id", config, 7, "placebo")
        assert record.status == "completed"
        assert all(math.isfinite(value) for value in record.metrics.values() if value is not None)
        assert all(record.metrics[name] is not None for name in workload.describe(config).metrics)

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

    def test_a_whole_run_is_timed_and_leaves_nothing_or_is_refused(self, workload, config):
        trial = Trial("id", config, 0)
        if not workload.times_runs:
            with pytest.raises(TypeError, match="has no runs that could be timed"):
                workload.time_run(trial)
            return
        timed = workload.time_run(trial)
        assert timed.record.status == "completed"
        assert content(timed.record) == content(workload.train(trial, Emitted()))
        assert timed.seconds > 0
        assert timed.cpu_seconds > 0
        assert not workload.operations(config)

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

    def test_a_worker_that_unpacks_knows_what_the_driver_knows(self, name, workload, config):
        identity = dict(workload.identity(config))
        there = instance(name)
        there.folder = OWN / "is not here"
        packed = workload.pack()
        if packed:
            there.unpack(packed)
        assert dict(there.identity(config)) == identity
        assert there.command_line(config, 0) == workload.command_line(config, 0)
        assert bool(packed) == workload.runs_apart

    def test_its_record_keeps_what_it_depends_on_beside_config_and_code(self, workload, config):
        inputs = workload.inputs(Trial("id", config, 0))
        assert inputs == workload.inputs(Trial("another id", config, 1, "placebo"))
        record = run_trial(workload, Trial("id", config, 0), lambda event: False)
        assert record.environment.get(INPUTS, "") == inputs
        assert bool(inputs) == bool(workload.command_line(config, 0))
        change = workload.code_change(record, config) if inputs else ""
        assert isinstance(change, str)

    def test_what_it_says_of_a_study_has_the_promised_form(self, workload, config):
        assert all(isinstance(word, str) for word in workload.command_line(config, 0))
        assert isinstance(workload.more_at_once(config, 8), str)
        assert not [text for text in workload.advice(config) if not text or text.endswith(".")]
        assert workload.untold({"baseline": config}, [], {}) == []
        judged, *_ = workload.describe(config).metrics
        assert isinstance(workload.stated(config, judged), DataStatement | None)
        try:
            workload.check_best_validation(judged, workload.describe(config).metrics)
        except Invalid as error:
            assert [problem.path for problem in error.problems] == [()]

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


APART = f"""\
name: apart
workload: apart
plugins: [{TESTS / "apart.py"}]
settings: {{rate: 0.25}}
factors: {{settings.rate: [1.0]}}
seeds: 2
"""


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """Returns a function that runs a command on the study of a plugin that runs apart, with changes of its text."""
    monkeypatch.setenv("ABLATE_TRACKING", "off")
    for name in ("walk.py", "ends.py"):
        shutil.copy(OWN / name, tmp_path)

    def done(command, *options, old="", new=""):
        (tmp_path / "study.yaml").write_text(APART.replace(old, new) if old else APART)
        return ablate_here(command, "study.yaml", *options, cwd=tmp_path)

    return done


def test_a_plan_of_a_plugin_has_what_that_of_own_code_has(apart):
    planned = apart("plan").stdout
    assert "the baseline walks too slowly" in planned
    assert "(99 with wider doors)" in planned
    for rate in ("0.25", "1.0"):
        assert re.search(rf"--rate={rate} --seed=0$", planned, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("settings.rate: [1.0]", "settings.dead: [1]", "factors.settings.dead[0]: walks as it does"),
        ("seeds: 2", "seeds: 2\nmetric: {at: best_validation}", "metric.at: is not known of val_loss"),
        (
            "seeds: 2",
            "seeds: 2\ntune: {over: {settings.dead: {choice: [1, 2]}}, trials: 2}",
            "tune: varies what nothing hears",
        ),
    ],
)
def test_a_plugin_refuses_what_own_code_refuses(old, new, said, apart):
    done = apart("plan", old=old, new=new)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_trials_of_a_plugin_are_reused_for_other_code_as_those_of_own_code_are(apart, tmp_path):
    done = apart("run", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    facts = load(tmp_path / "results" / "apart").evidence.facts
    assert facts.tasks[0].stated == DataStatement(test="held_out")
    assert "ablate_commit" in facts.environment
    program = tmp_path / "walk.py"
    program.write_text(f"# Another first line\n{program.read_text()}")
    for command in ("plan", "run"):
        done = apart(command)
        assert "4 finished trials" in done.stdout + done.stderr
        assert "+# Another first line" in done.stdout + done.stderr
    kept = apart("run", "--jobs", 1, "--keep-finished")
    assert (kept.returncode, kept.stdout.count("4 trials to train")) == (0, 0)
    assert "4 of 4 trials ran with older code" in (tmp_path / "results/apart/report.md").read_text()


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
