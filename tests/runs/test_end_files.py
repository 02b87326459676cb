"""How the runs of folders ended, by files of tools that nobody listed and by marks of one's own."""

import json

import pytest
from scipy import stats

import ablate
from ablate.core.log_end import ending_in_lines

BASE = [0.801, 0.795, 0.812, 0.788, 0.806]
WIDE = [0.823, 0.814, 0.830, 0.812, 0.825]
LOST = 3
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 9\nRuntimeError: boom\n'


def written(root, good, bad):
    """Writes a folder a run, with one file more in each: `bad` in that of the run that did not end well."""
    for variant, scores in (("base", BASE), ("wide", WIDE)):
        for seed, score in enumerate(scores):
            folder = root / f"{variant}_s{seed}"
            folder.mkdir(parents=True)
            (folder / "config.json").write_text(json.dumps({"model": variant, "seed": seed}))
            (folder / "metrics.json").write_text(json.dumps({"acc": score}))
            for name, text in (bad if (variant, seed) == ("wide", LOST) else good).items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text)
    return root


def interval(root):
    results = ablate.analyse(root, baseline="base", variant="config.model", metric="acc", direction="max")
    (row,) = results.comparisons.to_dict("records")
    return [row["n"], row["ci_low"], row["ci_high"]]


def paired(seeds):
    change = [WIDE[seed] - BASE[seed] for seed in seeds]
    return [len(change), *stats.ttest_1samp(change, 0).confidence_interval(0.95)]


ERROR = json.dumps({"message": {"message": "RuntimeError: NCCL"}})
FAILED = {
    "torchrun": ({}, {"error.json": ERROR}),
    "an attempt of torchrun": ({}, {"attempt_0/0/error.json": ERROR}),
    "Metaflow": ({"_success": "true"}, {"_success": "false"}),
    "SageMaker": ({}, {"output/failure": "AlgorithmError: boom"}),
    "SageMaker's job": (
        {"describe-training-job.json": '{"TrainingJobStatus": "Completed"}'},
        {"describe-training-job.json": '{"TrainingJobStatus": "Failed"}'},
    ),
    "Determined": (
        {"trial.json": '{"state": "STATE_COMPLETED"}'},
        {"trial.json": '{"state": "STATE_ERROR"}'},
    ),
    "Polyaxon": ({"run_data.json": '{"status": "succeeded"}'}, {"run_data.json": '{"status": "stopped"}'}),
    "Keras Tuner": ({"trial.json": '{"status": "COMPLETED"}'}, {"trial.json": '{"status": "INVALID"}'}),
    "a word": ({"status.txt": "finished\n"}, {"status.txt": "failed\n"}),
    "a mark": ({}, {"FAILED": ""}),
    "no mark": ({"DONE": ""}, {}),
    "no mark of Spark": ({"_SUCCESS": ""}, {}),
    "a log of PBS": ({"train.sh.o12": "ok"}, {"train.sh.e12": TRACEBACK}),
    "a log of NeMo": ({}, {"nemo_error_log.txt": TRACEBACK, "lightning_logs.txt": ""}),
    "a bare log": ({"stderr": ""}, {"stderr": TRACEBACK}),
    "a log of HTCondor": (
        {"job.log": "(1) Normal termination (return value 0)"},
        {"job.log": "(1) Normal termination (return value 1)"},
    ),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("case", FAILED)
def test_a_run_that_failed_does_not_count(tmp_path, case):
    root = written(tmp_path / "runs", *FAILED[case])
    assert interval(root) == pytest.approx(paired([0, 1, 2, 4]), abs=1e-12)


WELL = {
    "an attempt that was repeated": {"attempt_0/0/error.json": ERROR, "attempt_1/0/stdout.log": "done"},
    "an error file without one": {"error.json": "{}"},
    "failed examples": {"failed.txt": "img_17.png\nimg_21.png\n"},
    "notes": {"README": "failed at first", "NOTES": ""},
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("case", WELL)
def test_other_files_leave_a_run(tmp_path, case):
    root = written(tmp_path / "runs", {}, WELL[case])
    assert interval(root) == pytest.approx(paired(range(5)), abs=1e-12)


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (
            ["acc 0.8", "ERROR: LoadError: BoundsError: attempt to access", "Stacktrace:", " [1] getindex"],
            "failed",
        ),
        (["acc 0.8", "thread 'main' panicked at src/main.rs:3:5:", "boom"], "failed"),
        (["005 Job terminated.", "\t(0) Abnormal termination (signal 9)"], "stopped"),
        (["012 Job was held."], "failed"),
        (["005 Job terminated.", "\t(1) Normal termination (return value 0)"], "unknown"),
        (["ERROR: could not open cache, ignoring it", "epoch 3 acc 0.8"], "unknown"),
    ],
)
def test_ends_of_logs_of_other_languages(lines, kind):
    assert ending_in_lines(lines, "a.log").kind == kind


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("wide", "base", "counted"),
    [
        pytest.param(1, 0, 5, id="one of ten"),
        pytest.param(2, 0, 5, id="two of ten"),
        pytest.param(3, 3, 3, id="six of ten"),
        pytest.param(4, 4, 4, id="eight of ten"),
    ],
)
def test_runs_without_a_mark_are_left_out_where_at_least_half_have_it(wide, base, counted, tmp_path):
    root = written(tmp_path / "runs", {}, {})
    marked = [*(f"wide_s{seed}" for seed in range(wide)), *(f"base_s{seed}" for seed in range(base))]
    for name in marked:
        (root / name / "DONE").touch()
    assert interval(root) == pytest.approx(paired(range(counted)), abs=1e-12)
