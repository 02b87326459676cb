"""Numbers that a run prints or writes: the last counts, all are the curve."""

import json
import math
import os
import shutil
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from ablate.base.errors import AblateError
from ablate.external.command import TimeLimit
from ablate.external.reading import Reading
from ablate.external.undeclared import MAX_NAMES, MAX_POINTS
from ablate.external.written import MAX_FILE
from ablate.runs.formats.metric_files import rows_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.sources import find_runs


def reading(*metrics: str, **patterns: str) -> Reading:
    return Reading([*metrics, *(name for name in patterns if name != "step")], patterns)


def test_the_last_value_counts_and_all_are_the_curve():
    found = reading(step=r"^step (\d+)", loss=r"loss (\S+)", acc=r"acc=(\S+)")
    for line in ("hello", "step 0: loss 4.5", "step 250: loss 2.5", "", "acc=0.5", "loss 2.25"):
        found.hear(line)
    assert found.last == {"loss": 2.25, "acc": 0.5}
    assert found.curves["loss"].steps.tolist() == [0, 250]
    assert found.curves["loss"].values.tolist() == [4.5, 2.25]


def test_values_without_steps_are_counted():
    found = reading(loss=r"loss: (\S+)")
    assert [found.hear(f"loss: {n}") for n in (3, 2, 1)] == [{"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0}]
    assert found.curves["loss"].steps.tolist() == [1, 2, 3]


def test_what_a_function_tells_is_read_beside_what_it_prints():
    found = reading("acc", loss=r"loss (\S+)")
    told = ['ablate metrics: {"step": 10, "acc": 0.25, "other": 1}', "loss 2", 'ablate metrics: {"acc": NaN}']
    assert [found.hear(line) for line in told[:2]] == [{"acc": 0.25}, {"loss": 2.0}]
    # What it returns is no report.
    assert found.hear(told[2]) == {}
    assert math.isnan(found.last["acc"])
    assert "other" not in found.last
    with pytest.raises(AblateError, match="acc: 'high' is not a number"):
        found.hear('ablate metrics: {"acc": "high"}')


def test_numbers_that_are_not_declared_are_kept_beside():
    found = reading("acc")
    found.hear(
        'ablate metrics: {"step": 10, "acc": 0.25, "lr": 0.1, "note": "x", "done": true, "nested": {"a": 1}}'
    )
    found.hear('ablate metrics: {"step": 20, "lr": NaN, "big": 1' + "0" * 400 + "}")
    found.hear('ablate metrics: {"acc": 0.5, "ece": 3, "a\\u202eb": 1}')
    points = found.undeclared.points
    assert points["lr"][0] == (10, 0.1)
    assert math.isnan(points["lr"][1][1])
    assert points["ece"] == [(20, 3.0)]
    assert points["big"] == [(20, math.inf)]
    assert points.keys() == {"lr", "ece", "big", r"a\u202eb"}
    assert found.last == {"acc": 0.5}


def test_undeclared_numbers_take_bounded_memory_and_the_last_stays(tmp_path):
    found = reading("acc")
    found.add({"acc": 1.0} | {f"n{n}": n for n in range(2 * MAX_NAMES)})
    lines = [json.dumps({"step": step, "loss": step}) for step in range(5 * MAX_POINTS)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    other = reading("acc")
    other.add({"acc": 1.0})
    other.finish(tmp_path)
    assert len(found.undeclared.points) == MAX_NAMES
    losses = other.undeclared.points["loss"]
    assert len(losses) <= 2 * MAX_POINTS
    assert losses[-1] == (5 * MAX_POINTS - 1, 5 * MAX_POINTS - 1)


def test_files_are_read_beside_what_is_printed(tmp_path):
    (tmp_path / "all_results.json").write_text('{"eval_loss": 0.5, "name": "x", "inner": {"a": 1}}')
    (tmp_path / "eval_results.json").write_text('{"eval_loss": 0.5}')
    (tmp_path / "log.jsonl").write_text('{"step": 10, "acc": 0.25}\n\n{"step": 20, "acc": 0.75}\n')
    (tmp_path / "weights.bin").write_bytes(b"\xff\xfe")
    found = reading("eval_loss", "acc", loss=r"loss: (\S+)")
    found.hear("loss: 1")
    found.finish(tmp_path)
    assert found.last == {"loss": 1.0, "eval_loss": 0.5, "acc": 0.75}
    assert found.curves["acc"].steps.tolist() == [10, 20]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"loss": 2}', r"loss was reported twice: 1, and 2 in a\.jsonl"),
        ('{"loss": [2]}', r"loss: \[2\] is not a number"),
        ("{", r"a\.jsonl cannot be read as JSON"),
        ('{"a": 1}\nx', r"a\.jsonl cannot be read as JSON"),
        ('{"loss": 1}', "acc was not read: it was neither returned nor written"),
    ],
)
def test_files_that_do_not_count(tmp_path, content, said):
    (tmp_path / "a.jsonl").write_text(content)
    found = reading("acc", loss=r"loss: (\S+)")
    found.hear("loss: 1")
    with pytest.raises(AblateError, match=said):
        found.finish(tmp_path)


def test_nothing_read_and_what_is_no_number(tmp_path):
    found = reading(loss=r"^loss: (\S+)")
    with pytest.raises(AblateError, match="loss was not read: no line matches '\\^loss"):
        found.finish(tmp_path)
    assert found.last == {}
    found.hear("loss: nan")
    found.finish(tmp_path)
    assert math.isnan(found.last["loss"])
    with pytest.raises(AblateError, match="'1,5' is not a number"):
        found.hear("loss: 1,5")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("step 1e999", "step: '1e999' is not a step"),
        ("step nan", "step: 'nan' is not a step"),
        ("step -1", "step: '-1' is not a step"),
        ("step 1e17", "step: '1e17' is not a step"),
        ("step later", "step: 'later' is not a number"),
        ('ablate metrics: {"step": NaN, "acc": 1}', "step: nan is not a step"),
        ('ablate metrics: {"step": 1e999, "acc": 1}', "step: inf is not a step"),
        (f'ablate metrics: {{"step": 1{"0" * 400}}}', "step: inf is not a step"),
        ('ablate metrics: {"acc": 1, "acc": 2}', "two values"),
        ('ablate metrics: {"acc": ' + "[" * 100_000, "JSON"),
        ('ablate metrics: {"acc": ' + "[" * 900 + "]" * 900 + "}", "not a number"),
        ("ablate metrics: acc", "JSON"),
    ],
)
def test_what_is_printed_is_a_number_or_an_error(line, said):
    with pytest.raises(AblateError, match=said):
        reading("acc", step=r"^step (\S+)").hear(line)


def test_other_values_of_json_are_no_numbers_of_a_run():
    found = reading("acc")
    assert [found.hear(f"ablate metrics: {text}") for text in ("[]", "3", '"acc"', "null")] == [{}] * 4
    assert found.last == {}


@pytest.mark.parametrize("digits", [400, 10_000])
def test_a_number_beyond_all_floats_is_infinite(tmp_path, digits):
    (tmp_path / "a.json").write_text(f'{{"acc": -1{"0" * digits}}}')
    found = reading("acc")
    found.finish(tmp_path)
    assert found.last == {"acc": -math.inf}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_files_in_other_encodings(tmp_path, encoding):
    (tmp_path / "a.jsonl").write_bytes('{"é\u2028": 1, "acc": 0.5}\n{"acc": 0.75}\n'.encode(encoding))
    found = reading("acc")
    found.finish(tmp_path)
    assert [value for _, value in found.values["acc"]] == [0.5, 0.75]


def test_what_is_no_plain_file_is_no_file_of_numbers(tmp_path):
    """One after the other, each named."""
    found = reading("acc")
    folder = tmp_path / "numbers"
    folder.mkdir()
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MAX_FILE + 1)

    def lead(target):
        (folder / "x.json").symlink_to(target)

    with socket.socket(socket.AF_UNIX) as listening:
        ways = {
            "is a folder": lambda: (folder / "x.json").mkdir(),
            "is a pipe": lambda: os.mkfifo(folder / "x.json"),
            "a socket": lambda: listening.bind(str(folder / "x.json")),
            "a device": lambda: lead("/dev/zero"),
            "does not exist": lambda: lead("nowhere"),
            "symbolic links": lambda: lead("x.json"),
            "too large": lambda: lead(large),
            "JSON": lambda: (folder / "x.json").write_bytes(bytes(range(256))),
        }
        for said, make in ways.items():
            make()
            with pytest.raises(AblateError, match=rf"x\.json.*{said}"):
                found.finish(folder)
            place = folder / "x.json"
            place.rmdir() if place.is_dir() else place.unlink()
    lead(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text('{"acc": 0.25}')
    found.finish(folder)
    assert found.last == {"acc": 0.25}


def test_reading_files_counts_towards_the_time(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"acc": 0.5}\n' * 100)
    with pytest.raises(AblateError, match="time limit"):
        reading("acc").finish(tmp_path, TimeLimit(0))


def test_numbers_are_read_at_any_depth_and_the_nearest_count(tmp_path):
    deep = tmp_path / "logs" / "version_0"
    deep.mkdir(parents=True)
    (deep / "metrics.csv").write_text("epoch,step,loss,acc\n0,0,1.5,\n0,99,,0.71\n1,199,,0.74\n")
    (tmp_path / "logs" / "results.json").write_text('{"eval": {"f1": 0.5}, "config": {"lr": 1}}')
    (deep / "results.json").write_text('{"eval": {"f1": 0.1}}')
    (deep / "tokenizer.json").write_text("{ no JSON")
    reading = Reading(["acc", "eval.f1"])
    reading.finish(tmp_path)
    assert reading.last == {"acc": 0.74, "eval.f1": 0.5}
    assert reading.values["acc"] == [(99, 0.71), (199, 0.74)]


def test_a_percent_sign_leaves_the_number(tmp_path):
    reading = Reading(["acc"], {"acc": r"acc (\S+)"})
    reading.hear("acc 82.4%")
    reading.finish(tmp_path)
    assert reading.last == {"acc": 82.4}


HISTORIES = {
    "trainer_state.json": '{"acc_best": 9, "log_history": [{"step": 10, "acc": 0.1}, {"step": 20, "acc": 0.2}]}',
    "history.json": '{"loss": [3, 2], "acc": [0.1, 0.2]}',
    "curves.json": '{"step": [10, 20], "acc": [0.1, 0.2]}',
    "all.json": '{"history": {"acc": [0.1, 0.2]}}',
    "list.json": '[{"step": 10, "acc": 0.1}, {"step": 20, "acc": "20%"}]',
    "a.csv": "# by a logger\nstep,acc\n10,0.1\n20,0.2\n",
    "b.csv": "step;acc\n10;0,1\n20;0,2\n",
    "c.tsv": "\ufeffstep\tacc\n10\t0.1\n20\t0.2\n",
    "d.ndjson": '{"epoch": 10, "acc": 0.1}\n{"epoch": 20, "acc": 0.2}\n',
}


@pytest.mark.parametrize("name", HISTORIES)
def test_histories_are_read_as_a_report_on_them_reads_them(tmp_path, name):
    (tmp_path / name).write_text(HISTORIES[name])
    found = reading("acc")
    found.finish(tmp_path)
    steps = [1, 2] if name in ("history.json", "all.json") else [10, 20]
    assert [step for step, _ in found.values["acc"]] == steps
    assert found.last["acc"] == pytest.approx(20.0 if name == "list.json" else 0.2)


def test_the_end_of_a_run_counts_before_a_history_that_ends_otherwise(tmp_path):
    """As that of Hugging Face's Trainer, which loads its best model and evaluates it."""
    (tmp_path / "trainer_state.json").write_text(HISTORIES["trainer_state.json"])
    (tmp_path / "all_results.json").write_text('{"acc": 0.5, "epoch": 3.0}')
    found = reading("acc")
    found.finish(tmp_path)
    assert found.values["acc"] == [(3, 0.5)]
    (tmp_path / "all_results.json").write_text('{"acc": 0.2, "epoch": 3.0}')
    found = reading("acc")
    found.finish(tmp_path)
    assert found.values["acc"] == [(10, 0.1), (20, 0.2)]


def test_of_the_histories_in_checkpoints_the_longest_counts(tmp_path):
    history = [{"step": step, "acc": step / 1000} for step in (500, 1000, 1500)]
    for number in (1, 2, 3):
        folder = tmp_path / f"checkpoint-{500 * number}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": history[:number]}))
    found = reading("acc")
    found.finish(tmp_path)
    assert found.values["acc"] == [(500, 0.5), (1000, 1.0), (1500, 1.5)]
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": [{"step": 500, "acc": 9}]}))
    with pytest.raises(AblateError, match="acc was reported twice"):
        reading("acc").finish(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"acc": [0.1, 0.2]}', r"acc: \[0\.1, 0\.2\] is not a number"),
        ('{"folds": [{"fold": 1, "acc": 0.1}, {"fold": 2, "acc": 0.2}]}', "acc was not read"),
        ('{"epoch": 3, "classes": {"acc": [0.1, 0.2]}}', "acc was not read"),
    ],
)
def test_lists_that_may_be_of_classes_or_folds_are_no_history(tmp_path, content, said):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(AblateError, match=said):
        reading("acc").finish(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "epoch,split,acc\n0,test,0.5\n0,train,0.9\n"),
        ("a.json", '[{"split": "test", "acc": 0.5}, {"split": "train", "acc": 0.9}]'),
        ("a.jsonl", '{"split": "test", "acc": 0.5}\n{"split": "train", "acc": 0.9}\n'),
    ],
)
def test_rows_of_two_splits_are_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    said = (
        r"acc has two values in .* 0\.5 with split=test, and 0\.9 with split=train; write the one that counts"
    )
    with pytest.raises(AblateError, match=said):
        reading("acc").finish(tmp_path)


RECORDED = Path(__file__).parents[1] / "runs/recorded"
FOLDERS = {
    # Folder of runs that another tool has written → the metric of the report on them, and the file that has it.
    "lightning": ("val_acc", "metrics.csv"),
    "transformers": ("eval_accuracy", "trainer_state.json"),
    "ray": ("accuracy", "progress.csv"),
    "timm": ("eval_top1", "summary.csv"),
    "hydra/multirun": ("accuracy", "metrics.json"),
}


@pytest.mark.parametrize("tool", FOLDERS)
def test_what_tools_write_in_the_folder_of_a_run_is_read(tool, tmp_path):
    """The last value in the first run of each recorded folder, as the report on these runs has it."""
    metric, name = FOLDERS[tool]
    file = sorted((RECORDED / tool).rglob(name))[0]
    shutil.copytree(file.parent, tmp_path / "out")
    found = reading(metric)
    found.finish(tmp_path)
    read = rows_of(file, metric)
    values = [row[metric] for row in [read.end, *read.rows] if row.get(metric)]
    assert found.last[metric] == pytest.approx(float(values[-1]))


@pytest.mark.skipif(find_spec("tensorboard") is None, reason="tensorboard is not installed")
def test_scalars_of_event_files_are_read_where_no_other_file_has_them(tmp_path):
    first, *_ = sorted((RECORDED / "tensorboard/logs").iterdir())
    shutil.copytree(first, tmp_path / "runs/validation")
    found = reading("eval/accuracy", "validation/eval/accuracy")
    found.finish(tmp_path)
    table = find_runs(
        str(first.parent), AnalysisOptions(baseline="lr0.1", metric="eval/accuracy", direction="max")
    )
    assert found.last["eval/accuracy"] == found.last["validation/eval/accuracy"]
    assert found.last["eval/accuracy"] in table.table["eval/accuracy"].astype(float).tolist()
    assert len(found.curves["eval/accuracy"].steps) > 1
    (tmp_path / "all.json").write_text('{"eval/accuracy": 0.25}')
    found = reading("eval/accuracy")
    found.finish(tmp_path)
    assert found.last == {"eval/accuracy": 0.25}


def test_rows_of_two_splits_that_share_no_metric_are_read(tmp_path):
    (tmp_path / "a.csv").write_text(
        "epoch,split,loss,acc\n0,val,,0.5\n0,train,0.9,\n1,val,,0.6\n1,train,0.8,\n"
    )
    found = reading("acc", "loss")
    found.finish(tmp_path)
    assert found.last == {"acc": 0.6, "loss": 0.8}


def test_no_split_hides_another_that_lies_deeper(tmp_path):
    for part, acc in (("train", 0.9), ("eval/test", 0.5)):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / "metrics.json").write_text(json.dumps({"acc": acc}))
    with pytest.raises(AblateError, match="acc was reported twice"):
        reading("acc").finish(tmp_path)
    (tmp_path / "metrics.json").write_text('{"acc": 0.5}')
    found = reading("acc")
    found.finish(tmp_path)
    assert found.last == {"acc": 0.5}


def test_the_nearest_file_of_one_split_counts(tmp_path):
    for part, acc in (("eval", 0.9), ("eval/checkpoint-10", 0.5)):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / "metrics.json").write_text(json.dumps({"acc": acc}))
    found = reading("acc")
    found.finish(tmp_path)
    assert found.last == {"acc": 0.9}


def test_a_file_that_lies_deeper_is_not_read_where_no_metric_is_lacking(tmp_path, monkeypatch):
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "metrics.json").write_text('{"acc": 0.5}')
    (tmp_path / "checkpoint/weights.json").write_text('{"acc": 0.25}' + " " * 100)
    monkeypatch.setattr("ablate.external.written.MAX_FILE", 50)
    found = reading("acc")
    found.finish(tmp_path)
    assert found.last == {"acc": 0.5}
    with pytest.raises(AblateError, match="too large"):
        reading("acc", "loss").finish(tmp_path)
