"""Rows of a run that speak of other data are tasks or are refused: none is dropped as an earlier step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ablate.base.errors import Invalid
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable, read

Rows = Sequence[Mapping[str, object]]


def _written(root: Path, rows_of: Callable[[float], Rows], name: str = "metrics.json") -> None:
    for variant, gain in (("base", 0.0), ("wide", 0.02)):
        for seed in range(3):
            folder = root / variant / str(seed)
            folder.mkdir(parents=True)
            rows = rows_of(0.8 + gain + seed / 1000)
            if name.endswith(".json"):
                text = json.dumps(rows)
            elif name.endswith(".jsonl"):
                text = "".join(json.dumps(row) + "\n" for row in rows)
            else:
                lines = [",".join(rows[0])]
                lines += [",".join(str(row.get(column, "")) for column in rows[0]) for row in rows]
                text = "\n".join(lines) + "\n"
            (folder / name).write_text(text)


def _read(root: Path, **options: object) -> RunTable:
    asked = AnalysisOptions(**{"baseline": "base", "metric": "acc", "direction": "max", **options})  # type: ignore[arg-type]
    return read(str(root), asked)


def _by_task(acc: float) -> Rows:
    return [{"task": "a", "acc": acc}, {"task": "b", "acc": 0.6}]


def _by_split(acc: float) -> Rows:
    return [{"split": "test", "acc": acc}, {"split": "train", "acc": 0.99}]


def _epochs(acc: float) -> Rows:
    rows: list[dict[str, object]] = []
    for epoch in (1, 2):
        rows += [{"epoch": epoch, "split": "val", "acc": acc - 0.1 * (2 - epoch)}]
        rows += [{"epoch": epoch, "split": "train", "acc": 0.99}]
    return rows


def test_a_column_called_task_has_the_tasks(tmp_path: Path) -> None:
    _written(tmp_path, _by_task)
    table = _read(tmp_path)
    assert sorted(table.rows["task"].unique()) == ["a", "b"]
    of_wide = table.rows[(table.rows["variant"] == "wide") & (table.rows["task"] == "a")]
    assert of_wide["acc"].astype(float).tolist() == pytest.approx([0.82, 0.821, 0.822])
    assert len(table.content) == 6


def test_another_column_may_be_named_as_the_task(tmp_path: Path) -> None:
    _written(tmp_path, lambda acc: [{"lang": "de", "acc": acc}, {"lang": "fr", "acc": 0.6}], "results.csv")
    with pytest.raises(Invalid, match=r"--where lang=de .*--column condition lang"):
        _read(tmp_path)
    assert sorted(_read(tmp_path, column={"task": "lang"}).rows["task"].unique()) == ["de", "fr"]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", ["metrics.json", "metrics.jsonl", "metrics.csv"])
@pytest.mark.parametrize("rows_of", [_by_split, _epochs])
def test_splits_are_refused_until_the_call_says_which_counts(
    tmp_path: Path, name: str, rows_of: Callable[[float], Rows]
) -> None:
    _written(tmp_path, rows_of, name)
    with pytest.raises(Invalid, match="split"):
        _read(tmp_path)
    split = "test" if rows_of is _by_split else "val"
    table = _read(tmp_path, where=[f"split={split}"])
    assert table.rows.loc[table.rows["variant"] == "base", "acc"].tolist() == ["0.8", "0.801", "0.802"]
    table = _read(tmp_path, column={"task": "split"})
    assert sorted(table.rows["task"].unique()) == sorted([split, "train"])


def test_data_sets_that_are_splits_are_no_tasks(tmp_path: Path) -> None:
    _written(tmp_path, lambda acc: [{"dataset": "test", "acc": acc}, {"dataset": "train", "acc": 0.99}])
    with pytest.raises(Invalid, match="dataset"):
        _read(tmp_path)


def test_numbered_folds_are_no_steps(tmp_path: Path) -> None:
    _written(tmp_path, lambda acc: [{"fold": 0, "acc": acc}, {"fold": 1, "acc": 0.6}])
    with pytest.raises(Invalid, match="fold"):
        _read(tmp_path)
    assert len(_read(tmp_path, where=["fold=0"]).rows) == 6


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({"message": ["first", "second"]}, id="message"),
        pytest.param({"path": ["a.pt", "b.pt"]}, id="path"),
        pytest.param({"time": ["2026-01-01", "2026-01-02"]}, id="time"),
        pytest.param({"improved": [True, False]}, id="flag"),
        pytest.param({"status": ["running", "done"]}, id="status"),
        pytest.param({"checkpoint": ["epoch one", "epoch two"]}, id="checkpoint"),
    ],
)
def test_words_on_steps_tell_nothing_apart(tmp_path: Path, beside: Mapping[str, Sequence[object]]) -> None:
    ((name, values),) = beside.items()
    _written(tmp_path, lambda acc: [{name: values[0], "acc": 0.5}, {name: values[1], "acc": acc}])
    assert _read(tmp_path).rows["acc"].tolist()[:3] == ["0.8", "0.801", "0.802"]


def test_phases_one_after_the_other_are_steps(tmp_path: Path) -> None:
    phases = ("warmup", "warmup", "main", "main")

    def rows_of(acc: float) -> Rows:
        return [{"epoch": epoch, "phase": phase, "acc": acc} for epoch, phase in enumerate(phases)]

    _written(tmp_path, rows_of)
    assert len(_read(tmp_path).rows) == 6


def test_a_metric_of_one_split_alone_needs_no_choice(tmp_path: Path) -> None:
    def rows_of(acc: float) -> Rows:
        return [
            {"epoch": 1, "split": "val", "loss": 0.3, "acc": acc},
            {"epoch": 1, "split": "train", "loss": 0.1},
        ]

    _written(tmp_path, rows_of, "metrics.jsonl")
    assert _read(tmp_path).rows["acc"].tolist()[:3] == ["0.8", "0.801", "0.802"]
    assert len(_read(tmp_path, where=["split=val"]).rows) == 6


def test_checkpoints_that_repeat_a_history_write_nothing_twice(tmp_path: Path) -> None:
    log = [{"epoch": n, "step": 10 * n, "acc": 0.4 + n / 10} for n in (1, 2)]
    log += [{"epoch": 3, "step": 30, "acc": 0.7}, {"epoch": 3.0, "step": 30, "train_loss": 0.2}]
    for variant in ("base", "wide"):
        for seed in (0, 1):
            folder = tmp_path / f"{variant}-seed{seed}"
            (folder / "checkpoint-20").mkdir(parents=True)
            (folder / "eval_results.json").write_text(json.dumps({"acc": 0.7, "epoch": 3.0}))
            (folder / "checkpoint-20" / "trainer_state.json").write_text(json.dumps({"log_history": log[:2]}))
            (folder / "trainer_state.json").write_text(json.dumps({"log_history": log}))
    table = _read(tmp_path)
    assert table.rows["acc"].tolist() == ["0.7"] * 4
    assert not any("written later" in note for note in table.notes)
