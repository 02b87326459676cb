"""Runs that did not end well, in each tool's own files and words: their numbers do not count."""

import json
import math
import runpy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here
from scipy import stats

import ablate
from ablate.base.errors import Invalid
from ablate.core.log_end import ending_in_lines
from ablate.runs.checking import checked
from ablate.runs.ends.run_ends import ending_beside
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles, read
from ablate.runs.run_tree import RunFolder

RECORDED = Path(__file__).parent / "recorded"
CASES = Path(__file__).parent / "cases" / "ended"
SCORES = {
    "base": [0.81237, 0.79411, 0.83076, 0.80169, 0.82353],
    "wide": [0.84019, 0.80273, 0.87128, 0.82431, 0.84976],
}
LOST = 2
"""The seed of `wide` that did not end well; what it measured until then is far off."""
UNTIL_THEN = 0.11
OPTIONS = {"metric": "acc", "direction": "max"}
TIME = "2026-03-01T10:00:00"
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\n'


def paired(seeds):
    """The difference over these seeds with its interval, by scipy."""
    change = [SCORES["wide"][seed] - SCORES["base"][seed] for seed in seeds]
    interval = stats.ttest_1samp(change, 0).confidence_interval(0.95)
    return [np.mean(change), *interval]


def row_of(results, variant="wide"):
    rows = results.comparisons
    return rows[(rows["variant"] == variant) & ~rows["exploratory"]].iloc[0]


def numbers_in(row):
    return [row["diff"], row["ci_low"], row["ci_high"]]


def counted_trials(runs, **options):
    """The runs of a path or a frame whose pairs count, with what counts of each."""
    options = AnalysisOptions(baseline="base", metric="acc", direction="max", **options)
    table = (
        by_roles(runs_in_frame(runs, options), options)
        if isinstance(runs, pd.DataFrame)
        else read(str(runs), options)
    )
    return checked(table, table.options.metrics()).compared


def counted_changes(runs, **options):
    """The seeds whose pairs count; their numbers are those that were measured."""
    trials = counted_trials(runs, **options)
    scores = trials.pivot(index="seed", columns="variant", values="acc").dropna()
    assert {*scores.stack()} <= {*SCORES["base"], *SCORES["wide"]}
    return scores.index.tolist()


def write_runs(root, lost_files, files=None):
    """Writes a folder a run; `lost_files` are those beside the results of the run that did not end well."""
    for variant, scores in SCORES.items():
        for seed, score in enumerate(scores):
            is_lost = (variant, seed) == ("wide", LOST)
            run = root / f"{variant}_{seed}"
            content = {
                "config.json": json.dumps({"arch": variant, "seed": seed}),
                "metrics.json": json.dumps({"acc": UNTIL_THEN if is_lost else score}),
                **(lost_files if is_lost else files or {}),
            }
            for name, text in content.items():
                (run / name).parent.mkdir(parents=True, exist_ok=True)
                (run / name).write_text(text)


# What strangers publish


@pytest.mark.slow
def test_a_trial_of_ray_with_an_error_has_no_result():
    results = ablate.analyse(CASES / "ray", baseline="relu", metric="val_acc", direction="max")
    row = row_of(results, "gelu")
    assert row["n"] == 4
    assert numbers_in(row) == pytest.approx([0.0161, -0.0422, 0.0745], abs=5e-5)
    lost = results.trials.set_index(["variant", "seed"]).loc[("baseline", 3)]
    assert (lost["status"], lost["reason"]) == ("diverged", "ran out of memory: error.txt")
    assert math.isnan(lost["val_acc"])


@pytest.mark.slow
def test_a_run_of_sacred_that_failed_has_no_result():
    results = ablate.analyse(CASES / "sacred", baseline="plain", metric="EpRewMean", direction="max")
    row = row_of(results, "pdis")
    assert row["n"] == 4
    assert numbers_in(row) == pytest.approx([2.35, -2.86, 7.56], abs=5e-3)
    named = ablate.analyse(
        CASES / "sacred", baseline="plain", metric="EpRewMean", direction="max", column={"status": "status"}
    )
    assert numbers_in(row_of(named, "pdis")) == numbers_in(row)


def test_what_guild_calls_terminated_was_stopped_by_its_user():
    results = ablate.analyse(CASES / "guild.csv", baseline="relu", metric="val_loss", direction="min")
    row = row_of(results, "gelu")
    assert row["n"] == 3
    assert numbers_in(row) == pytest.approx([0.0170, 0.0092, 0.0248], abs=5e-5)  # Less is better.


# What the tools themselves have written


def recorded_change(seeds):
    """The difference of the two rates of what `recorded/make.py` has trained, by its own formula, with scipy."""
    accuracy = runpy.run_path(str(RECORDED / "make.py"))["accuracy"]
    change = [accuracy(0.3, seed, 3) - accuracy(0.1, seed, 3) for seed in seeds]
    return [np.mean(change), *stats.ttest_1samp(change, 0).confidence_interval(0.95)]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("has_state", [True, False])
def test_of_trials_of_ray_the_one_that_failed_twice_has_no_result(tmp_path, has_state):
    """The one that failed once keeps its `error.txt` and has completed."""
    shutil.copytree(RECORDED / "ray_retried" / "sweep", tmp_path / "sweep")
    if not has_state:
        next((tmp_path / "sweep").glob("experiment_state-*.json")).unlink()
    results = ablate.analyse(tmp_path / "sweep", baseline="0.1", metric="accuracy")
    row = row_of(results, "0.3")
    assert [(run.seed, run.why, run.source) for run in results.evidence.facts.lost] == [
        (1, "failed", "error.txt")
    ]
    assert row["n"] == 2
    assert numbers_in(row) == pytest.approx(recorded_change([0, 2]), abs=1e-9)


def test_of_runs_of_sacred_those_that_failed_or_were_interrupted_have_no_result():
    results = ablate.analyse(RECORDED / "sacred", baseline="0.1", metric="accuracy")
    lost = {(run.variant, run.seed): run.why for run in results.evidence.facts.lost}
    assert lost == {("0.3", 1): "failed", ("baseline", 2): "was interrupted"}
    assert row_of(results, "0.3")["n"] == 1


# What each tool keeps beside the results

LOST_FILES = {
    "ray: an error": ({"error.txt": "Failure # 1 (occurred at 2026-03-01_10-10-00)\nRuntimeError: boom\n"}, "failed"),
    "ray: an error alone as a pickle": ({"error.pkl": "\x80never read"}, "failed"),
    "sacred: failed": ({"run.json": '{"status": "FAILED", "fail_trace": ["RuntimeError: boom"]}'}, "failed"),
    "sacred: interrupted": ({"run.json": '{"status": "INTERRUPTED"}'}, "stopped"),
    "sacred: running": ({"run.json": '{"status": "RUNNING"}'}, "running"),
    "sacred: queued": ({"run.json": '{"status": "QUEUED"}'}, "running"),
    "guild: stopped by its user": ({".guild/attrs/exit_status": "-15\n"}, "stopped"),
    "guild: an error": ({".guild/attrs/exit_status": "1\n"}, "failed"),
    "guild: lost without an exit status": ({".guild/attrs/started": "1500000000"}, "failed"),
    "guild: running": ({".guild/attrs/started": "1500000000", ".guild/LOCK": "4711"}, "running"),
    "guild: staged": ({".guild/attrs/initialized": "1", ".guild/STAGED": ""}, "running"),
    "kubeflow: a failed pod": ({"pod.yaml": "kind: Pod\nstatus:\n  phase: Failed\n"}, "failed"),
    "argo: an error": ({"workflow.json": '{"kind": "Workflow", "status": {"phase": "Error"}}'}, "failed"),
    "katib: killed": (
        {"trial.yaml": "kind: Trial\nstatus:\n  conditions:\n  - {type: Created, status: 'True'}\n"
         "  - {type: Running, status: 'False'}\n  - {type: Killed, status: 'True'}\n"},
        "stopped",
    ),
    "clearml: a task": ({"task.json": '{"id": "a", "status": "stopped"}'}, "stopped"),
    "comet: crashed": ({"metadata.json": '{"experimentKey": "a", "running": false, "hasCrashed": true}'}, "failed"),
    "w&b: an old run": ({"wandb-metadata.json": '{"state": "killed", "exitcode": 255}'}, "stopped"),
    "w&b: its output": ({"output.log": f"epoch 1 acc 0.1\n{TRACEBACK}RuntimeError: boom\n"}, "failed"),
    "a code": ({".exitcode": "1\n"}, "failed"),
    "a code of a signal": ({"exit_code.txt": "137\n"}, "stopped"),
    "slurm: cancelled": (
        {"slurm-7.out": "acc 0.1\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-01T10:00:00 ***\n"},
        "stopped",
    ),
    "slurm: preempted": (
        {"slurm-7.err": f"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT {TIME} DUE TO PREEMPTION ***\n"},
        "stopped",
    ),
    "the second of two jobs": ({"slurm-9.out": "done\n", "slurm-10.out": "Bus error (core dumped)\n"}, "failed"),
    "the shell": ({"train.log": "acc 0.1\n/bin/sh: line 1:  4711 Killed    python train.py\n"}, "stopped"),
    "the user": ({"train.log": f"acc 0.1\n^C{TRACEBACK}KeyboardInterrupt\n"}, "stopped"),
    "results that say so": ({"metrics.json": json.dumps({"acc": UNTIL_THEN, "status": "failed"})}, "failed"),
    "results with an error": ({"metrics.json": json.dumps({"acc": UNTIL_THEN, "error": "boom"})}, "failed"),
}  # fmt: skip


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("case", LOST_FILES)
def test_the_pair_of_a_run_that_did_not_end_well_is_left_out(tmp_path, case):
    files, kind = LOST_FILES[case]
    write_runs(tmp_path, files)
    table = read(str(tmp_path), AnalysisOptions(baseline="base", metric="acc", direction="max"))
    by_place = table.rows.set_index(["variant", "seed"])["ended"]
    assert by_place[("wide", str(LOST))].kind == kind
    assert by_place[("wide", str(LOST))].source
    assert counted_changes(tmp_path) == [0, 1, 3, 4]


LIMITS = {
    "memory of the machine": {"slurm-7.out": "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch.\n"},
    "memory of a GPU": {"train.log": f"{TRACEBACK}torch.OutOfMemoryError: CUDA out of memory. Tried 2.00 GiB\n"},
    "time": {"slurm-7.out": f"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT {TIME} DUE TO TIME LIMIT ***\n"},
    "time, said by Sacred": {"run.json": '{"status": "TIMEOUT"}'},
    "memory, said by Sacred": {"run.json": '{"status": "FAILED", "fail_trace": ["CUDA out of memory"]}'},
    "memory, said by Kubernetes": {
        "pod.json": '{"kind": "Pod", "status": {"phase": "Failed", "containerStatuses": '
        '[{"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}}'
    },
}  # fmt: skip


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("case", LIMITS)
def test_a_run_that_lacked_memory_or_time_counts_as_diverged(tmp_path, case):
    write_runs(tmp_path, LIMITS[case])
    of_run = counted_trials(tmp_path).set_index(["variant", "seed"]).loc[("wide", LOST)]
    assert of_run["status"] == "diverged"
    assert np.isnan(of_run["acc"])


@pytest.mark.parametrize("case", LIMITS)
def test_the_end_of_a_run_that_lacked_memory_or_time_is_read_beside_it(tmp_path, case):
    for name, content in LIMITS[case].items():
        (tmp_path / name).write_text(content)
    run = RunFolder(tmp_path, "wide_2", configs=[], results=[], is_of_hydra=False)
    assert ending_beside(run).kind == "diverged"


def test_a_run_that_lacked_memory_counts_with_the_floor(tmp_path):
    write_runs(tmp_path, LIMITS["memory of a GPU"])
    results = ablate.analyse(tmp_path, baseline="base", floor=0.5, **OPTIONS)
    change = [wide - base for wide, base in zip(SCORES["wide"], SCORES["base"], strict=True)]
    change[LOST] = 0.5 - SCORES["base"][LOST]
    row = row_of(results)
    assert row["n"] == 5
    assert row["diff"] == pytest.approx(np.mean(change), abs=1e-12)
    assert f"wide seed {LOST}, which ran out of memory: train.log" in " ".join(
        results.evidence.facts.cautions
    )


ENDED_WELL = {
    "sacred": {"run.json": '{"status": "COMPLETED"}', "cout.txt": f"{TRACEBACK}ValueError: caught\n"},
    "guild": {".guild/attrs/exit_status": "0\n", ".guild/LOCK": ""},
    "a job that was started again": {"slurm-9.out": "Killed\n", "slurm-10.out": "epoch 5 acc 0.8\n"},
    "kubeflow": {
        "job.yaml": "kind: PyTorchJob\nstatus:\n  conditions:\n  - {type: Running, status: 'False'}\n"
        "  - {type: Succeeded, status: 'True'}\n"
    },
    "an error that it survived": {"train.log": f"{TRACEBACK}ValueError: no upload\nepoch 5 acc 0.8\n"},
    "a metric that is an error": {"summary.json": '{"error": 0.25, "failed": 3}'},
    "notes": {"notes.txt": "Killed\n", "requirements.txt": "torch\n"},
    "a code": {"exit_code": "0\n"},
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("case", ENDED_WELL)
def test_a_run_that_ended_well_counts(tmp_path, case):
    write_runs(tmp_path, ENDED_WELL[case], ENDED_WELL[case])
    (tmp_path / f"wide_{LOST}" / "metrics.json").write_text(json.dumps({"acc": SCORES["wide"][LOST]}))
    assert counted_changes(tmp_path) == [0, 1, 2, 3, 4]


def ray_state(status):
    trials = [json.dumps({"trial_id": "x", "status": status, "relative_logdir": f"wide_{LOST}"}), "{}"]
    return json.dumps({"trial_data": [trials]})


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("status", "last_result", "n"),
    [
        (
            "TERMINATED",
            "10-00-00",
            5,
        ),  # The state of the experiment decides, and keeps the errors of earlier tries.
        ("ERROR", "11-00-00", 4),
        ("RUNNING", "11-00-00", 4),
        ("PENDING", "11-00-00", 4),
        (None, "11-00-00", 5),  # Tried again after its last error.
        (None, "10-00-00", 4),
    ],
)
def test_a_trial_of_ray_that_was_tried_again(tmp_path, status, last_result, n):
    """As `FailureConfig(max_failures=1)` and a restore leave it: recorded with Ray 2.60."""
    error = "Failure # 1 (occurred at 2026-03-01_10-10-00)\nRuntimeError: once\n"
    result = {"acc": SCORES["wide"][LOST], "done": False, "date": f"2026-03-01_{last_result}"}
    write_runs(tmp_path, {"error.txt": error, "metrics.json": "{}", "result.json": json.dumps(result) + "\n"})
    if status is not None:
        (tmp_path / "experiment_state-2026-03-01_10-00-00.json").write_text(ray_state(status))
    assert len(counted_changes(tmp_path)) == n


def test_without_a_pair_there_is_no_verdict(tmp_path):
    """Five baseline runs with an error gave a verdict."""
    write_runs(tmp_path, {})
    for seed in range(5):
        (tmp_path / f"base_{seed}" / "error.txt").write_text("RuntimeError: boom\n")
    row = row_of(ablate.analyse(tmp_path, baseline="base", **OPTIONS))
    assert row["verdict"] not in ("better", "worse", "equivalent")
    assert math.isnan(row["diff"])


def state_of_trainer(step, *, last=100, **more):
    history = [{"step": number, "acc": UNTIL_THEN} for number in range(10, step + 1, 10)]
    return json.dumps(
        {"global_step": step, "max_steps": last, "save_steps": 10, "log_history": history, **more}
    )


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("more", "n"),
    [
        ({}, 4),
        ({"stateful_callbacks": {"TrainerControl": {"args": {"should_training_stop": True}}}}, 5),
        ({"stateful_callbacks": {"EarlyStoppingCallback": {"args": {}}}}, 5),
        ({"save_steps": 80}, 5),  # No further checkpoint was to come.
    ],
)
def test_a_trainer_of_hugging_face_that_stopped_before_its_last_step(tmp_path, more, n):
    for variant, scores in SCORES.items():
        for seed, score in enumerate(scores):
            is_lost = (variant, seed) == ("wide", LOST)
            step = 30 if is_lost else 100
            state = json.loads(state_of_trainer(step, **(more if is_lost else {})))
            state["log_history"][-1]["acc"] = score
            run = tmp_path / f"{variant}_s{seed}" / f"checkpoint-{step}"
            run.mkdir(parents=True)
            (run / "trainer_state.json").write_text(json.dumps(state))
    assert len(counted_changes(tmp_path)) == n


def test_the_log_of_a_launcher_says_how_a_job_of_hydra_ended(tmp_path):
    """The names of hydra-submitit-launcher 1.2.0, which says of each job that it completed successfully."""
    write_runs(tmp_path, {})
    for run in [*tmp_path.iterdir()]:
        hydra = run / ".hydra"
        hydra.mkdir()
        (run / "config.json").rename(hydra / "config.yaml")
        variant, _, seed = run.name.partition("_")
        (hydra / "overrides.yaml").write_text(f"- arch={variant}\n- seed={seed}\n")
        (hydra / "hydra.yaml").write_text(f"hydra:\n  job:\n    id: '{variant}7_{seed}'\n    num: {seed}\n")
        job = tmp_path / ".submitit" / f"{variant}7_{seed}"
        job.mkdir(parents=True)
        text = "submitit INFO (2026-11-28 07:55:04,413) - Job completed successfully\n"
        if run.name == f"wide_{LOST}":
            text = f"[2026-11-28 07:55:04,357][x][ERROR] -\n{TRACEBACK}RuntimeError: boom\n{text}"
        (job / f"{job.name}_0_log.out").write_text(text)
    results = ablate.analyse(tmp_path, baseline="arch=base", **OPTIONS)
    assert row_of(results, "arch=wide")["n"] == 4
    assert numbers_in(row_of(results, "arch=wide")) == pytest.approx(paired([0, 1, 3, 4]), abs=1e-12)


# Logs


@pytest.mark.parametrize("sibling", [False, True])
def test_a_log_that_ends_with_an_error_is_a_run_without_a_result(tmp_path, sibling):
    for variant, scores in SCORES.items():
        for seed, score in enumerate(scores):
            is_lost = (variant, seed) == ("wide", LOST)
            text = f"{TRACEBACK}ValueError: caught\nacc {UNTIL_THEN if is_lost else score}\n"
            error = f"{TRACEBACK}RuntimeError: boom\n" if is_lost else ""
            (tmp_path / f"{variant}_s{seed}.out").write_text(text if sibling else text + error)
            if sibling:
                (tmp_path / f"{variant}_s{seed}.err").write_text(error)
    results = ablate.analyse(tmp_path, baseline="base", read={"acc": r"^acc ([0-9.]+)"}, **OPTIONS)
    assert row_of(results)["n"] == 4
    assert numbers_in(row_of(results)) == pytest.approx(paired([0, 1, 3, 4]), abs=1e-12)


ENDS = {
    "an error": ([*TRACEBACK.split("\n"), "RuntimeError: boom"], "failed"),
    "an error with a message of several lines": (
        [*TRACEBACK.split("\n"), "RuntimeError: CUDA error: device-side assert triggered",
         "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"],
        "failed",
    ),
    "an error of one rank": (
        ["[rank1]: Traceback (most recent call last):", "[rank1]:   File", "[rank1]: ValueError: bad",
         "W1128 10:00:00.0 torch/distributed/elastic: Sending process 12 closing signal SIGTERM",
         "srun: error: n1: task 1: Exited with exit code 1"],
        "failed",
    ),
    "an error, and others that it ended": (
        [*TRACEBACK.split("\n"), "ValueError: bad", "srun: error: n1: task 1: Killed", "Terminated"], "failed",
    ),
    "a table of errors": (
        ["╭── Traceback (most recent call last) ──╮", "│ 1 x   │", "╰───╯", "ValueError: bad"], "failed"
    ),
    "a cut traceback": (["acc 0.5", "Traceback (most recent call last):", "  File"], "failed"),
    "time, after an interrupt": (
        [*TRACEBACK.split("\n"), "KeyboardInterrupt",
         "slurmstepd: error: *** JOB 1 ON a CANCELLED AT x DUE TO TIME LIMIT ***"],
        "diverged",
    ),
    "LSF": (["TERM_RUNLIMIT: job killed after reaching LSF run time limit.", "Exited with exit code 140.",
             "Resource usage summary:", "  CPU time : 3.21 sec."], "diverged"),
    "PBS": (["=>> PBS: job killed: walltime 3642 exceeded limit 3600"], "diverged"),
    "a loss that is no number": (["Loss is nan, stopping training"], "diverged"),
    "a crash": (["Segmentation fault (core dumped)"], "failed"),
    "a pruned trial": ([*TRACEBACK.split("\n"), "optuna.exceptions.TrialPruned"], "pruned"),
    "W&B after an error": (
        [*TRACEBACK.split("\n"), "ValueError: bad", "wandb: Run summary:", "wandb: loss 0.5"], "failed"
    ),
    "Hydra after an error": (
        [*TRACEBACK.split("\n"), "ValueError: bad",
         "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."],
        "failed",
    ),
    **{
        f"an error before {line}": ([*TRACEBACK.split("\n"), "ValueError: bad", line], "failed")
        for line in (
            "done", "Finished", "All done!", "Job finished", "Job finished at Mon Jan  1 10:00:33.21 CET 2024",
            "Results saved to out/", "rsync done", "Script completed in 33.2 s", "sent 1,234 bytes  received 56 bytes",
        )
    },
    "an error before a checkpoint": (
        [*TRACEBACK.split("\n"), "OSError: no upload", "Saved checkpoint to out/last.pt"], "unknown",
    ),
    "an error before progress": ([*TRACEBACK.split("\n"), "OSError: bad", "done: loss 0.31"], "unknown"),
    "TensorFlow": (
        [*TRACEBACK.split("\n"), "tensorflow.errors_impl.ResourceExhaustedError: Graph execution error:",
         "", "Detected at node conv2d defined at (most recent call last):", '  File "a.py", line 3, in <module>', "",
         "Node: 'conv2d'", "OOM when allocating tensor with shape[1,2]", "\t [[{{node conv2d}}]]",
         "Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations "
         "to RunOptions for current allocation info. [Op:__inference_train_function_33]"],
        "diverged",
    ),
    "R": (["Error in solve.default(x) : ", "  system is singular", "Calls: fit -> solve", "Execution halted", "done"],
          "failed"),
    "memory of R": (["Error: cannot allocate vector of size 2.0 Gb", "Execution halted"], "diverged"),
    "Java": (['Exception in thread "main" java.lang.Exception: x', "\tat Main.main(Main.java:3)"], "failed"),
    "memory of Java": (
        ['Exception in thread "main" java.lang.OutOfMemoryError: Java heap space', "\tat Main.main(Main.java:3)"],
        "diverged",
    ),
    "mpirun": (
        ["-" * 74, "mpirun detected that one or more processes exited with non-zero status, thus causing",
         "the job to be terminated. The first process to do so was:", "", "  Process name: [[1,1],0]",
         "  Exit code:    1", "-" * 74],
        "failed",
    ),
    "make": (["make: *** [Makefile:3: train] Error 1"], "failed"),
    "nothing": (["epoch 5 acc 0.5", "done"], "unknown"),
    "an error that was caught": ([*TRACEBACK.split("\n"), "OSError: no upload", "Training finished."], "unknown"),
    "memory that sufficed at last": (
        ["RuntimeError: CUDA out of memory.", "Retrying with batch size 16", "epoch 1: 0.5"], "unknown",
    ),
    "an error of an object that went": (
        ["acc 0.5", "Exception ignored in: <function X.__del__ at 0x7f>", *TRACEBACK.split("\n"),
         "AssertionError: bad"], "unknown",
    ),
    "a job that was requeued": (
        ["slurmstepd: error: *** JOB 1 ON a CANCELLED AT x DUE TO PREEMPTION ***",
         "Resumed", "epoch 9 loss 0.1"], "unknown",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_the_end_of_a_log_says_how_its_run_ended(case):
    lines, kind = ENDS[case]
    ending = ending_in_lines(lines, "train.log")
    assert ending.kind == kind
    assert ending.source == ("" if kind == "unknown" else "train.log")


@pytest.mark.parametrize("place", ["errors.txt", "logs/rank_0.txt", "log/worker-1.txt", "rank0.txt"])
def test_the_logs_of_a_run_may_lie_below_it(place, tmp_path):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(TRACEBACK + "ValueError: bad\n")
    (tmp_path / place).with_name("rank_7.txt").write_text("ready\n")
    ending = ending_beside(RunFolder(tmp_path, "run", [], [], is_of_hydra=False))
    assert (ending.kind, ending.source) == ("failed", place.rpartition("/")[2])


ACCOUNTS = {
    "sacct.csv": "JobID,JobName,State,ExitCode\n{rows}",
    "sacct.txt": "JobID|JobName|State|ExitCode|\n{rows}",
    "sacct_jobs.out": "       JobID    JobName      State ExitCode \n------- ------- ----- --------\n{rows}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCOUNTS)
@pytest.mark.parametrize(("state", "n"), [("CANCELLED by 1000", 4), ("FAILED", 4), ("COMPLETED", 5)])
def test_the_accounts_of_slurm_say_how_the_jobs_of_folders_ended(tmp_path, name, state, n):
    mark = {"sacct.csv": ",", "sacct.txt": "|"}.get(name, " ")
    rows = []
    for place, (variant, scores) in enumerate(SCORES.items()):
        for seed, score in enumerate(scores):
            run = tmp_path / "runs" / f"{variant}_s{seed}"
            run.mkdir(parents=True)
            (run / "metrics.json").write_text(json.dumps({"acc": score}))
            said = state if (place, seed) == (1, LOST) else "COMPLETED"
            rows.append(mark.join([f"{10 * place + seed}", run.name, said, "0:0"]))
            rows.append(mark.join([f"{10 * place + seed}.batch", "batch", "COMPLETED", "0:0"]))
    (tmp_path / "runs" / name).write_text(ACCOUNTS[name].format(rows="\n".join(rows)))
    results = ablate.analyse(
        tmp_path / "runs", baseline=next(iter(SCORES)), results=tmp_path / "out", **OPTIONS
    )
    assert row_of(results)["n"] == n
    if n < 5:
        kept = [seed for seed in range(5) if seed != LOST]
        assert numbers_in(row_of(results)) == pytest.approx(paired(kept), abs=1e-12)
    (tmp_path / "runs" / name).write_text("JobID,State\n7,FAILED\n")
    results = ablate.analyse(
        tmp_path / "runs", baseline=next(iter(SCORES)), results=tmp_path / "out", **OPTIONS
    )
    assert f"Passed over, although it may say how runs ended: {name}" in " ".join(
        results.evidence.facts.cautions
    )


# Tables


def frame(**columns):
    rows = [(name, seed, score) for name, scores in SCORES.items() for seed, score in enumerate(scores)]
    return pd.DataFrame(rows, columns=["variant", "seed", "acc"]).assign(**columns)


def lost(good, bad):
    """A column that says `bad` of the run that did not end well."""
    values = [good] * 10
    values[5 + LOST] = bad
    return values


TOLD = {
    "status": ("status", "finished", "crashed", 4),
    "words of guild": ("status", "completed", "terminated", 4),
    "words of Ray": ("status", "TERMINATED", "ERROR", 4),
    "a code": ("exit_code", 0, 1, 4),
    "a code of SLURM": ("ExitCode", "0:0", "0:9", 4),
    "an error": ("error", "", "RuntimeError: boom", 4),
    "a flag": ("failed", False, True, 4),
    "a flag as a number": ("crashed", 0, 1, 4),
    "a status below another name": ("run.status", "completed", "failed", 4),
    "an error below another name": ("info.error", "", "boom", 4),
    "states of Neptune": ("sys/failed", False, True, 4),
    "a flag of success": ("finished", True, False, 4),
    "states of America": ("state", "CA", "OK", 5),
    "an error that is a number": ("error", 0.2, 0.4, 5),
    "failures that are counted": ("failed", 0, 3, 5),
    "a failure that is counted": ("failed", 0, 1, 5),
    "a setting": ("config.state", "active", "running", 5),
    "an outcome": ("success", True, False, 5),
    "done, as Ray has it in every row": ("done", False, False, 5),
    "a layer": ("exit", 0, 7, 5),
}


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("case", TOLD)
def test_a_column_that_says_how_runs_ended_is_known_by_its_name_and_values(case):
    name, good, bad, n = TOLD[case]
    runs = frame(**{name: lost(good, bad)})
    assert counted_changes(runs, replicates=True) == [seed for seed in range(5) if n == 5 or seed != LOST]


@pytest.mark.slow
def test_a_column_that_may_be_an_outcome_is_asked_about_and_can_be_named():
    runs = frame(success=lost(True, False))
    results = ablate.analyse(runs, baseline="base", **OPTIONS)
    assert "--column status success" in " ".join(results.evidence.facts.cautions)
    named = ablate.analyse(runs, baseline="base", column={"status": "success"}, **OPTIONS)
    assert row_of(named)["n"] == 4


@pytest.mark.slow
def test_a_metric_that_has_the_name_of_an_ending_is_a_metric():
    runs = frame().rename(columns={"acc": "failed"})
    row = row_of(ablate.analyse(runs, baseline="base", metric="failed", direction="max"))
    assert numbers_in(row) == pytest.approx(paired(range(5)), abs=1e-12)


def test_a_status_that_nobody_knows_is_refused():
    with pytest.raises(Invalid, match="exploded"):
        ablate.analyse(frame(status=lost("finished", "exploded")), baseline="base", **OPTIONS)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("kind", ["pruned", "failed", "stopped", "running", "diverged"])
def test_no_number_counts_beside_an_end_that_was_not_well(kind):
    """Whatever a run measured before, and whether its pair is left out or its comparison stays open."""
    words = {
        "pruned": "pruned",
        "failed": "failed",
        "stopped": "killed",
        "running": "running",
        "diverged": "oom",
    }
    for value in (UNTIL_THEN, 0.87128, 1e9):
        runs = frame(status=lost("finished", words[kind]))
        runs.loc[5 + LOST, "acc"] = value
        trials = counted_trials(runs).set_index(["variant", "seed"])
        assert trials["acc"].drop(("wide", LOST), errors="ignore").tolist() == [
            score
            for variant in SCORES
            for seed, score in enumerate(SCORES[variant])
            if (variant, seed) != ("wide", LOST)
        ]
        assert np.isnan(trials["acc"].get(("wide", LOST), np.nan))


# What a reader is told


@pytest.mark.slow
def test_what_a_comparison_and_a_claim_leave_out_stands_beside_them(tmp_path):
    write_runs(tmp_path / "runs", {"error.txt": "RuntimeError: boom\n"})
    (tmp_path / "runs" / "base_4" / "run.json").write_text('{"status": "INTERRUPTED"}')
    words = (
        "--metric",
        "acc",
        "--direction",
        "max",
        "--baseline",
        "base",
        "--claim",
        "wide beats base on acc",
    )
    done = ablate_here("analyse", "runs", *words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    for row in (report["verdicts"][0], report["claims"][0]):
        assert row["n"] == 3
        said = row["left_out"]
        assert said.startswith("3 of 5")
        for part in ("seed 2 failed: error.txt", "seed 4 of base was interrupted", "assumes"):
            assert part in said
    shown = ablate_here("analyse", "runs", *words, cwd=tmp_path).stdout
    card = (tmp_path / "results/runs/card.md").read_text()
    page = (tmp_path / "results/runs/report.html").read_text()
    assert "10 runs, 2 × 5 seeds; 1 failed, 1 was interrupted" in shown
    for text in (shown, card, page):
        plain = " ".join(text.split())
        assert plain.count("3 of 5 (seed 2 failed: error.txt and seed 4 of base was") == 2
    assert "8 with a result, 1 failed, 1 was interrupted" in page


def test_a_rerun_stands_in_for_a_run_that_failed_and_is_counted(tmp_path):
    write_runs(tmp_path, {"error.txt": "RuntimeError: boom\n"})
    again = tmp_path / "again" / f"wide_{LOST}"
    again.mkdir(parents=True)
    (again / "config.json").write_text(json.dumps({"arch": "wide", "seed": LOST}))
    (again / "metrics.json").write_text(json.dumps({"acc": SCORES["wide"][LOST]}))
    results = ablate.analyse(tmp_path, baseline="base", **OPTIONS)
    assert numbers_in(row_of(results)) == pytest.approx(paired(range(5)), abs=1e-12)
    assert f"wide seed {LOST}, which failed: error.txt" in " ".join(results.evidence.facts.cautions)


def test_of_two_runs_of_a_seed_that_ended_well_none_is_chosen(tmp_path):
    write_runs(tmp_path, {})
    again = tmp_path / "again" / "wide_0"
    again.mkdir(parents=True)
    (again / "config.json").write_text(json.dumps({"arch": "wide", "seed": 0}))
    (again / "metrics.json").write_text(json.dumps({"acc": 0.99}))
    with pytest.raises(Invalid, match="are the same run"):
        ablate.analyse(tmp_path, baseline="base", **OPTIONS)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "files",
    [
        {
            ".exitcode": "137",
            "slurm-1.out": "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch\n",
        },
        {"exit_code": "143", "slurm-1.out": "slurmstepd: error: *** JOB 1 CANCELLED DUE TO TIME LIMIT ***\n"},
        {"status.json": json.dumps({"status": "failed", "reason": "OOMKilled", "exit_code": 137})},
        {"FAILED": "", "train.log": f"{TRACEBACK}torch.cuda.OutOfMemoryError: CUDA out of memory.\n"},
    ],
)
def test_what_says_why_a_run_ended_counts_beside_what_says_that_it_did(files, tmp_path):
    """It lacked memory or time, and counts as diverged, which leaves no pair out."""
    write_runs(tmp_path, files)
    trials = counted_trials(tmp_path)
    assert len(trials) == 10
    (lost,) = trials[trials["status"] != "completed"].to_dict("records")
    assert (lost["variant"], lost["seed"], lost["status"]) == ("wide", LOST, "diverged")
