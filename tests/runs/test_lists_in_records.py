"""Lists, arrays and runs inside the records of a document: what each value becomes, and what is refused."""

import json

import pytest

from ablate.base.errors import Invalid
from ablate.runs.formats.tables import read_table_file
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read as read_runs

A, B = [0.91, 0.93, 0.92, 0.94], [0.95, 0.97, 0.94, 0.96]
BY_SEED = {"a": {"7": 0.91, "9": 0.93}, "b": {"7": 0.95, "9": 0.97}}
GAMES = {"a": [[1.0, 50.0, 300.0], [2.0, 49.0, 301.0]], "b": [[3.0, 60.0, 330.0], [2.5, 59.0, 331.0]]}


def read(tmp_path, document, metric="acc", name="runs.json", **options):
    """The rows of a document, a tuple each of what the columns that are there hold."""
    (tmp_path / name).write_text(json.dumps(document))
    options = AnalysisOptions(baseline="a", metric=metric, **options)
    return read_table_file(tmp_path / name, options)


def rows(found, *columns):
    """The cells of some columns, a row a tuple, sorted."""
    assert {*columns} <= {*found.table}
    return sorted(found.table[[*columns]].itertuples(index=False, name=None))


def of_seeds(seeds, **values):
    return sorted(
        (name, str(seed), str(x)) for name, of in values.items() for seed, x in zip(seeds, of, strict=True)
    )


SEEDED = {
    "seeds above": {"seeds": [7, 8, 9, 10], "rows": [{"model": "a", "acc": A}, {"model": "b", "acc": B}]},
    "seeds in the record": [
        {"model": name, "seeds": [7, 8, 9, 10], "acc": of, "loss": [1 - x for x in of], "params": 12}
        for name, of in (("a", A), ("b", B))
    ],
    "seeds in the names of files": {
        "inputs": [f"out/run_seed{seed}.json" for seed in (7, 8, 9, 10)],
        "rows": [{"model": "a", "acc": A}, {"model": "b", "acc": B}],
    },
    "objects by seed in a record": [
        {
            "model": name,
            "acc": 0.9,
            "lr": 0.1,
            "seed_results": {str(s): {"acc": x} for s, x in zip((7, 8, 9, 10), of, strict=True)},
        }
        for name, of in (("a", A), ("b", B))
    ],
    "numbers by seed in a record": [
        {"model": name, "acc": {f"seed_{s}": x for s, x in zip((7, 8, 9, 10), of, strict=True)}}
        for name, of in (("a", A), ("b", B))
    ],
    "objects with seeds in a record": [
        {
            "model": name,
            "acc": 0.9,
            "runs": [{"seed": s, "acc": x} for s, x in zip((7, 8, 9, 10), of, strict=True)],
        }
        for name, of in (("a", A), ("b", B))
    ],
}


@pytest.mark.parametrize("shape", SEEDED)
def test_seeds_beside_values_number_them(shape, tmp_path):
    found = read(tmp_path, SEEDED[shape])
    assert rows(found, "model", "seed", "acc") == of_seeds((7, 8, 9, 10), a=A, b=B)


NAMED = {
    "variants, tasks, metrics": {v: {"pan": {"acc": x}, "mail": {"acc": x}} for v, x in (("a", A), ("b", B))},
    "variants, tasks": {v: {"pan": x, "mail": x} for v, x in (("a", A), ("b", B))},
    "tasks, variants": {t: {"a": A, "b": B} for t in ("pan", "mail")},
    "metrics, tasks, variants": {m: {t: {"a": A, "b": B} for t in ("pan", "mail")} for m in ("acc", "loss")},
    "results below": {
        "date": "today",
        "config": {"lr": 1},
        "results": {t: {"a": A, "b": B} for t in ("pan", "mail")},
    },
}


@pytest.mark.parametrize("shape", NAMED)
def test_names_may_stand_in_any_order(shape, tmp_path):
    found = read(tmp_path, NAMED[shape], name="multi_seed_results.json")
    expected = [
        (v, t, str(s), str(x))
        for v, of in (("a", A), ("b", B))
        for t in ("pan", "mail")
        for s, x in enumerate(of, 1)
    ]
    assert rows(found, "variant", "task", "seed", "acc") == sorted(expected)


def test_seeds_may_stand_above_variants(tmp_path):
    turned = {seed: {v: {"acc": of[seed]} for v, of in BY_SEED.items()} for seed in ("7", "9")}
    assert rows(read(tmp_path, turned), "variant", "seed", "acc") == of_seeds((7, 9), a=A[:2], b=B[:2])


def test_values_that_nothing_numbers_are_runs_that_nothing_pairs(tmp_path):
    document = {"rows": [{"model": "a", "acc": A, "note": "x"}, {"model": "b", "acc": B[:3]}]}
    found = read(tmp_path, document)
    assert "seed" not in found.table
    assert rows(found, "model", "acc") == sorted([("a", str(x)) for x in A] + [("b", str(x)) for x in B[:3]])
    assert "nothing pairs; --seed place" in " ".join(found.notes)
    assert rows(read(tmp_path, document, seed="place"), "place") == [(str(p),) for p in (0, 0, 1, 1, 2, 2, 3)]


RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
UNCLEAR = {
    "values that rise from place to place": [
        {"model": "a", "acc": RISING},
        {"model": "b", "acc": RISING[:5]},
    ],
    "several lists that nothing tells apart": [{"model": name, "acc": of} for name in "ab" for of in (A, B)],
    "a square": [{"model": name, "acc": [[1, 2], [3, 4]], "tasks": ["pan", "mail"]} for name in "ab"],
    "an array whose runs differ as its tasks do": [
        {"model": name, "acc": [[1, 2, 4], [2, 3, 1]]} for name in "ab"
    ],
}


@pytest.mark.parametrize("case", UNCLEAR)
def test_lists_that_may_be_anything_are_refused_with_ways_out(case, tmp_path):
    with pytest.raises(Invalid) as refused:
        read(tmp_path, UNCLEAR[case])
    assert refused.value.problems[0].hint


def test_a_list_of_a_run_that_has_a_seed_is_its_history(tmp_path):
    document = [{"model": name, "seed": 0, "acc": RISING, "end": 1} for name in "ab"]
    assert rows(read(tmp_path, document), "model", "step", "acc")[-1] == ("b", "6", "0.6")
    # The number at its end counts where it is what is judged.
    assert len(read(tmp_path, document, metric="end").table) == 2
    told = [{"model": name, "epochs": [10, 20], "acc": [0.1, 0.2]} for name in "ab"]
    assert rows(read(tmp_path, told), "model", "epoch")[0] == ("a", "10")


def test_statistics_of_a_list_are_no_settings(tmp_path):
    """Samples of a benchmark may drift: their mean beside them says that they are none of steps."""
    document = [{"model": name, "acc": RISING, "mean": 0.35, "acc_std": 0.1, "user": 3} for name in "ab"]
    found = read(tmp_path, document)
    assert {*found.table} == {"model", "acc", "user"}
    assert len(found.table) == 12


ARRAYS = {
    "tasks beside": ({"games": ["pong", "tennis", "tron"], "scores": GAMES}, "pong"),
    "tasks that differ more than runs": ({"scores": GAMES}, "1"),
    "tasks first": ({"scores": {name: [*zip(*of, strict=True)] for name, of in GAMES.items()}}, "1"),
}


@pytest.mark.parametrize("shape", ARRAYS)
def test_an_array_has_a_number_for_each_run_and_task(shape, tmp_path):
    document, task = ARRAYS[shape]
    found = read(tmp_path, document)
    of_task = found.table[found.table["task"] == task]
    assert rows(found, "acc") == sorted((str(x),) for of in GAMES.values() for run in of for x in run)
    assert sorted(zip(of_task["variant"], of_task["acc"], strict=True)) == [
        ("a", "1.0"),
        ("a", "2.0"),
        ("b", "2.5"),
        ("b", "3.0"),
    ]


def test_the_end_of_the_name_of_a_list_names_it(tmp_path):
    document = [{"model": name, "results": {"acc": of}} for name, of in (("a", A), ("b", B))]
    assert len(read(tmp_path, document).table) == 8


def test_lists_of_other_lengths_stay_beside(tmp_path):
    document = [
        {"model": "a", "seeds": [1, 2], "acc": [0.5, 0.4], "curve": [1, 2, 3], "cells": [[1, 2], [3, 4]]}
    ]
    found = read(tmp_path, document)
    assert found.table["curve"].tolist() == ["[1, 2, 3]"] * 2
    assert found.table["seed"].tolist() == ["1", "2"]


def test_statistics_beside_a_list_are_named_in_the_order_of_the_file(tmp_path):
    names = ["stddev", "mean", "max", "median", "min"]
    records = [{"model": name, "acc": of, **dict.fromkeys(names, 0.5)} for name, of in (("a", A), ("b", B))]
    found = read(tmp_path, records, replicates=True)
    assert any("stddev, mean, max, median and min" in note for note in found.notes)


# Names that are no tasks


def by_names(seed, *levels):
    """Variant → seed → what a function of the accuracy says, below names of levels."""
    document = {}
    for variant, of in (("a", A), ("b", B)):
        document[variant] = {}
        for place, acc in enumerate(of):
            below = levels[-1](acc)
            for name in reversed(levels[:-1]):
                below = {name: below}
            document[variant][seed.format(place)] = below
    return document


STEPS_OF_RUNS = {
    "numbers below epochs": by_names("seed_{}", "epochs", lambda x: {"9": {"acc": x - 1}, "10": {"acc": x}}),
    "steps": by_names("{}", lambda x: {"step_9": {"acc": x - 1}, "step_10": {"acc": x}}),
    "checkpoints": by_names("{}", lambda x: {"checkpoint-9": {"acc": x - 1}, "checkpoint-10": {"acc": x}}),
    "steps and the last": by_names(
        "{}", lambda x: {"step_9": {"acc": x - 1}, "step_10": {"acc": x}, "last": {"acc": x}}
    ),
}


@pytest.mark.parametrize("shape", STEPS_OF_RUNS)
def test_names_of_steps_are_steps(shape, tmp_path):
    found = read(tmp_path, STEPS_OF_RUNS[shape])
    assert "task" not in found.table
    assert len(found.table) == 16
    last = found.table[found.table["step"] == "10"]
    assert sorted(last["acc"]) == sorted(map(str, A + B))
    assert len({*last["seed"]}) == 4


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("fold", ("fold_1", "fold_2")),
        ("split", ("train", "test")),
        ("split", ("train", "evaluation")),
        ("checkpoint", ("best", "last")),
    ],
)
def test_folds_splits_and_checkpoints_are_no_tasks(column, names, tmp_path):
    shapes = [
        by_names("seed_{}", lambda x: {name: {"acc": x} for name in names}),
        by_names("seed_{}", lambda x: {"acc": dict.fromkeys(names, x)}),
        {name: {"a": {"acc": A}, "b": {"acc": B}} for name in names},
    ]
    for shape in shapes:
        found = read(tmp_path, shape)
        assert "task" not in found.table
        assert found.table[column].value_counts().to_dict() == {
            name.removeprefix("fold_"): 8 for name in names
        }
    named = read(tmp_path, shapes[1], metric=f"acc.{names[0]}")
    assert sorted(named.table[f"acc.{names[0]}"]) == sorted(map(str, A + B))


def test_parts_of_data_are_judged_as_the_call_says(tmp_path):
    document = by_names("seed_{}", lambda x: {"acc": {"train": 1 - x, "test": x}})
    (tmp_path / "runs.json").write_text(json.dumps(document))
    options = AnalysisOptions(baseline="a", metric="acc")
    with pytest.raises(Invalid, match="differ in split") as refused:
        read_runs(str(tmp_path / "runs.json"), options)
    assert "--where split=" in str(refused.value)
    for chosen in ({"metric": "acc", "where": ["split=test"]}, {"metric": "acc.test"}):
        table = read_runs(str(tmp_path / "runs.json"), AnalysisOptions(baseline="a", **chosen))
        assert sorted(table.rows[chosen["metric"]].astype(float)) == sorted(A + B)


def test_statistics_of_a_run_are_its_mean(tmp_path):
    document = by_names("seed_{}", "acc", lambda x: {"mean": x, "std": 0.1, "n": 10, "max": 1.0})
    found = read(tmp_path, document)
    assert rows(found, "variant", "seed", "acc") == of_seeds(range(4), a=A, b=B)
    assert "task" not in found.table
    assert "the mean of each run counts, and not std, n and max" in " ".join(found.notes)
    # What the call names is judged.
    assert {*read(tmp_path, document, metric="acc.max").table["acc.max"]} == {"1.0"}


@pytest.mark.parametrize("is_below", [False, True])
def test_statistics_of_several_runs_are_one_summary(is_below, tmp_path):
    statistics = {v: {"mean": x, "std": 0.1, "n": 5} for v, x in (("a", 0.8), ("b", 0.9))}
    document = {v: {"acc": of} for v, of in statistics.items()} if is_below else statistics
    found = read(tmp_path, document)
    assert rows(found, "variant", "acc_mean", "acc_std", "n") == [
        ("a", "0.8", "0.1", "5"),
        ("b", "0.9", "0.1", "5"),
    ]


def test_statistics_without_a_mean_are_refused(tmp_path):
    document = by_names("seed_{}", lambda x: {"acc": {"min": x - 0.1, "max": x}})
    with pytest.raises(Invalid, match="not one mean") as refused:
        read(tmp_path, document)
    assert "--metric acc.min" in str(refused.value)
    assert len(read(tmp_path, document, metric="acc.min").table) == 8


def test_an_index_of_pandas_is_kept(tmp_path):
    data = [[v, x] for v, of in (("a", A), ("b", B)) for x in of]
    document = {"columns": ["model", "acc"], "index": [7, 8, 9, 10] * 2, "data": data}
    found = read(tmp_path, document)
    assert rows(found, "model", "index", "acc") == of_seeds((7, 8, 9, 10), a=A, b=B)
    assert "--seed index" in " ".join(found.notes)
    assert "index" not in read(tmp_path, {**document, "index": [*range(8)]}).table
    levels = {
        "columns": ["acc"],
        "index": [[v, s] for v in "ab" for s in range(4)],
        "data": [[x] for _, x in data],
    }
    assert rows(read(tmp_path, levels), "level_0", "level_1", "acc") == of_seeds(range(4), a=A, b=B)


RUNS_OF_A = [{"seed": seed, "acc": acc} for seed, acc in enumerate(A)]
RUNS_OF_B = [{"seed": seed, "acc": acc} for seed, acc in enumerate(B)]


@pytest.mark.parametrize("beside", [{"data_seed": 42}, {"config": {"seed": 42}}, {"seed": 42}])
def test_each_run_has_its_own_seed(beside, tmp_path):
    document = [{"name": "a", **beside, "runs": RUNS_OF_A}, {"name": "b", **beside, "runs": RUNS_OF_B}]
    (tmp_path / "runs.json").write_text(json.dumps(document))
    table = read_runs(str(tmp_path / "runs.json"), AnalysisOptions(baseline="a", metric="acc"))
    pairs = sorted(zip(table.rows["variant"], table.rows["seed"].astype(str), table.rows["acc"], strict=True))
    assert pairs == of_seeds(range(4), a=A, b=B)


def test_a_run_with_a_seed_has_its_steps_inside(tmp_path):
    document = []
    for variant, of in (("a", A), ("b", B)):
        for seed, acc in enumerate(of):
            evals = [{"step": 9, "acc": acc - 0.1}, {"step": 10, "acc": acc}, {"step": 8, "acc": acc - 0.2}]
            document.append({"name": variant, "seed": seed, "evals": evals})
    found = read(tmp_path, document)
    last = found.table[found.table["step"] == "10"]
    assert sorted(last[["name", "seed", "acc"]].itertuples(index=False, name=None)) == of_seeds(
        range(4), a=A, b=B
    )
    # A run that has the metric itself has no others.
    document = [{**record, "acc": 0.5} for record in document]
    assert len(read(tmp_path, document).table) == 8


def test_a_square_array_is_refused_with_a_way_out(tmp_path):
    square = {"models": ["a", "b", "c"], "seeds": [0, 1, 2], "acc": [[0.7, 0.8, 0.9]] * 3}
    with pytest.raises(Invalid, match="square array 'acc'"):
        read(tmp_path, square)
    way = {name: {"seeds": [0, 1], "acc": [0.7, 0.8]} for name in "ab"}
    assert rows(read(tmp_path, way), "variant", "seed", "acc") == of_seeds((0, 1), a=(0.7, 0.8), b=(0.7, 0.8))
    with pytest.raises(Invalid, match="as many lists as their length"):
        read(tmp_path, UNCLEAR["a square"])
    way = {name: {"pan": [0.7, 0.8], "mail": [0.9, 0.6]} for name in "ab"}
    assert {*read(tmp_path, way).table["task"]} == {"pan", "mail"}


def test_the_first_line_of_a_log_says_what_it_is_of(tmp_path):
    lines = [{"event": "config", "model": "a", "seed": 3}, {"event": "eval", "step": 1, "acc": 0.5}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = read_table_file(tmp_path / "log.jsonl", AnalysisOptions(baseline="a", metric="acc"))
    assert rows(found, "model", "seed", "event", "step", "acc") == [("a", "3", "eval", "1", "0.5")]
    # A run that failed is none.
    lines = [{"model": "a", "seed": 3, "error": "x"}, {"model": "a", "seed": 4, "acc": 0.5}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = read_table_file(tmp_path / "log.jsonl", AnalysisOptions(baseline="a", metric="acc"))
    assert len(found.table) == 2


def test_a_list_in_records_that_may_be_runs_is_named(tmp_path):
    """As `dvc exp show --json` has the experiments of a commit inside of it."""
    experiments = [
        {"revs": [{"model": "b", "data": {"acc": 0.95}}]},
        {"revs": [{"model": "b", "data": {"acc": 0.97}}]},
    ]
    document = [
        {"model": "a", "acc": 0.9},
        {"model": "b", "acc": 0.92, "experiments": experiments, "tags": ["x"]},
    ]
    found = read(tmp_path, document)
    assert found.notes == ["Passed over inside the records, though they may be runs: experiments"]
