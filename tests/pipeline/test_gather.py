"""From records to frames, of trials that can be compared."""

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, claim, study

from ablate.core.facts import Less
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.pipeline.evidence.comparable import comparable
from ablate.pipeline.evidence.from_records import gather
from ablate.records.folder import StudyFolder

VALUES = {
    f"test/{name}{at}": np.arange(4, dtype=np.float32) + number
    for number, (name, at) in enumerate(
        (name, at) for name in ("accuracy", "loss") for at in ("", "_at_best_validation")
    )
}


def gathered(at, *records, claims=()):
    facts = study({"baseline": [0.5]}, metrics={"accuracy": ACCURACY, "loss": LOSS}, claims=claims).facts
    column = "accuracy" if at == "last" else f"accuracy_at_{at}"
    cells = [
        Cell(variant, "recall", record.seed, Trial(record.id, {}, record.seed))
        for record in records
        for variant in ("baseline", "a")
    ]
    return gather(replace(facts, at=at, column=column), cells, {record.id: record for record in records})


@pytest.mark.parametrize("at", ["last", "best_validation"])
def test_the_judged_metric_is_kept_as_it_is_judged_those_of_claims_as_at_the_last_step(at):
    """Once for the cells that share a trial."""
    on_loss = claim("beats", metric="loss")
    found = gathered(at, Record("x", {}, 0, "completed", arrays=VALUES), claims=[on_loss]).examples
    assert list(found.columns) == ["id", "metric", "values"]
    assert list(zip(found["id"], found["metric"], strict=True)) == [("x", "accuracy"), ("x", "loss")]
    judged = "accuracy" if at == "last" else "accuracy_at_best_validation"
    assert np.array_equal(found["values"][0], VALUES[f"test/{judged}"])
    assert np.array_equal(found["values"][1], VALUES["test/loss"])


def test_by_example_nothing_is_kept_that_is_not_judged():
    """A metric that a claim names beside another is."""
    record = Record("x", {}, 0, "completed", arrays=VALUES)
    more_on = replace(claim("interaction"), less=Less(["a"], ["baseline"], "loss"))
    assert list(gathered("last", record).examples["metric"]) == ["accuracy"]
    assert list(gathered("last", record, claims=[more_on]).examples["metric"]) == ["accuracy", "loss"]


def test_losses_by_example_are_kept_to_17_binary_digits_and_few_values_exactly():
    rng = np.random.default_rng(0)
    losses = np.exp(rng.normal(0, 8, 1000)).astype(np.float32)
    losses[:3] = 0.0, np.inf, np.nan
    parts = (rng.integers(0, 25, 1000) / 24).astype(np.float32)
    arrays = {"test/accuracy": parts, "test/loss": losses}
    on_loss = claim("beats", metric="loss")
    kept = gathered("last", Record("x", {}, 0, "completed", arrays=arrays), claims=[on_loss]).examples[
        "values"
    ]
    assert np.array_equal(kept[0], parts)
    assert kept[1].dtype == np.float32
    np.testing.assert_allclose(kept[1], losses, rtol=2**-17)
    digits = np.frexp(kept[1][3:])[0] * 2**17
    assert np.array_equal(digits, np.round(digits))
    assert not np.array_equal(kept[1][3:], losses[3:])


def test_trials_without_outcomes_by_example_have_no_row():
    lost = Record("y", {}, 1, "diverged", arrays=VALUES)
    found = gathered("last", lost, Record("z", {}, 2, "completed")).examples
    assert list(found.columns) == ["id", "metric", "values"]
    assert len(found) == 0


def test_a_trial_on_other_data_than_its_baseline_is_left_out_with_a_warning():
    """Not one that was lost before its data were known, nor one whose own part reads a file."""

    def cell(variant, task="one"):
        return Cell(variant, "recall", 0, Trial(variant, {"task": task}, 0), f"{variant} seed 0")

    digests = {"baseline": "d1", "same": "d1", "other": "d2", "task=two": "d2", "lost": "d2"}
    cells = [cell(name, task="two" if name == "task=two" else "one") for name in digests]
    records = {name: Record(name, {}, 0, "completed", data={"train": d}) for name, d in digests.items()}
    records["same"].data["file /tmp/of_its_part.csv"] = "d3"
    records["lost"].status = "diverged"
    warnings = []
    kept = comparable(cells, records, warnings.append)
    assert list(kept) == ["baseline", "same", "task=two", "lost"]
    (warning,) = warnings
    assert warning.startswith("other seed 0: left out, because trained on other data")


def test_a_trial_on_another_kind_of_machine_than_its_baseline_is_left_out_whatever_became_of_it():
    """Not one whose record is older than kinds are."""
    kinds = {"baseline": "a", "same": "a", "other": "b", "lost": "b", "old": None}
    cells = [Cell(name, "recall", 0, Trial(name, {}, 0), f"{name} seed 0") for name in kinds]
    records = {name: Record(name, {}, 0, "completed") for name in kinds}
    records["lost"].status = "diverged"
    for name, kind in kinds.items():
        records[name].environment |= {"kind": kind} if kind else {}
    warnings = []
    assert list(comparable(cells, records, warnings.append)) == ["baseline", "same", "old"]
    (warning,) = warnings
    assert warning.startswith(
        "other seed 0, lost seed 0: left out, because trained on another kind of machine than "
    )


def test_the_columns_of_levels_have_their_types(tmp_path):
    facts = study({"baseline": [0.5], "a": [0.5], "b": [0.5]}).facts
    levels = [
        {"whole": 4, "some": 8, "real": 1e-3, "either": 1, "on": True, "maybe": None, "word": "a", "mixed": 2},
        {"whole": 2, "some": None, "real": 2.0, "either": 0.5, "on": False, "maybe": True, "word": "b"},
        {"whole": 3, "real": 0.1, "either": 3, "on": True, "maybe": False, "word": "c", "mixed": "none"},
    ]  # fmt: skip
    facts = replace(
        facts, variants=[replace(v, levels=of) for v, of in zip(facts.variants, levels, strict=True)]
    )
    ids = ["x", "y", "z"]
    cells = [
        Cell(v.name, "recall", 0, Trial(i, {}, 0), levels=v.levels)
        for i, v in zip(ids, facts.variants, strict=True)
    ]
    evidence = gather(facts, cells, {i: Record(i, {}, 0, "completed") for i in ids})
    folder = StudyFolder.at(tmp_path)
    folder.save_evidence(evidence)
    numbers = {"whole": "Int64", "some": "Int64", "real": "Float64", "either": "Float64"}
    types = numbers | {"on": "boolean", "maybe": "boolean"}
    assert {name: str(evidence.trials[name].dtype) for name in types} == types
    for frame in (evidence.trials, folder.evidence().trials):
        assert list(frame["word"]) == ["a", "b", "c"]
        assert list(frame["mixed"].dropna()) == ["2", "none"]
    known = [{name: level for name, level in of.items() if level is not None} for of in levels]
    known[0]["mixed"] = "2"
    assert [dict(cell.levels) for cell, _ in folder.rows()] == known


def test_what_is_of_one_layer_is_no_column():
    """A slash alone does not make it so: a user's own metric may have one."""
    metrics = {"accuracy": 0.5, "dead_units": 0.2, "dead_units/a.0": 0.1, "val/f1": 0.9}
    found = gathered("last", Record("x", {}, 0, "completed", metrics=metrics))
    assert {"dead_units", "val/f1"} <= set(found.trials.columns)
    assert not any(name.startswith("dead_units/") for name in found.trials.columns)
    assert not len(found.curves)


def test_a_number_of_a_record_takes_no_column_of_its_trial():
    """A workload may keep more numbers than it declares."""
    record = Record(
        "x", {}, 7, "completed", metrics={"accuracy": 0.5, "seed": 1.0, "variant": 2.0, "status": 3.0}
    )
    trials = gathered("last", record).trials
    assert trials[["variant", "seed", "status", "accuracy"]].values.tolist() == [
        ["baseline", 7, "completed", 0.5],
        ["a", 7, "completed", 0.5],
    ]
