"""`ablate show`: everything that is known of one trial, and a command that repeats it."""

import json
import shlex
from pathlib import Path

import pytest
from harness import TOY_STUDY, ablate_here, ablate_without, stored
from ruamel.yaml import YAML

from ablate.base.errors import AblateError
from ablate.commands.show import show
from ablate.core.record import Record
from ablate.records.store import Store

# A name that a shell would take apart, and a trial that fails.
MADE = (
    TOY_STUDY.replace("seeds: 3", "seeds: 2")
    + 'variants: {"it\'s$HOME": {model.width: 5}}\ntraining: {fault: raise, fault_seed: 1}\n'
)


OPTIONS = {"jobs": 1}


def text(given: str, results: Path) -> str:
    return show(given, results, pytest.fail)


def the_record(folder: Path, status: str, width: int = 4) -> dict[str, object]:
    records = [json.loads(p.read_text()) for p in (folder / "results/store/trials").glob("*.json")]
    # The baseline first.
    records.sort(key=lambda record: [record["config"]["model"][name] for name in ("effect", "noise")])
    return next(r for r in records if r["status"] == status and r["config"]["model"]["width"] == width)


def sections(shown: str) -> dict[str, str]:
    """Title → text, without its indentation."""
    found: dict[str, str] = {}
    title = ""
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            title = line
            found[title] = ""
        elif title:
            found[title] += line[2:] + "\n"
    return found


@pytest.mark.slow
def test_it_shows_what_the_record_holds(made):
    record = the_record(made, "completed", width=5)
    found = sections(text(str(record["id"]), made / "results"))
    facts = YAML(typ="safe").load(found["trial"])
    assert {key: facts[key] for key in ("id", "status", "seed")} == {
        key: record[key] for key in ("id", "status", "seed")
    }
    assert found["studies"].strip() == "toy: it's$HOME on coin, seed 0"
    assert YAML(typ="safe").load(found["metrics"]) == record["metrics"]
    assert YAML(typ="safe").load(found["config"]) == record["config"]
    assert YAML(typ="safe").load(found["environment"]) == record["environment"]
    assert "training under seed 0\ndone" in found["output"]
    assert "traceback" not in found


@pytest.mark.slow
def test_its_command_repeats_the_trial_and_no_other_variant(made):
    record = the_record(made, "completed", width=5)
    (command,) = text(str(record["id"]), made / "results").strip().splitlines()[-1:]
    trials = made / "results/store/trials"
    before = {path.stem: path.stat().st_mtime_ns for path in trials.glob("*.json")}
    program, *arguments = shlex.split(command)
    assert program == "ablate"
    done = ablate_here(*arguments, "--jobs", "0", cwd=made)
    # The other seed has failed, and is not asked for.
    assert done.returncode == 1, done.stderr
    after = {path.stem: path.stat().st_mtime_ns for path in trials.glob("*.json")}
    again = {trial for trial in before if before[trial] != after[trial]}
    assert set(after) == set(before)
    assert again == {record["id"], the_record(made, "completed")["id"]}
    repeated = json.loads((trials / f"{record['id']}.json").read_text())
    assert repeated["metrics"]["accuracy"] == record["metrics"]["accuracy"]  # type: ignore[index]


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(made):
    results = made / "results"
    ids = sorted(stored(results))
    assert f"id: {ids[0]}" in text(ids[0][:-1].upper(), results)
    store = Store(results / "store")
    twin = ids[0][:-1] + ("0" if ids[0][-1] != "0" else "1")
    store.save(Record(twin, {}, 0, "completed"))
    try:
        with pytest.raises(AblateError) as caught:
            text(ids[0][:-1], results)
    finally:
        for suffix in (".json", ".npz"):
            (store.trials / f"{twin}{suffix}").unlink()
    assert "ID: matches 2 trials; given" in str(caught.value)
    assert all(trial in str(caught.value) for trial in (ids[0], twin))
    assert str(caught.value).endswith("Give more characters of the id")


def test_what_is_no_id_is_refused_with_the_nearest(made):
    trial = min(stored(made / "results"))
    with pytest.raises(AblateError, match=f"ID: matches no trial; .*Did you mean '{trial}'"):
        text(f"{trial[:7]}zz{trial[9:]}", made / "results")


def test_a_trial_that_no_study_refers_to_and_what_it_printed_cannot_act_on_the_terminal(tmp_path):
    output = "\x1b[31mred\x1b[0m \x1b[2J\x07bell\ttab\n"
    record = Record("ab12ab12ab12ab12", {"a": {}}, 3, "completed", metrics={"loss": None}, output=output)
    Store(tmp_path / "store").save(record)
    found = sections(text("ab", tmp_path))
    assert found["studies"].strip() == "No study refers to this trial."
    assert found["metrics"].split() == ["loss:"]
    assert found["output"].strip() == "red \\x07bell\ttab"
    assert not any(title.startswith("to repeat") for title in found)


@pytest.mark.slow
def test_on_the_command_line_without_torch_and_mlflow(made, tmp_path):
    trial = min(stored(made / "results"))
    done = ablate_without({"torch", "mlflow"}, "show", trial[:10], cwd=made)
    assert f"id: {trial}" in done.stdout
    assert f"ablate run {Path('results/toy/study.yaml')} --only" in done.stdout


def test_a_table_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "results/toy").mkdir(parents=True)
    (tmp_path / "results/toy/trials.parquet").write_text("not parquet")
    with pytest.raises(AblateError, match=r"toy/trials.parquet: cannot be read .*; restore it"):
        text("ab", tmp_path / "results")
