"""Rows that are the steps of one run, and rows that are runs: what says so, and which value counts."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

import ablate
from ablate.base.errors import AblateError, Invalid
from ablate.runs.cells import number_in
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles, read

SEEDS = range(4)


def exported(**columns):
    """Runs of two variants and two learning rates, whose last steps differ, as W&B lists them."""
    rows = []
    for variant, gain in (("base", 0.0), ("x", 0.02)):
        for seed in SEEDS:
            for rate in (0.1, 0.3):
                acc = 0.8 + gain * (rate == 0.3) + 0.003 * ((5 * seed + 3 * (rate > 0.1)) % 7)
                row = {"variant": variant, "seed": seed, "lr": rate, "_step": round(1000 * rate) + seed}
                rows.append(row | {"acc": acc})
    return pd.DataFrame(rows).assign(**columns)


def history(**columns):
    """Runs of two variants over six steps, whose accuracy is measured at every second one."""
    rows = []
    for variant, gain in (("base", 0.0), ("x", 0.02)):
        for seed in SEEDS:
            for step in range(6):
                acc = None if step % 2 else 0.5 + gain + 0.01 * step + 0.003 * ((5 * seed + step) % 7)
                rows.append({"variant": variant, "seed": seed, "step": step, "loss": 5.5 - step, "acc": acc})
    return pd.DataFrame(rows).assign(**columns)


def options(**given):
    return AnalysisOptions(baseline="base", metric="acc", direction="max", **given)


def rows_of(frame, **given):
    call = options(**given)
    return by_roles(runs_in_frame(frame, call), call)


def values(table):
    return [*map(number_in, table.rows["acc"])]


NUM_RUNS = 2 * len(SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["_step", "epoch", "step", "global_step"])
@pytest.mark.parametrize(
    ("setting", "names"), [("lr", (0.1, 0.3)), ("dataset", ("a", "b")), ("config.width", (8, 16))]
)
def test_runs_with_different_settings_are_no_steps_of_one_run(column, setting, names):
    """Half of them was dropped, and the rest gave `better`."""
    frame = exported().rename(columns={"_step": column})
    frame[setting] = np.where(frame.pop("lr") == 0.1, *names)
    with pytest.raises(AblateError, match=rf"rows of one variant differ in {setting}:"):
        ablate.analyse(frame, baseline="base", metric="acc")
    by_task = {"task": setting}
    compared = ablate.analyse(frame, baseline="base", metric="acc", column=by_task).comparisons
    assert compared["n"].tolist() == [len(SEEDS)] * 2
    of_one = ablate.analyse(frame, baseline="base", metric="acc", where=f'{setting}="{names[1]}"').comparisons
    assert of_one["diff"].tolist() == pytest.approx([0.02])


@pytest.mark.parametrize("names", [{"run_id": "r"}, {"id": "r"}, {"log_dir": "logs/"}, {"name": "calm-"}])
def test_rows_with_a_name_of_their_own_are_runs(names):
    """No column but the name tells them apart, and no two are a pair."""
    frame = exported().drop(columns=["lr", "seed"])
    ((column, prefix),) = names.items()
    frame[column] = [f"{prefix}{number}" for number in range(len(frame))]
    frame["_step"] = [700 + number for number in range(len(frame))]
    table = rows_of(frame)
    assert values(table) == frame["acc"].tolist()


def test_a_table_of_wandb_has_a_row_a_run():
    frame = exported().rename(columns={"variant": "Name"}).assign(State="finished").drop(columns="lr")
    with pytest.raises(AblateError, match="are the same run: variant base, task runs, seed 0"):
        ablate.analyse(frame, baseline="base", metric="acc")


def test_a_run_that_was_run_again_hides_no_other():
    frame = history()
    once = frame[(frame["step"] == 4) | ((frame["seed"] == 0) & (frame["step"] == 2))]
    with pytest.raises(AblateError, match="are the same run: variant base, task runs, seed 0"):
        ablate.analyse(once, baseline="base", metric="acc")


@pytest.mark.slow
def test_the_last_measured_value_counts_and_is_said():
    """A metric that is measured every second step was none at the last one, and the run had failed."""
    frame = history()
    table = rows_of(frame)
    measured = frame[frame["step"] == 4]
    assert values(table) == measured["acc"].tolist()
    assert any("of 48 rows, 8 count" in note for note in table.notes)
    assert any("acc has no value at the step that counts in 8 of 8 runs" in note for note in table.notes)
    of_x, of_base = (measured.loc[measured["variant"] == name, "acc"] for name in ("x", "base"))
    (row,) = ablate.analyse(frame, baseline="base", metric="acc").comparisons.to_dict("records")
    assert row["n"] == len(SEEDS)
    assert row["diff"] == pytest.approx((of_x.to_numpy() - of_base.to_numpy()).mean())


@pytest.mark.parametrize(("at", "step"), [("last", 4), ("step 3", 2), ("step 4", 4), ("best loss", 4)])
def test_every_step_has_the_value_that_was_measured_last(at, step):
    frame = history()
    assert values(rows_of(frame, at=at)) == frame.loc[frame["step"] == step, "acc"].tolist()


def test_the_best_step_is_one_that_was_measured():
    frame = history()
    best = frame.groupby(["variant", "seed"], sort=False)["acc"].max()
    table = rows_of(frame, at="best acc")
    assert values(table) == best.tolist()
    assert not any("has no value at the step" in note for note in table.notes)


def test_a_run_without_any_value_has_none():
    frame = history()
    frame.loc[(frame["variant"] == "x") & (frame["seed"] == 1), "acc"] = None
    table = rows_of(frame)
    assert np.isnan(values(table)).sum() == 1


@pytest.mark.slow
def test_an_id_says_whose_steps_rows_are():
    """A learning rate that falls from step to step is no setting of the run, as its id says."""
    frame = history(lr=lambda runs: 0.1 * 0.9 ** runs["step"])
    with pytest.raises(AblateError, match=r"differ in lr: .*--at last"):
        ablate.analyse(frame, baseline="base", metric="acc")
    expected = values(rows_of(history()))
    assert values(rows_of(frame, at="last")) == expected
    ids = {"run_id": frame["variant"] + frame["seed"].astype(str)}
    assert values(rows_of(frame.assign(**ids))) == expected
    without_seeds = rows_of(frame.drop(columns="seed").assign(**ids))
    assert (values(without_seeds), without_seeds.has_seeds) == (expected, False)


@pytest.mark.slow
def test_a_name_that_two_runs_share_is_no_id():
    """Runs of two learning rates that are named by variant and seed alone."""
    frame = exported()
    for column in ("run", "name", "trial_name"):
        named = frame.assign(**{column: frame["variant"] + "-" + frame["seed"].astype(str)})
        with pytest.raises(AblateError, match="differ in lr"):
            ablate.analyse(named, baseline="base", metric="acc")
    with pytest.raises(AblateError, match="differ in lr"):
        ablate.analyse(frame.assign(id="project"), baseline="base", metric="acc")


@pytest.mark.slow
def test_a_row_that_was_written_again_counts_and_is_said():
    """A run that was restored wrote steps 3 to 5 again: the later rows count, as in files of runs."""
    frame = history(run_id=lambda runs: runs["variant"] + runs["seed"].astype(str))
    again = frame[(frame["run_id"] == "x0") & (frame["step"] > 2)].copy()
    again["acc"] = [None, 0.9, None]
    both = pd.concat([frame, again], ignore_index=True)
    table = rows_of(both)
    before = values(rows_of(frame))
    assert values(table) == [*before[:4], *before[5:], 0.9]
    assert any("3 rows with step as in a later row of the same run" in note for note in table.notes)
    with pytest.raises(AblateError, match="step twice: row 27 and row 48"):
        rows_of(both.drop(columns="run_id"), at="last")


@pytest.mark.slow
def test_a_run_that_failed_before_a_step_has_no_result_there():
    frame = history(state="finished")
    is_lost = (frame["variant"] == "x") & (frame["seed"] == 1)
    frame.loc[is_lost, "state"] = "crashed"
    frame = frame[~(is_lost & (frame["step"] > 2))]
    frame["acc"] = frame["acc"].fillna(frame["acc"].shift())
    compared = ablate.analyse(frame, baseline="base", metric="acc", at="step 5").comparisons
    assert compared["n"].tolist() == [len(SEEDS) - 1]
    with pytest.raises(AblateError, match="must be a step of every run"):
        ablate.analyse(frame.drop(columns="state"), baseline="base", metric="acc", at="step 5")


@pytest.mark.slow
def test_rows_without_seeds_that_may_be_either_are_refused():
    frame = history(stage=["a", "b", "c", "d", "e", "f"] * NUM_RUNS).query("seed == 0").drop(columns="seed")
    with pytest.raises(AblateError, match="may be steps of one run, by step, or runs of their own"):
        rows_of(frame)
    assert len(rows_of(frame, at="last").rows) == 2


NUMBERS = some.integers(0, 3)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=some.lists(
        some.fixed_dictionaries(
            {
                "variant": some.sampled_from(["base", "x"]),
                "seed": NUMBERS,
                "lr": some.sampled_from([0.1, 0.3]),
                "step": NUMBERS,
                "acc": some.one_of(some.none(), some.floats(0.1, 0.9)),
            }
        ),
        min_size=1,
        max_size=16,
    ),
    dropped=some.sets(some.sampled_from(["seed", "lr", "step"])),
    id_of=some.sampled_from(["", "run", "row"]),
)
def test_no_row_is_lost_without_a_word(rows, dropped, id_of):
    """Each row is judged, or a note says how many are not, or the table is refused."""
    frame = pd.DataFrame(rows)
    if id_of == "run":
        frame["run_id"] = frame["variant"] + frame["seed"].astype(str)
    if id_of == "row":
        frame["run_id"] = [f"r{number}" for number in range(len(frame))]
    frame = frame.drop(columns=[*dropped])
    try:
        table = rows_of(frame)
    except AblateError:
        return
    if len(table.rows) < len(frame):
        assert any(
            f"of {len(frame)} row" in note and f" {len(table.rows)} count" in note for note in table.notes
        )
        assert "lr" in dropped or id_of == "run" or frame.groupby(["variant"])["lr"].nunique().max() == 1 or (
            frame.groupby([name for name in ("variant", "seed") if name in frame])["lr"].nunique().max() == 1
        )  # fmt: skip
    assert id_of != "row" or len(table.rows) == len(frame)


# Numbers that a format types


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("kind", ["json", "jsonl", "parquet", "frame"])
def test_a_number_of_the_format_is_never_read_as_local_notation(kind, tmp_path):
    """`0,1` as text beside them said that points mark thousands: 12.345 became 12345."""
    rows = []
    for variant, shift in (("base", 12.345), ("x", 12.123)):
        rows += [
            {"variant": variant, "seed": seed, "ppl": shift + (shift > 12.2) * seed**2 / 1000, "wd": "0,1"}
            for seed in SEEDS
        ]
    frame = pd.DataFrame(rows)
    path = tmp_path / f"runs.{kind}"
    if kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif kind == "parquet":
        frame.to_parquet(path)
    call = AnalysisOptions(baseline="base", metric="ppl", direction="min")
    table = by_roles(runs_in_frame(frame, call), call) if kind == "frame" else read(str(path), call)
    assert [*map(number_in, table.rows["ppl"])] == frame["ppl"].tolist()
    of_x, of_base = (frame.loc[frame["variant"] == name, "ppl"] for name in ("x", "base"))
    given = frame if kind == "frame" else str(path)
    (row,) = ablate.analyse(given, baseline="base", metric="ppl", direction="min").comparisons.to_dict(
        "records"
    )
    assert row["p"] == pytest.approx(stats.ttest_rel(of_x, of_base).pvalue, rel=1e-6)


def test_text_beside_typed_numbers_is_still_read(tmp_path):
    """Within one column each cell is read by its own type."""
    rows = [
        {"variant": "base", "seed": seed, "acc": text} for seed, text in enumerate((1.234, "0,91", "1.234,5"))
    ]
    (tmp_path / "runs.json").write_text(json.dumps(rows))
    assert values(read(str(tmp_path / "runs.json"), options())) == [1.234, 0.91, 1234.5]


def test_a_second_column_of_a_name_is_named():
    """Of two columns called acc, pandas names the second acc.1."""
    frame = history().query("step == 4").assign(**{"acc.1": 0.5})
    assert any("acc.1 may be a second column called acc" in note for note in rows_of(frame).notes)


def test_a_frame_refuses_two_columns_of_one_name():
    frame = history().query("step == 4")
    twice = frame.rename(columns={"loss": "acc"})
    with pytest.raises(AblateError, match="none twice"):
        ablate.analyse(twice, baseline="base", metric="acc")
    with pytest.raises(AblateError, match="level of the index with the name of a column"):
        ablate.analyse(frame.set_index("seed", drop=False), baseline="base", metric="acc")
    chart = pd.DataFrame({"Step": [1], "relu - acc": [0.1], "relu - acc.1": [0.2], "x - acc": [0.3]})
    with pytest.raises(AblateError, match="two runs of one name"):
        ablate.analyse(chart, baseline="relu", metric="acc")
    wide = pd.DataFrame({"model": ["relu"], "acc_seed0": [0.1], "acc-s0": [0.2], "acc_seed1": [0.3]})
    with pytest.raises(AblateError, match="two values have the name"):
        ablate.analyse(wide, baseline="relu", metric="acc")


# Rows that share the id of a run, and that nothing numbers

BASE = [0.801, 0.812, 0.795, 0.808, 0.799, 0.804]
WIDE = [0.826, 0.829, 0.823, 0.835, 0.817, 0.828]


def evaluations(ids, name="run_id", **columns):
    """Two variants, whose rows have these ids: one digit a row of each variant."""
    rows = []
    for variant, accs in (("base", BASE), ("wide", WIDE)):
        for digit, acc in zip(ids, accs, strict=True):
            rows.append({"variant": variant, name: f"{variant[0]}7{digit}", "acc": acc})
    return pd.DataFrame(rows).assign(**columns)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", ["run_id", "Run ID", "runId", "trial_id", "id", "uuid", "wandb_id"])
def test_rows_of_one_id_are_no_replicates(name):
    frame = evaluations("111111", name)
    with pytest.raises(AblateError, match=rf"several rows of one {name}: .* 'b71 in 6 rows'.* --at last"):
        rows_of(frame)
    assert values(rows_of(frame, at="last")) == [BASE[-1], WIDE[-1]]
    assert len(rows_of(frame, replicates=True).rows) == 12
    seeded = frame.assign(seed=[*range(6)] * 2)
    assert values(rows_of(seeded)) == [*BASE, *WIDE]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", ["job_id", "SLURM_JOB_ID", "run", "run_name", "output_dir", "exp_id"])
def test_a_name_that_all_rows_of_a_variant_share_may_be_of_one_run(name):
    table = rows_of(evaluations("111111", name))
    assert len(table.rows) == 12
    assert any(f"6 rows have one {name}, b71, and count as so many runs" in note for note in table.notes)
    with pytest.raises(AblateError, match=f"several rows of one {name}|rows of one variant differ in {name}"):
        rows_of(evaluations("111222", name))


def test_an_id_of_few_digits_may_number_the_variants():
    frame = evaluations("111111", "id")
    frame["id"] = np.where(frame["variant"] == "base", 0, 1)
    table = rows_of(frame)
    assert values(table) == [*BASE, *WIDE]
    assert any("6 rows have one id, 0, and count as so many runs" in note for note in table.notes)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", ["Created", "start_time", "started_at"])
def test_one_start_of_several_rows_is_said(name):
    frame = evaluations("111111", name)
    frame[name] = np.where(frame["variant"] == "base", "2024-01-01 10:00:03", "2024-01-01 12:41:09")
    assert any(f"6 rows have one {name}, " in note for note in rows_of(frame).notes)
    days = frame.assign(**{name: frame[name].str[:10]})
    assert not any("count as so many runs" in note for note in rows_of(days).notes)


@pytest.mark.slow
def test_times_order_the_rows_of_a_run():
    """Three runs of two evaluations each, the later one above the other."""
    times = [f"2024-01-02 1{minute}:00" for minute in (1, 0, 3, 2, 5, 4)]
    frame = evaluations("112233", timestamp=times * 2)
    table = rows_of(frame)
    assert values(table) == [*BASE[::2], *WIDE[::2]]
    assert any("in the order of timestamp: of 12 rows, 6 count" in note for note in table.notes)
    (row,) = ablate.analyse(frame, baseline="base", metric="acc").comparisons.to_dict("records")
    welch = stats.ttest_ind(WIDE[::2], BASE[::2], equal_var=False).confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((welch.low, welch.high))
    assert values(rows_of(frame, at="best acc")) == [0.812, 0.808, 0.804, 0.829, 0.835, 0.828]
    with pytest.raises(AblateError, match="several rows of one run_id"):
        rows_of(frame.drop(columns="timestamp"))


@pytest.mark.parametrize(
    "ids",
    [
        {"id": ["base"] * 6 + ["wide"] * 6},
        {"log_dir": ["out/base/"] * 6 + ["out/wide/"] * 6},
        {"name": ["The reference"] * 6 + ["Twice as wide"] * 6},
        {"experiment": ["exp1"] * 6 + ["exp2"] * 6},
        {"job_id": ["17"] * 12},
        {"run": [*range(1, 7)] * 2},
        {"run_id": [f"r{row}" for row in range(12)]},
    ],
)
def test_ids_of_variants_and_of_rows_say_nothing(ids):
    table = rows_of(evaluations("111111", "nothing").drop(columns="nothing").assign(**ids))
    assert values(table) == [*BASE, *WIDE]
    assert not any("count as so many runs" in note for note in table.notes)


@pytest.mark.slow
def test_rows_of_one_seed_are_steps_where_the_call_says_so():
    frame = evaluations("111111", seed=0)
    with pytest.raises(AblateError, match="are the same run: variant base, task runs, seed 0"):
        ablate.analyse(frame, baseline="base", metric="acc")
    assert values(rows_of(frame, at="last")) == [BASE[-1], WIDE[-1]]


RESUMED = "model,seed,step,acc\n" + "".join(
    f"{model},{seed},{step},{acc + gain}\n"
    for model, gain in (("base", 0.0), ("wide", 0.1))
    for seed in (0, 1)
    for step, acc in ((0, 0.1), (50, 0.2), (100, 0.3), (50, 0.4), (100, 0.5))
)


def test_the_refusal_of_steps_that_stand_twice_says_how_to_read_resumed_runs(tmp_path):
    (tmp_path / "runs.csv").write_text(RESUMED)
    options = AnalysisOptions(baseline="base", metric="acc", direction="max", at="last")
    with pytest.raises(Invalid, match="--column step step takes the later"):
        read(str(tmp_path / "runs.csv"), options)
    table = read(str(tmp_path / "runs.csv"), replace(options, column={"step": "step"}))
    assert table.rows["acc"].tolist() == ["0.5", "0.5", "0.6", "0.6"]
    assert any("the later counts" in note for note in table.notes)


def test_a_number_beside_a_history_is_said_and_may_be_judged(tmp_path):
    records = []
    for name, gain in (("base", 0.0), ("wide", 0.1)):
        for seed in (0, 1):
            evals = [{"step": step, "acc": 0.001 * step + gain} for step in (100, 200)]
            records.append({"name": f"{name}_seed{seed}", "final": {"acc": 0.5 + gain}, "evals": evals})
    (tmp_path / "runs.json").write_text(json.dumps(records))
    options = AnalysisOptions(baseline="base", metric="acc", direction="max")
    table = read(str(tmp_path / "runs.json"), options)
    assert any("--metric final.acc judges it instead" in note for note in table.notes)
    table = read(str(tmp_path / "runs.json"), replace(options, metric="final.acc"))
    assert table.rows["final.acc"].tolist() == ["0.5", "0.5", "0.6", "0.6"]


def test_a_column_of_variants_that_is_not_there_is_refused(tmp_path):
    (tmp_path / "runs.csv").write_text("model,acc\nbase,0.5\nbase,0.6\nwide,0.7\nwide,0.8\n")
    options = AnalysisOptions(baseline="base", metric="acc", direction="max", variant=["modl"])
    with pytest.raises(Invalid, match=r"has no column 'modl'.*model"):
        read(str(tmp_path / "runs.csv"), options)
