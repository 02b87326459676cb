"""`ablate gate --base-values`: earlier runs of the base screen tries, and do nothing else."""

import json
import platform

import pytest
from committed import PRINTED, Repository, drawn, git

from ablate.commits.given import UNNAMED_SEED
from ablate.commits.stream import PAIRS, SEEDS, Sides, Spread, State, standard_errors
from ablate.records.environment import machine

BASE = [0.70, 0.72, 0.69, 0.71, 0.73, 0.70, 0.68, 0.72, 0.71, 0.70]
CONFIRMED = [0.71, 0.70, 0.72, 0.69, 0.71]
NUM_SEEDS = UNNAMED_SEED + 50


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository")
    made.commit("measured", eval_py="")
    made.losses("base", spread_out(0))
    made.losses("good", spread_out(1, -0.05))
    return made


def spread_out(number, shift=0.0):
    """Losses of more seeds than `drawn` has."""
    return [*drawn(number, shift)] * (NUM_SEEDS // 200 + 1)


def given(repository, **changed):
    """The text of a file of values."""
    values = {
        "commit": git(repository.folder, "rev-parse", "base"),
        "machine": platform.node(),
        "command": [*PRINTED],
        "values": drawn(7)[:8].tolist(),
    }
    return {**values, **changed}


def called(repository, file, *words):
    call = ("gate", "ledger.jsonl", "--base", "base", "--head", "good", "--base-values", file)
    return repository.call(*call, "--measures", "eval.py", *words)


@pytest.mark.parametrize(
    ("tried", "p", "df", "last_digit"),
    [
        ([0.74, 0.75, 0.73, 0.76, 0.72], 0.002735107579, 7.274559194, 1e-12),
        ([0.74, 0.80, 0.68, 0.78, 0.72], 0.07558509791, 4.454662244, 1e-11),
    ],
)
def test_a_confirmation_on_a_given_base_is_that_of_the_reference(tried, p, df, last_digit):
    state = State.on_given_base(BASE, 10)
    sides = Sides(CONFIRMED, tried)
    assert state.confirmed(sides, 0.01).p == pytest.approx(p, abs=last_digit / 2)
    of_base = sides.base_spread
    of_try = sides.tried_spread
    _, (_, welch_df) = standard_errors(of_base.pooled_with(of_try), of_base, of_try)
    assert welch_df == pytest.approx(df, abs=5e-10)
    own = State.at_start(BASE)
    assert state.screened(0.75).p == own.screened(0.75).p
    after = state.after([sides], None)
    assert (after.base, after.base_is_given) == (BASE, True)
    assert (after.base_runs, after.all_runs.df) == (Spread.of(CONFIRMED), 8)
    kept = state.after([sides], sides)
    assert (kept.base, kept.base_is_given, kept.base_runs) == (tried, False, Spread.of(tried))


@pytest.mark.slow
def test_earlier_runs_of_the_base_screen_in_place_of_ten_new_ones(repository):
    (repository.folder / "values.json").write_text(json.dumps(given(repository)))
    done = called(repository, "values.json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["notes"] == []
    runs = [line for line in repository.lines("ledger.jsonl") if "run" in line]
    assert len(runs) == 1 + 2 * PAIRS
    # Earlier runs do not say which seeds they had.
    assert {line["seed"] for line in runs} == {*range(UNNAMED_SEED, UNNAMED_SEED + SEEDS)}
    state = State.on_given_base((-drawn(7)[:8]).tolist(), UNNAMED_SEED)
    base, tried = (
        [-spread_out(*side)[seed] for seed in range(UNNAMED_SEED + 1, UNNAMED_SEED + SEEDS)]
        for side in ((0,), (1, -0.05))
    )
    assert answer["p"] == state.confirmed(Sides(base, tried), 1.0).p
    # The same call says the same again; what was kept has runs of its own.
    assert called(repository, "values.json").stdout == done.stdout
    (last,) = [line for line in repository.lines("ledger.jsonl") if "difference" in line]
    assert last["state"]["base_is_given"] is False


@pytest.mark.slow
def test_values_in_a_table_and_of_another_machine(repository):
    values = given(repository)
    rows = ["commit,machine,command,value,seed"]
    for seed, value in enumerate(values["values"], 20):
        rows.append(
            f"{values['commit'][:10]},a far one,{' '.join(PRINTED[:2])} '{PRINTED[2]}' losses.txt,{value},{seed}"
        )
    (repository.folder / "values.csv").write_text("\n".join(rows))
    done = called(repository, "values.csv")
    assert done.returncode == 0, done.stderr
    (note,) = json.loads(done.stdout)["notes"]
    assert f"values.csv are of another machine: a far one, and this is {machine()}" in note
    # Above the seeds that they name.
    assert min(line["seed"] for line in repository.lines("ledger.jsonl") if "run" in line) == 28


@pytest.mark.slow
def test_another_ledger_gives_its_runs_of_the_base(repository):
    first = ("gate", "first.jsonl", "--base", "base", "--head")
    repository.losses("bad", spread_out(2, 0.05))
    assert repository.call(*first, "bad").returncode == 1
    done = called(repository, "first.jsonl")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["notes"] == []
    runs = [line for line in repository.lines("ledger.jsonl") if "run" in line]
    earlier = [line for line in repository.lines("first.jsonl") if "run" in line]
    assert not {line["seed"] for line in runs} & {line["seed"] for line in earlier}
    (begun,) = [line for line in repository.lines("ledger.jsonl") if "call" in line]
    assert begun["state"]["base"] == [-line["value"] for line in earlier if line["commit"].startswith("base")]
    # A ledger that has begun with runs of its own does not read them, and says so.
    done = repository.call(*first, "good", "--base-values", "ledger.jsonl")
    assert "ledger.jsonl was not read" in done.stderr
    repository.losses("other", spread_out(3))
    call = ("gate", "third.jsonl", "--base", "other", "--head", "bad")
    refused = repository.call(*call, "--base-values", "first.jsonl")
    assert refused.returncode == 2
    assert "its values are of the commit base (" in refused.stderr
    assert "--base is other (" in refused.stderr


@pytest.mark.slow
def test_values_that_are_not_of_this_base_are_refused_and_nothing_runs(repository):
    good = git(repository.folder, "rev-parse", "good")
    file = repository.folder / "values.json"
    for changed, said in (
        ({"commit": good}, (f"its values are of the commit {good}", "--base is base (")),
        ({"commit": "base"}, ("Give the hash",)),
        ({"commit": "0" * 40}, ("0000, and --base is base (",)),
        (
            {"command": "python train.py {seed}"},
            ("the command python train.py {seed}", "this call runs sed -n"),
        ),
        ({"values": [1.0, 1.1, 1.2, 1.3]}, ("has 4 values of the base, and 5 are the fewest",)),
        ({"values": [1.0] * 8}, ("differ by less than",)),
        (
            {"values": [1e200, 2e200, 3e200, 4e200, 5e200]},
            ("has the value 5e+200, and 1e+60 is the largest",),
        ),
        ({"values": ["1"] * 8}, ("values.json: values[0]: ",)),
        ({"seeds": [-1]}, ("seeds[0]: ",)),
        ({"more": 1}, ("more: ",)),
    ):
        file.write_text(json.dumps(given(repository, **changed)))
        done = called(repository, "values.json")
        assert done.returncode == 2
        for text in said:
            assert text in done.stderr
    for name, text, said in (
        ("a.csv", "commit,value\n1,2\n", "must have the columns commit, machine, command, value"),
        ("b.csv", f"commit,machine,command,value\n{good},a,b,x\n", "b.csv:2: value: must be a finite number"),
        ("c.csv", f"commit,machine,command,value\n{good},a,b,1\n{good},c,b,1\n", "several commits, machines"),
        (
            "e.csv",
            f"commit,machine,command,value,seed\n{good},a,b,1,1.5\n",
            "e.csv:2: seed: must be a whole number, at least 0",
        ),
        ("d.jsonl", "", "is no ledger of `ablate gate` that has begun"),
    ):
        (repository.folder / name).write_text(text)
        done = called(repository, name)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (repository.folder / "ledger.jsonl").exists()
