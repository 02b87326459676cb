"""Folders of runs as tools have written them: one contract of all readers, and what none of them may fall for."""

import json
import os
import re
import runpy
import shutil
import time
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from harness import ablate_here
from scipy import stats

from ablate.base.errors import AblateError, Invalid
from ablate.runs.cells import number_in
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read
from ablate.runs.shape_in_words import shape_of
from ablate.runs.sources import READERS, find_runs

RECORDED = Path(__file__).parent / "recorded"
accuracy = runpy.run_path(str(RECORDED / "make.py"))["accuracy"]
"""The accuracy that the recorded runs of a learning rate and a seed have after an epoch."""
SEEDS = range(3)


@dataclass(frozen=True)
class Recorded:
    """A recorded folder, with what the call names and what its reader must find."""

    path: str
    kind: str
    metric: str
    variants: tuple[str, str]
    """The names of the runs with learning rates 0.1, which is the baseline, and 0.3."""
    rows: int
    """The rows of a run."""
    factor: float = 1.0
    places: float = 1e-12
    """How exactly the tool has written the metric."""
    read: dict[str, str] = field(default_factory=dict)
    needs: str | None = None
    """The package without which it is not read."""

    @property
    def options(self):
        return AnalysisOptions(baseline=self.variants[0], metric=self.metric, direction="max", read=self.read)

    @property
    def words(self):
        words = ["--baseline", self.variants[0], "--metric", self.metric, "--direction", "max"]
        for name, pattern in self.read.items():
            words += ["--read", f"{name}={pattern}"]
        return words


BY_SETTING = ("lr=0.1", "lr=0.3")
BY_FOLDER = ("lr0.1", "lr0.3")
OF_HYDRA = ("optimizer.lr=0.1", "optimizer.lr=0.3")
PATTERNS = {"epoch": r"(?i)epoch (\d+)", "acc": r"acc\w*(?: =|:) (\S+)"}
ALL = {
    "hydra": Recorded("hydra/multirun", "a Hydra multirun", "accuracy", OF_HYDRA, 1),
    "hydra's logs": Recorded(
        "hydra/multirun", "a Hydra multirun", "acc", OF_HYDRA, 3, factor=100, places=0.006, read=PATTERNS
    ),
    "lightning": Recorded("lightning", "Lightning logs", "val_acc", BY_SETTING, 6, places=1e-6),
    "transformers": Recorded("transformers", "Hugging Face trainer states", "eval_accuracy", BY_FOLDER, 6),
    "ray": Recorded("ray", "Ray Tune results", "accuracy", BY_SETTING, 3),
    "timm": Recorded("timm", "timm runs", "eval_top1", BY_SETTING, 3, factor=100),
    "tensorboard": Recorded(
        "tensorboard/logs",
        "TensorBoard logs",
        "eval/accuracy",
        BY_FOLDER,
        3,
        places=1e-6,
        needs="tensorboard",
    ),
    "tensorboard of lightning": Recorded(
        "tensorboard/tb_logs", "TensorBoard logs", "val_acc", BY_SETTING, 7, places=1e-6, needs="tensorboard"
    ),
    "logs": Recorded("logs", "logs", "acc", BY_FOLDER, 3, factor=100, places=0.0006, read=PATTERNS),
}


@pytest.mark.parametrize("recorded", ALL.values(), ids=ALL)
class TestReader:
    """The contract of a reader, over a folder that the tool itself has written."""

    @pytest.fixture
    def found(self, recorded):
        if recorded.needs and find_spec(recorded.needs) is None:
            pytest.skip(f"{recorded.needs} is not installed")
        return find_runs(str(RECORDED / recorded.path), recorded.options)

    def test_it_is_known_by_the_reader_of_its_kind_alone(self, recorded):
        path = RECORDED / recorded.path
        known = [type(reader).__name__ for reader in READERS if reader.knows(path, recorded.options)]
        assert {
            "logs": "LogReader",
            "TensorBoard logs": "TensorBoardReader",
        }.get(recorded.kind, "RunFolderReader") == known[0]
        # A call with patterns is one for logs, whatever else lies there.
        assert len(known) == 1 or {*known[1:]} == {"LogReader"}

    @pytest.mark.fast_cases(2)
    def test_the_table_is_tidy(self, recorded, found):
        table = found.table
        assert found.kind == recorded.kind
        assert table.index.is_unique
        assert table.columns.is_unique
        assert all(str(place).startswith(str(RECORDED)) for place in table.index)
        assert table.map(lambda cell: isinstance(cell, str)).all(axis=None)
        for names in [*found.roles.values(), found.metrics]:
            assert {*names} <= {*table}
        assert len(table) == recorded.rows * 2 * len(SEEDS)

    @pytest.mark.fast_cases(2)
    def test_the_last_step_has_the_last_value_of_each_metric(self, recorded, found):
        rows = read(str(RECORDED / recorded.path), recorded.options).rows
        assert len(rows) == 2 * len(SEEDS)
        for variant, lr in zip(recorded.variants, (0.1, 0.3), strict=True):
            of_variant = rows[rows["variant"] == variant].sort_values("seed")
            assert of_variant["seed"].tolist() == [str(seed) for seed in SEEDS]
            expected = [recorded.factor * accuracy(lr, seed, 3) for seed in SEEDS]
            assert [*map(number_in, of_variant[recorded.metric])] == pytest.approx(
                expected, abs=recorded.places, rel=1e-9
            )

    @pytest.mark.fast_cases(1)
    def test_the_verdict_is_that_of_scipy(self, recorded, found, tmp_path):
        done = ablate_here("analyse", RECORDED / recorded.path, *recorded.words, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"Read as {recorded.kind}: 6 runs, 2 × 3 seeds" in done.stderr
        (row,) = json.loads(done.stdout)["verdicts"]
        rows = read(str(RECORDED / recorded.path), recorded.options).rows.sort_values("seed")
        values = rows[recorded.metric].map(number_in).groupby(rows["variant"]).agg(list)
        expected = stats.ttest_rel(values[recorded.variants[1]], values[recorded.variants[0]])
        assert (row["variant"], row["n"]) == (recorded.variants[1], 3)
        assert row["p"] == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval()
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def value(variant, seed):
    return 0.8 + 0.02 * variant + 0.003 * ((5 * seed + variant) % 4)


def runs_of(*templates):
    """The files of two variants, 0 and 1, with three seeds: names and contents with these three in braces."""
    files = {}
    for variant in range(2):
        for seed in SEEDS:
            for name, content in templates:
                values = {"v": variant, "s": seed, "n": 3 * variant + seed, "acc": value(variant, seed)}
                files[name % values] = content % values
    return files


END = '{"acc": %(acc)r}'
CONFIG = "lr: %(v)d\nseed: %(s)d\nout: /runs/%(n)d\n"
SHAPES = {
    "a folder a variant, one a seed": (runs_of(("m%(v)d/seed_%(s)d/results.json", END)), "m0", "m1"),
    "a folder a variant, numbers in it": (runs_of(("m%(v)d/%(s)d/results.json", END)), "m0", "m1"),
    "a folder a seed first": (runs_of(("seed%(s)d/m%(v)d/out/metrics.json", END)), "m0", "m1"),
    "settings beside the folders' names": (
        runs_of(("m%(v)d_s%(s)d/metrics.json", END), ("m%(v)d_s%(s)d/config.yaml", CONFIG)),
        "m0",
        "m1",
    ),
    "settings alone": (runs_of(("%(n)d/metrics.json", END), ("%(n)d/config.yaml", CONFIG)), "lr=0", "lr=1"),
    "settings that name the variants": (
        runs_of(("%(n)d/summary.json", END), ("%(n)d/args.json", '{"arch": "m%(v)d", "seed": %(s)d}')),
        "m0",
        "m1",
    ),
    "settings of two names": (
        runs_of(("%(n)d/metrics.json", END), ("%(n)d/params.toml", "a = %(v)d\nb.c = 1%(v)d\nseed = %(s)d")),
        "a=0, b.c=10",
        "a=1, b.c=11",
    ),
    "settings among the results": (
        runs_of(("%(n)d/results.json", '{"config": {"lr": %(v)d, "seed": %(s)d}, "acc": %(acc)r}')),
        "lr=0",
        "lr=1",
    ),
    "settings of W&B": (
        runs_of(
            ("run-%(n)d/files/wandb-summary.json", END),
            (
                "run-%(n)d/files/config.yaml",
                "_wandb: {value: {}}\nlr: {value: %(v)d}\nseed: {value: %(s)d}\n",
            ),
        ),
        "lr=0",
        "lr=1",
    ),
    "rows of two kinds": (
        runs_of(
            ("m%(v)d_s%(s)d/metrics.jsonl", '{"step": 1, "acc": %(acc)r}\n{"step": 2, "loss": 0.1}\n'),
        ),
        "m0",
        "m1",
    ),
    "steps that start again in each epoch": (
        runs_of(("m%(v)d_s%(s)d/metrics.csv", "epoch,step,acc\n1,1,0.1\n1,2,0.1\n2,1,%(acc)r\n")),
        "m0",
        "m1",
    ),
    "one seed in all settings, others in the names": (
        runs_of(
            ("m%(v)d_s%(s)d/metrics.json", END), ("m%(v)d_s%(s)d/config.json", '{"seed": 42, "lr": %(v)d}')
        ),
        "m0",
        "m1",
    ),
    "lists, as of Keras": (runs_of(("m%(v)d_s%(s)d/history.json", '{"acc": [0.1, %(acc)r]}')), "m0", "m1"),
    "JSON lines in log.txt": (
        runs_of(("m%(v)d_s%(s)d/log.txt", '{"epoch": 1, "acc": 0.1}\n{"epoch": 2, "acc": %(acc)r}\n')),
        "m0",
        "m1",
    ),
    "a table beside its end": (
        runs_of(
            (
                "m%(v)d_s%(s)d/trainer_state.json",
                '{"log_history": [{"step": 1}, {"step": 2, "acc": %(acc)r}]}',
            ),
            ("m%(v)d_s%(s)d/all_results.json", '{"acc": 0.5, "epoch": 2}'),
        ),
        "m0",
        "m1",
    ),
    "the last of several checkpoints": (
        runs_of(
            ("m%(v)d_s%(s)d/checkpoint-9/trainer_state.json", '{"log_history": [{"step": 9, "acc": 0.1}]}'),
            (
                "m%(v)d_s%(s)d/checkpoint-10/trainer_state.json",
                '{"log_history": [{"step": 9, "acc": 0.1}, {"step": 10, "acc": %(acc)r}]}',
            ),
        ),
        "m0",
        "m1",
    ),
    "runs of Hydra that Lightning has trained": (
        runs_of(
            ("%(n)d/csv/version_0/metrics.csv", "step,loss,acc\n1,0.3,\n1,,%(acc)r\n"),
            ("%(n)d/.hydra/config.yaml", "lr: %(v)d\nwidth: 3\nseed: %(s)d\n"),
            ("%(n)d/.hydra/overrides.yaml", "- model=m%(v)d\n- seed=%(s)d\n"),
        ),
        "model=m0",
        "model=m1",
    ),
    "runs of Hydra with the usual choice": (
        runs_of(
            ("%(n)d/metrics.json", END),
            ("%(n)d/.hydra/config.yaml", "width: %(v)d\nseed: %(s)d\n"),
            ("%(n)d/.hydra/hydra.yaml", "hydra: {runtime: {choices: {model: m%(v)d}}}"),
            ("%(n)d/.hydra/overrides.yaml", "- seed=%(s)d\n"),
        )
        | {"5/.hydra/overrides.yaml": "- model=m1\n- seed=2\n"},
        "model=m0",
        "model=m1",
    ),
    "a file a run": (runs_of(("m%(v)d_s%(s)d.csv", "epoch,acc\n1,0.1\n2,%(acc)r\n")), "m0", "m1"),
}


@pytest.mark.fast_cases(7)
@pytest.mark.parametrize(("files", "baseline", "other"), SHAPES.values(), ids=SHAPES)
def test_shapes_that_no_tool_prescribes_are_read(tmp_path, files, baseline, other):
    write(tmp_path / "runs", files)
    table = read(str(tmp_path / "runs"), AnalysisOptions(baseline=baseline, metric="acc", direction="max"))
    assert shape_of(table) == "6 runs, 2 × 3 seeds"
    for variant, name in enumerate((baseline, other)):
        of_variant = table.rows[table.rows["variant"] == name].sort_values("seed")
        assert of_variant["acc"].map(number_in).tolist() == [value(variant, seed) for seed in SEEDS]


def test_runs_without_seeds_are_replicates_and_no_pairs(tmp_path):
    metrics = ("version_%(n)d/metrics.csv", "step,acc\n1,0.1\n2,%(acc)r\n")
    write(tmp_path, runs_of(metrics, ("version_%(n)d/hparams.yaml", "lr: %(v)d")))
    table = read(str(tmp_path), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))
    assert shape_of(table) == "6 runs, 2 variants"
    assert sorted(table.rows["acc"].map(number_in)) == sorted(value(v, s) for v in range(2) for s in SEEDS)


def test_a_run_without_a_number_has_failed(tmp_path):
    files = runs_of(("%(n)d/metrics.csv", "step,acc\n1,0.1\n2,%(acc)r\n"), ("%(n)d/config.yaml", CONFIG))
    files["3/metrics.csv"] = "step,acc\n"
    files["6/config.yaml"] = CONFIG % {"v": 1, "s": 6, "n": 6}
    write(tmp_path, files)
    table = read(str(tmp_path), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))
    failed = table.rows[[ending.kind == "failed" for ending in table.rows["ended"]]]
    assert sorted(failed["seed"]) == ["0", "6"]
    assert "without a number: 3 and 6" in " ".join(table.notes)


def test_percent_in_json_is_read_and_said(tmp_path):
    write(tmp_path, runs_of(("m%(v)d_s%(s)d/results.json", '{"acc": "%(acc)r %%", "note": "N/A"}')))
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    assert sorted(table.rows["acc"].map(number_in)) == sorted(value(v, s) for v in range(2) for s in SEEDS)
    assert any("acc" in note and "percent" in note for note in table.notes)


def test_a_setting_called_task_is_the_task(tmp_path):
    for task in "xy":
        config = ("%(n)d/config.toml", f"task = '{task}'\nlr = %(v)d\nseed = %(s)d")
        write(tmp_path / task, runs_of(("%(n)d/metrics.json", END), config))
    table = read(str(tmp_path), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))
    assert sorted({*zip(table.rows["task"], table.rows["variant"], strict=True)}) == [
        ("x", "lr=0"),
        ("x", "lr=1"),
        ("y", "lr=0"),
        ("y", "lr=1"),
    ]


def test_files_of_a_run_that_disagree_are_named(tmp_path):
    train = ("m%(v)d_s%(s)d/train_metrics.csv", "step,acc\n1,0.1\n2,0.2\n")
    write(tmp_path, runs_of(train, ("m%(v)d_s%(s)d/val_metrics.csv", "step,acc\n1,0.1\n2,%(acc)r\n")))
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    assert any("train_metrics.csv" in note and "train/acc" in note for note in table.notes)
    assert sorted(table.rows["acc"].map(number_in)) == sorted(value(v, s) for v in range(2) for s in SEEDS)


def test_a_pattern_finds_the_seed_in_the_names_of_folders(tmp_path):
    write(tmp_path, runs_of(("m%(v)d-x%(s)dx/metrics.json", END)))
    options = AnalysisOptions(baseline="m0", metric="acc", direction="max", seed=r"-x(\d)x")
    assert shape_of(read(str(tmp_path), options)) == "6 runs, 2 × 3 seeds"


def test_numbers_at_the_ends_of_names_may_be_seeds(tmp_path):
    write(tmp_path, runs_of(("m%(v)d/result_%(s)d.txt", "acc=%(acc)r\n")))
    options = AnalysisOptions(baseline="m0", metric="acc", direction="max", read={"acc": r"acc=(\S+)"})
    with pytest.raises(Invalid, match=re.escape("--seed '[_-]([0-9]+)$'")):
        read(str(tmp_path), options)
    assert shape_of(read(str(tmp_path), replace(options, seed="[_-]([0-9]+)$"))) == "6 runs, 2 × 3 seeds"


def test_logs_name_variants_and_seeds_themselves(tmp_path):
    write(tmp_path, {"README.md": "How it was run", "requirements.out": "torch"})
    write(tmp_path, runs_of(("%(n)d.out", "model m%(v)d, seed: %(s)d\nacc=0.1%%\racc=%(acc)r%%, done\n")))
    patterns = {"acc": r"acc=(\S+)", "variant": r"model (\w+)", "seed": r"seed: (\d+)"}
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max", read=patterns))
    assert shape_of(table) == "6 runs, 2 × 3 seeds"
    assert sorted(table.rows["acc"].map(number_in)) == sorted(value(v, s) for v in range(2) for s in SEEDS)


@pytest.mark.slow
def test_the_best_step_counts_where_it_is_asked_for(tmp_path):
    write(tmp_path, runs_of(("m%(v)d_s%(s)d/metrics.csv", "epoch,acc,loss\n1,%(acc)r,\n1,,2\n2,0.1,1\n")))
    table = read(
        str(tmp_path),
        AnalysisOptions(baseline="m0", metric="acc", direction="max", at="best acc", also={"loss": "min"}),
    )
    assert sorted(table.rows["acc"].map(number_in)) == sorted(value(v, s) for v in range(2) for s in SEEDS)
    assert table.rows["loss"].tolist() == ["2"] * 6


# Hostile folders


def make_pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def link(path, target):
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def make_deep(folder):
    (folder / "/".join("d" * 60)).mkdir(parents=True)


def make_many(folder):
    for number in range(60):
        part = folder / str(number)
        part.mkdir()
        for other in range(60):
            (part / f"{other}.bin").touch()


LETTERS = "abcdefghijklmnop"
ALIASES = "a: &a [x, x]\n"
for before, letter in pairwise(LETTERS):
    ALIASES += f"{letter}: &{letter} [*{before}, *{before}]\n"
HOSTILE = {
    "a pipe": lambda run: make_pipe(run / "metrics.json"),
    "a pipe as settings": lambda run: make_pipe(run / "config.yaml"),
    "a device without an end": lambda run: link(run / "metrics.json", "/dev/zero"),
    "a link to itself": lambda run: link(run / "metrics.json", "metrics.json"),
    "a link to nothing": lambda run: link(run / "config.yaml", "nothing"),
    "large": lambda run: os.truncate(run / "metrics.json", 3 * 10**9),
    "large settings": lambda run: os.truncate(run / "config.yaml", 3 * 10**9),
    "binary": lambda run: (run / "metrics.json").write_bytes(bytes(range(256))),
    "binary settings": lambda run: (run / "config.yaml").write_bytes(bytes(range(256))),
    "deep": lambda run: (run / "metrics.json").write_text("[" * 100_000),
    "deep objects": lambda run: (run / "metrics.json").write_text('{"a":' * 900 + "1" + "}" * 900),
    "deep settings": lambda run: (run / "config.yaml").write_text("[" * 100_000),
    "cut": lambda run: (run / "metrics.json").write_text('{"acc": 0.'),
    "cut settings": lambda run: (run / "config.yaml").write_text('{"acc": 0.'),
    "a list of numbers": lambda run: (run / "metrics.json").write_text("[1, 2]"),
    "a word as settings": lambda run: (run / "config.yaml").write_text("word"),
    "aliases of aliases": lambda run: (run / "config.yaml").write_text(ALIASES),
    "an alias of itself": lambda run: (run / "config.yaml").write_text("a: &a [*a]"),
    "two documents": lambda run: (run / "config.yaml").write_text("a: 1\n---\na: 2\n"),
    "a ragged table": lambda run: (run / "metrics.csv").write_text("step,acc\n1,0.5\n2\n"),
    "folders in folders": make_deep,
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_folder_is_refused_by_name_and_at_once(tmp_path, spoil):
    write(tmp_path / "runs", runs_of(("%(n)d/metrics.json", END), ("%(n)d/config.yaml", CONFIG)))
    spoil(tmp_path / "runs/0")
    started = time.monotonic()
    with pytest.raises(AblateError, match="runs"):
        find_runs(str(tmp_path / "runs"), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))
    assert time.monotonic() - started < 10


HARMLESS = {
    "a link to a folder above": lambda run: link(run / "loop", ".."),
    "a tag that names code": lambda run: (run / "config.yaml").write_text(
        "lr: 0\nseed: 0\nx: !!python/object/apply:os.mkdir [spoilt]\n"
    ),
    "a pickle": lambda run: (run / "params.pkl").write_bytes(b"cos\nmkdir\n(S'spoilt'\ntR."),
    "many other files": make_many,
    "half of a surrogate pair": lambda run: (run / "metrics.json").write_text(
        '{"acc": 0.8, "\\ud800": "\\ud800"}'
    ),
    "names that tables have": lambda run: (run / "metrics.json").write_text(
        '{"acc": 0.8, "run": 1, "variant": 2, "seed": 3, "status": "odd", "config.lr": 4}'
    ),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("spoil", HARMLESS.values(), ids=HARMLESS)
def test_what_is_odd_and_harmless_is_read_and_never_run(tmp_path, monkeypatch, spoil):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs", runs_of(("%(n)d/metrics.json", END), ("%(n)d/config.yaml", CONFIG)))
    spoil(tmp_path / "runs/0")
    table = read("runs", AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))
    assert len(table.rows) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_more_runs_than_are_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.runs.run_tree._MAX_ENTRIES", 1000)
    write(tmp_path / "runs", runs_of(("%(n)d/metrics.json", END), ("%(n)d/config.yaml", CONFIG)))
    make_many(tmp_path / "runs/0")
    with pytest.raises(AblateError, match="runs"):
        find_runs(str(tmp_path / "runs"), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))


PATTERN_FAULTS = {
    "a pattern that never ends": {"acc": "^((?:a+)+)$"},
    "a pattern without a group": {"acc": "a"},
    "no pattern": {"acc": "(a"},
    "a pattern that finds nothing": {"acc": r"z(\d)"},
    "none": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("patterns", PATTERN_FAULTS.values(), ids=PATTERN_FAULTS)
def test_patterns_that_cannot_be_used_are_refused_in_time(tmp_path, patterns):
    write(tmp_path, {"a.log": "a" * 40 + "!\n", "b.log": "a\n"})
    with pytest.raises(AblateError, match=r"--read|patterns of"):
        find_runs(str(tmp_path), AnalysisOptions(baseline="a", metric="acc", direction="max", read=patterns))


@pytest.mark.skipif(find_spec("tensorboard") is None, reason="tensorboard is not installed")
@pytest.mark.parametrize("content", [b"", b"garbage" * 99, None], ids=["empty", "garbage", "a pipe"])
def test_event_files_without_events_are_no_runs(tmp_path, content):
    shutil.copytree(RECORDED / "tensorboard/logs", tmp_path / "logs")
    path = tmp_path / "logs/lr0.1_seed1/events.out.tfevents.9.host"
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    if content is None:
        os.mkfifo(path)
        with pytest.raises(AblateError, match=r"lr0\.1_seed1"):
            find_runs(
                str(tmp_path), AnalysisOptions(baseline="lr0.1", metric="eval/accuracy", direction="max")
            )
        return
    path.write_bytes(content)
    table = read(str(tmp_path), AnalysisOptions(baseline="lr0.1", metric="eval/accuracy", direction="max"))
    assert [ending.kind for ending in table.rows["ended"]].count("failed") == 1


@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="tensorboard is installed")
def test_without_its_package_event_files_name_the_extra():
    with pytest.raises(AblateError, match=r"pip install 'ablate\[tensorboard\]'"):
        find_runs(
            str(RECORDED / "tensorboard/logs"),
            AnalysisOptions(baseline="lr0.1", metric="eval/accuracy", direction="max"),
        )


WRITTEN = {
    # Tool → the file of a run's results, its text around a value, the name of the metric.
    "sacred": (
        "metrics.json",
        '{{"val.acc": {{"steps": [1, 2], "timestamps": ["", ""], "values": [0, {}]}}}}',
    ),
    "clearml": (
        "scalars.json",
        '{{"val": {{"acc": {{"name": "acc", "x": [1, 2], "y": [0.9, {}]}}}}, "cpu": {{"x": [9], "y": [5]}}}}',
    ),
    "spinning up": ("progress.txt", "Epoch\tval.acc\n0\t0.9\n1\t{}\n"),
    "mmdetection": ("2024.log.json", '{{"env_info": "x"}}\n{{"mode": "val", "epoch": 3, "val.acc": {}}}\n'),
    "monitor": ("progress.csv", '# {{"t_start": 1}}\nval.acc\n0\n{}\n'),
}


@pytest.mark.parametrize("tool", WRITTEN.values(), ids=WRITTEN)
def test_results_as_tools_write_them(tool, tmp_path):
    file, text = tool
    for run in range(6):
        folder = tmp_path / f"m{run // 3}_seed{run % 3}"
        folder.mkdir()
        (folder / file).write_text(text.format(0.5 + run / 10))
    rows = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="val.acc", direction="max")).rows
    assert rows["variant"].tolist() == ["m0"] * 3 + ["m1"] * 3
    assert rows["seed"].tolist() == ["0", "1", "2"] * 2
    assert [*map(number_in, rows["val.acc"])] == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


# No value hides another


def test_a_log_that_ends_with_a_word_has_no_last_value(tmp_path):
    """`acc: n/a` was passed over, and the value before it counted."""
    files = runs_of(("m%(v)d_s%(s)d.log", "acc: 0.1\nacc: %(acc)r\n"))
    files["m1_s1.log"] += "acc: n/a\n"
    files["m1_s2.log"] = f"acc: n/a\nacc: {value(1, 2)!r}\n"
    write(tmp_path, files)
    table = read(
        str(tmp_path),
        AnalysisOptions(baseline="m0", metric="acc", direction="max", read={"acc": r"acc: (\S+)"}),
    )
    by_run = table.rows.set_index(["variant", "seed"])["acc"]
    assert by_run["m1", "1"] == ""
    others = by_run.drop(("m1", "1"))
    assert sorted(map(number_in, others)) == sorted(
        value(v, s) for v in range(2) for s in SEEDS if (v, s) != (1, 1)
    )
    assert any("m1_s1.log ends without a value of acc" in note and "n/a" in note for note in table.notes)


def test_logs_of_one_name_are_runs_of_their_own(tmp_path):
    """`base.log` and `base.out` were one run, the longer of which counted."""
    write(tmp_path, {"a/base.log": "acc=1", "a/base.out": "x\nacc=2", "b/x.log": "acc=3", "b/x.out": "acc=4"})
    table = find_runs(
        str(tmp_path),
        AnalysisOptions(baseline="base", metric="acc", direction="max", read={"acc": r"acc=(\S+)"}),
    ).table
    assert sorted(table["acc"]) == ["1", "2", "3", "4"]
    assert table["run"].is_unique


def test_a_log_of_two_runs_is_refused(tmp_path):
    write(tmp_path, {"base.log": "seed 0\nacc=1\nseed 1\nacc=2", "x.log": "seed 0\nacc=1\nseed 0\nacc=2"})
    patterns = {"acc": r"acc=(\S+)", "seed": r"seed (\d+)"}
    with pytest.raises(AblateError, match=r"base\.log, line 3: says another seed"):
        find_runs(
            str(tmp_path), AnalysisOptions(baseline="base", metric="acc", direction="max", read=patterns)
        )


def test_runs_of_one_name_in_several_folders_are_no_replicates(tmp_path):
    """`lr=1/base` and `lr=2/base` were two runs of `base`."""
    for lr in (1, 2):
        write(tmp_path / f"lr={lr}", runs_of(("m%(v)d/seed_%(s)d/results.json", END)))
    options = AnalysisOptions(baseline="m0", metric="acc", direction="max")
    with pytest.raises(AblateError, match=r"differ in folders: .*lr=1, lr=2"):
        read(str(tmp_path), options)
    by_task = replace(options, column={"task": "folders"})
    assert sorted({*read(str(tmp_path), by_task).rows["task"]}) == ["lr=1", "lr=2"]


def test_folders_that_only_number_runs_tell_nothing(tmp_path):
    for number in range(3):
        write(
            tmp_path, {f"m{v}/version_{number}/results.json": END % {"acc": value(v, number)} for v in (0, 1)}
        )
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    assert shape_of(table) == "6 runs, 2 variants"


def test_results_above_runs_are_named(tmp_path):
    write(tmp_path, runs_of(("m%(v)d_s%(s)d/metrics.json", END)) | {"metrics.json": '{"acc": 0.99}'})
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    assert shape_of(table) == "6 runs, 2 × 3 seeds"
    assert any(note.startswith(f"Passed over, since runs lie in folders below their results: {tmp_path}")
               for note in table.notes)  # fmt: skip


def test_files_of_one_name_and_two_formats_are_two_runs(tmp_path):
    """Of `m0_s0.csv` and `m0_s0.json` the longer one counted."""
    write(tmp_path, runs_of(("m%(v)d_s%(s)d.csv", "epoch,acc\n1,0.1\n2,%(acc)r\n")))
    write(tmp_path, {"m0_s0.json": '[{"epoch": 3, "acc": 0.9}]'})
    found = find_runs(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    assert found.table["run"].nunique() == 7


def test_settings_that_files_tell_otherwise_are_named(tmp_path):
    config, args = ("%(n)d/config.yaml", CONFIG), ("%(n)d/args.json", '{"lr": 7, "seed": %(s)d}')
    write(tmp_path, runs_of(("%(n)d/metrics.json", END), config, args))
    table = read(str(tmp_path), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))
    assert any("another lr than" in note for note in table.notes)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.yaml", "lr: 0\nlr: 1\nseed: 0\n"),
        ("config.yaml", "opt.lr: 0\nopt: {lr: 1}\nseed: 0\n"),
        ("params.json", '{"lr": 0, "lr": 1, "seed": 0}'),
        ("params.toml", '"opt.lr" = 0\nopt = {lr = 1}\n'),
        ("metrics.json", '{"acc": 0.1, "acc": 0.2}'),
        ("metrics.json", '{"eval.acc": 0.1, "eval": {"acc": 0.2}}'),
        ("metrics.jsonl", '{"step": 1, "acc": 0.1}\n{"step": 2, "acc": 0.1, "acc": 0.2}\n'),
        ("metrics.csv", "step,acc,acc\n1,0.1,0.2\n"),
    ],
)
def test_two_values_of_one_name_are_refused_by_their_file(name, content, tmp_path):
    write(tmp_path, runs_of(("%(n)d/metrics.json", END), ("%(n)d/config.yaml", CONFIG)))
    write(tmp_path, {f"0/{name}": content})
    with pytest.raises(AblateError, match=rf"0/{name}.*(two values have the name|none twice)"):
        find_runs(str(tmp_path), AnalysisOptions(baseline="lr=0", metric="acc", direction="max"))


def test_a_run_that_went_on_from_an_earlier_step_ends_where_it_ended(tmp_path):
    """What its first attempt wrote beyond the end of the second was its last value."""
    rows = [(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.9), (3, 0.35)]
    files = runs_of(("m%(v)d_s%(s)d/metrics.csv", "step,acc\n1,0.1\n2,%(acc)r\n"))
    files["m1_s1/metrics.csv"] = "step,acc\n" + "".join(f"{step},{acc}\n" for step, acc in rows)
    falling = [(3, 0.5), (2, 0.2), (1, 0.1)]
    files["m1_s2/metrics.csv"] = "step,acc\n" + "".join(f"{step},{acc}\n" for step, acc in falling)
    write(tmp_path, files)
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    by_run = table.rows.set_index(["variant", "seed"])["acc"]
    assert (by_run["m1", "1"], by_run["m1", "2"]) == ("0.35", "0.5")
    assert any("written later for the same step" in note and "m1_s1" in note for note in table.notes)


def test_what_lies_in_another_format_or_folder_is_named(tmp_path):
    write(
        tmp_path, runs_of(("m%(v)d_s%(s)d/metrics.json", END), ("m%(v)d_s%(s)d/tb/events.out.tfevents.1", ""))
    )
    write(tmp_path, {"m1_s7/events.out.tfevents.1": ""})
    table = read(str(tmp_path), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    (note,) = [note for note in table.notes if "another format" in note]
    assert note.endswith(str(tmp_path / "m1_s7"))
    tables = tmp_path / "tables"
    write(
        tables,
        {f"m{v}.csv": f"seed,acc\n0,{v}.5\n1,{v}.7\n" for v in range(2)} | {"old/m2.csv": "seed,acc\n"},
    )
    table = read(str(tables), AnalysisOptions(baseline="m0", metric="acc", direction="max"))
    assert any(note == f"Passed over in folders below: {tables / 'old/m2.csv'}" for note in table.notes)
