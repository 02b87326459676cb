"""How the runs of a table ended, by columns of tools and names that nobody listed."""

import pandas as pd
import pytest
from scipy import stats

import ablate
from ablate.runs.ends.error_texts import is_error_text

BASE = [0.801, 0.795, 0.812, 0.788, 0.806]
WIDE = [0.823, 0.814, 0.830, 0.812, 0.825]
LOST = 3


def frame(**columns):
    runs = {"variant": ["base"] * 5 + ["wide"] * 5, "seed": [*range(5)] * 2, "acc": BASE + WIDE}
    return pd.DataFrame(runs | columns)


def judged(runs, **options):
    """The results, and the one row of the table of verdicts."""
    results = ablate.analyse(runs, **({"baseline": "base", "metric": "acc", "direction": "max"} | options))
    (row,) = results.comparisons.to_dict("records")
    return results, row


def paired(seeds):
    change = [WIDE[seed] - BASE[seed] for seed in seeds]
    return [len(change), *stats.ttest_1samp(change, 0).confidence_interval(0.95)]


def numbers_in(row):
    return [row["n"], row["ci_low"], row["ci_high"]]


NAMES = {
    "SageMaker": ("TrainingJobStatus", "Completed", "Failed"),
    "SageMaker's reason": ("FailureReason", "", "AlgorithmError: exit code 1"),
    "Determined": ("state", "STATE_COMPLETED", "STATE_ERROR"),
    "Prefect": ("state_name", "Completed", "Crashed"),
    "Ax": ("trial_status", "COMPLETED", "ABANDONED"),
    "LSF": ("STAT", "DONE", "EXIT"),
    "squeue": ("JobState", "COMPLETED", "NODE_FAIL"),
    "PBS": ("Exit_status", 0, 271),
    "Polyaxon": ("status", "succeeded", "unschedulable"),
    "Keras Tuner": ("status", "TrialStatus.COMPLETED", "TrialStatus.INVALID"),
    "Azure": ("job.SecondaryStatus", "Completed", "NotResponding"),
    "a name of one's own": ("how_it_went", "finished", "killed"),
    "a sentence": ("status", "finished", "failed with exit code 1"),
    "an error that is None elsewhere": ("error", "None", "boom"),
    "an exception that is - elsewhere": ("exception", "-", "boom"),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("case", NAMES)
def test_a_run_that_failed_does_not_count_whatever_its_column_is_called(case):
    name, good, bad = NAMES[case]
    values = [good] * 10
    values[5 + LOST] = bad
    _, row = judged(frame(**{name: values}))
    assert numbers_in(row) == pytest.approx(paired([0, 1, 2, 4]), abs=1e-12)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", ["TrainingJobStatus", "outcome", "state_type"])
def test_runs_of_one_side_that_all_failed_have_no_verdict(name):
    good, bad = ("success", "failure") if name == "outcome" else ("COMPLETED", "FAILED")
    _, row = judged(frame(**{name: [good] * 5 + [bad] * 5}))
    assert row["n"] == 0
    assert row["verdict"] == "inconclusive"


DOUBTFUL = {
    "a remark": ("notes", ["", "crashed at epoch 3"]),
    "a signal": ("signal", ["", "SIGKILL"]),
    "a flag": ("valid", [True, False]),
    "a code": ("rc", [0, 137]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_may_say_that_runs_failed_is_asked_about_and_can_be_named(case):
    name, (good, bad) = DOUBTFUL[case]
    values = [good] * 10
    values[5 + LOST] = bad
    results, row = judged(frame(**{name: values}), replicates=True)
    assert f"--column status {name}" in " ".join(results.evidence.facts.cautions)
    assert row["n"] == 5
    _, row = judged(frame(**{name: values}), column={"status": name})
    assert numbers_in(row) == pytest.approx(paired([0, 1, 2, 4]), abs=1e-12)


NO_ENDINGS = {
    "a place": ("state", ["Ohio", "Texas"]),
    "a person": ("status", ["married", "single"]),
    "what is kept": ("bias", ["kept", "removed"]),
    "when": ("fusion", ["late", "early"]),
    "a graph": ("graph", ["complete", "sparse"]),
    "a setting": ("config.outcome", ["success", "failure"]),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("case", NO_ENDINGS)
def test_words_that_are_no_ends_leave_all_runs(case):
    name, (one, other) = NO_ENDINGS[case]
    values = ([one] * 3 + [other] * 2) * 2
    results, row = judged(frame(**{name: values}), replicates=True)
    assert numbers_in(row) == pytest.approx(paired(range(5)), abs=1e-12)
    assert "--column status" not in " ".join(results.evidence.facts.cautions)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"State": "OUT_OF_MEMORY"}, {"ExitCode": "0:125"}),
        ({"State": "TIMEOUT"}, {"ExitCode": "0:15"}),
        ({"status": "failed"}, {"error": "torch.cuda.OutOfMemoryError: CUDA out of memory"}),
        ({"State": "failed"}, {"diverged": "True"}),
        ({"phase_state": "Failed"}, {"oom": "True"}),
        ({"status": "timeout"}, {"exit_code": "143"}),
    ],
)
def test_the_column_that_says_why_a_run_ended_counts(one, other):
    """The one that names memory, time or divergence gives the floor; the other would leave out the pair."""
    good = {"OUT_OF_MEMORY": "COMPLETED", "TIMEOUT": "COMPLETED", "timeout": "completed"}
    fine = {"0:125": "0:0", "0:15": "0:0", "143": "0", "True": "False"}
    columns = {}
    for name, bad in (one | other).items():
        well = good.get(bad, fine.get(bad, "" if name == "error" else "completed"))
        columns[name] = [bad if place == 5 + LOST else well for place in range(10)]
    _, row = judged(frame(**columns), floor=0.1)
    change = [WIDE[seed] - BASE[seed] for seed in range(5)]
    change[LOST] = 0.1 - BASE[LOST]
    interval = stats.ttest_1samp(change, 0).confidence_interval(0.95)
    assert numbers_in(row) == pytest.approx([5, *interval])


# Columns of any name: the texts of errors, and ends that some runs lack

ERRORS = [
    "CUDA out of memory",
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "torch.cuda.OutOfMemoryError: CUDA out of memory",
    "ValueError: shapes do not match",
    "loss is NaN",
    "Killed",
    "OOM",
    "Segmentation fault (core dumped)",
    "Traceback (most recent call last):\n  File 'a.py', line 3\nKeyError: 3",
    "NCCL error: unhandled system error",
    "exited with code 137",
]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fail_reason", ERRORS[0]),
        ("what happened", ERRORS[3]),
        ("err", "Killed"),
        ("fail_reason", "loss is NaN"),
        ("error_msg", "loss is NaN"),
    ],
)
def test_a_text_of_an_error_ends_a_run_under_any_name(name, text):
    texts = [text if place == 5 + LOST else "" for place in range(10)]
    acc = [*BASE, *WIDE[:LOST], 0.4, *WIDE[LOST + 1 :]]
    results, row = judged(frame(**{name: texts}, acc=acc))
    if "memory" in text or "NaN" in text:
        assert results.evidence.trials["status"].tolist().count("diverged") == 1
    else:
        assert numbers_in(row) == pytest.approx(paired([seed for seed in range(5) if seed != LOST]))


@pytest.mark.parametrize("text", ERRORS)
def test_each_text_is_of_an_error(text):
    assert is_error_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "OOM at batch 64, reran with 32",
        "lowered the batch to avoid OOM",
        "error rate fell",
        "mean squared error",
        "RuntimeError: caught, resumed from checkpoint",
        "loss is fine",
        "killedogs",
        "killed neurons come back",
        "loss term of infinite horizon",
        "NaN-safe loss",
    ],
)
def test_other_texts_are_not(text):
    assert not is_error_text(text)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "columns",
    [
        {"note": [""] * 8 + ["CUDA out of memory", ""]},
        {"msg": [*"abcdefgh", "CUDA out of memory", ""]},
        {"warning": [""] * 8 + ["loss is NaN", ""]},
    ],
)
def test_texts_that_may_be_of_errors_are_named(columns):
    results, row = judged(frame(**columns))
    (name,) = columns
    assert numbers_in(row) == pytest.approx(paired(range(5)))
    assert any(f"{name} may say how runs ended" in line for line in results.evidence.facts.cautions)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["finished_at", "EndTime", "Duration"])
def test_a_run_without_an_end_that_others_have_is_named(name):
    ends = ["2024-01-02 10:00:00"] * 9 + [""]
    results, row = judged(frame(**{name: ends}))
    assert numbers_in(row) == pytest.approx(paired(range(5)))
    (caution,) = [line for line in results.evidence.facts.cautions if f"without {name}" in line]
    assert caution.endswith(": row 9")
    for columns in ({name: ends, "state": "finished"}, {name: [""] * 10}, {name: ends[:1] * 10}):
        results, _ = judged(frame(**columns))
        assert not any("which others have" in line for line in results.evidence.facts.cautions)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stop_epoch", 31),
        ("stopped_at", 31),
        ("completion_tokens", 310),
        ("end_to_end_latency", 3.5),
        ("runtime_version", "3.11"),
    ],
)
def test_what_only_sounds_like_the_end_of_a_run_is_not_missed(name, value):
    results, row = judged(frame(**{name: [str(value)] * 9 + [""]}))
    assert numbers_in(row) == pytest.approx(paired(range(5)))
    assert not any("which others have" in line for line in results.evidence.facts.cautions)
