"""What a trial is given beside its command: `env:`, `files:`, `{dir}`, `{run}` and `{config}`."""

import json
import math
import tomllib
from pathlib import Path

import pytest
import yaml
from harness import plan_here, prepare, problems, run_here, with_database
from isolated import committed, runs, script

from ablate import load
from ablate.base.errors import AblateError, Invalid
from ablate.external.given import given, placeholders_given, read_templates

SETTINGS = {
    "lr": 1e-05,
    "act": "relu",
    "on": True,
    "clip": None,
    "sizes": [1, 2],
    "optim": {"name": "adam", "b": [0.9, None]},
}
TRAIN = """
    import json, os, sys
    settings = json.load(open("conf/run.json"))
    assert settings["note"] == "{lr} ${lr}", settings
    assert settings["run"] == os.path.basename(os.getcwd()), settings
    assert not os.listdir(settings["dir"]), "not fresh"
    assert os.environ["SIZE"] == "8" and sys.argv[1] == settings["dir"]
    seed = settings["seed"]
    with open(os.path.join(settings["dir"], "metrics.json"), "w") as file:
        json.dump({"loss": 3 - settings["lr"] + 0.001 * seed}, file)
    with open("seen.txt", "w") as file:
        file.write(settings["dir"])
"""
TEMPLATE = """{"lr": {lr}, "seed": {seed}, "dir": "{dir}", "run": "{run}", "note": "{{lr}} ${lr}"}"""


def filled(template: str, suffix: str = ".json", env: dict[str, object] | None = None) -> str:
    """The text of a file of this suffix."""
    options = {"env": env or {}, "files": {f"x{suffix}": "t"}}
    return given(options, SETTINGS, 7, {"t": template}).files[f"x{suffix}"]


@pytest.fixture
def folder(tmp_path):
    folder = script(tmp_path / "own", TRAIN)
    (folder / "run.template").write_text(TEMPLATE)
    return folder


def study(folder: Path, *, config: dict[str, object] | None = None, **workload: object) -> Path:
    content = {
        "name": "own",
        "workload": {
            "command": "python train.py {dir}",
            "env": {"SIZE": "{size}"},
            "files": {"conf/run.json": "run.template"},
        }
        | workload,
        "config": {"lr": 0.1, "size": 8} if config is None else config,
        "metrics": {"loss": {"direction": "min", "margin": 0.05}},
        "factors": {"config.lr": [0.5]},
        "seeds": 2,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(content))
    with_database(folder / "results/store")
    return path


@pytest.mark.parametrize(
    ("template", "suffix", "right"),
    [
        ("{lr} {act} {on} {clip} {sizes}", ".json", "1e-05 relu true null [1, 2]"),
        ("{lr} {act} {on} {clip} {sizes}", ".yaml", "1.0e-05 relu true null [1, 2]"),
        ("{lr} {act} {on} {clip} {sizes}", ".py", "1e-05 relu True None [1, 2]"),
        ("{lr} {act} {on} {sizes}", ".toml", "1e-05 relu true [1, 2]"),
        ("{lr} {act} {on:1|0} {seed:03d}", ".ini", "1e-05 relu 1 007"),
        ("{optim}", ".yaml", '{"name": "adam", "b": [0.9, null]}'),
        ('{"a": {"b": {lr}}}', ".json", '{"a": {"b": 1e-05}}'),
        ("{act: x, lr: 1} { act } {} ${act} {{act}} {{lr:.0e}}", ".yaml", None),
    ],
)
def test_a_template_is_written_as_its_files_have_values(template, suffix, right):
    kept = "{act: x, lr: 1} { act } {} ${act} {act} {lr:.0e}"
    assert filled(template, suffix) == (kept if right is None else right)


def test_what_no_other_file_has_is_written_so_that_it_is_read_again():
    options = {"env": {}, "files": {"x.py": "t", "x.toml": "t"}}
    files = given(options, {"x": [float("inf"), "\x7f"]}, 7, {"t": "a = {x}"}).files
    assert eval(files["x.py"].partition("=")[2]) == tomllib.loads(files["x.toml"])["a"] == [math.inf, "\x7f"]


@pytest.mark.parametrize(
    ("template", "suffix", "fault"),
    [
        ("{lrr}", ".json", "{lrr} has no value"),
        ("{on}", ".ini", "{on} is a switch, which programs read in different ways"),
        ("{clip:.2f}", ".cfg", "{clip} is null, which programs read in different ways"),
        ("{sizes:d}", ".json", "{sizes} is a list, which programs read in different ways"),
        ("{clip}", ".cfg", "{clip} is null, which programs read in different ways"),
        ("{optim}", ".txt", "{optim} is a section"),
        ("{clip}", ".toml", "clip is null, which TOML has not"),
        ("{act:.2f}", ".json", "cannot be filled in"),
        ("{lr:--x|--no-x}", ".json", "lr is neither on nor off"),
    ],
)
def test_a_value_without_one_notation_is_refused(template, suffix, fault):
    with pytest.raises(Invalid) as error:
        filled(template, suffix)
    assert fault in str(error.value)


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml", ".toml"])
def test_the_whole_config_is_read_back_as_it_was(suffix):
    settings = {
        "lr": 1e-05,
        "big": 1e16,
        "yes": "no",
        "text": 'a "b" \\ \u00e9 \U0001f600',
        "on": True,
        "optim": {"name": "adam", "more": {"list": [1, 2.5, "x", {"deep": [1]}]}, "empty": {}},
        "a b": [],
    }
    settings |= {} if suffix == ".toml" else {"none": None}
    options = {"env": {}, "files": {f"x{suffix}": "config"}}
    text = given(options, settings, 7, {}).files[f"x{suffix}"]
    read = {".json": json.loads, ".toml": tomllib.loads}.get(suffix, yaml.safe_load)
    assert read(text) == settings | {"seed": 7}


def test_other_files_than_json_yaml_and_toml_have_no_whole_config():
    with pytest.raises(Invalid, match="can have the whole config as JSON, YAML or TOML"):
        given({"env": {}, "files": {"x.ini": "config"}}, SETTINGS, 7, {})


def test_the_placeholders_of_templates_count_and_literal_ones_do_not():
    options = {"env": {"A": "{on:1|0}-{seed}"}, "files": {"x.json": "t"}}
    assert placeholders_given(options, {"t": "{lr} {{act}} ${clip} {dir}"}) == {"on", "seed", "lr", "dir"}
    assert placeholders_given({"env": {}, "files": {"x.json": "config"}}, {}) == {"config", "seed"}


@pytest.mark.parametrize("content", [None, b"\xff\xfe{lr}", b"x" * (2**20 + 1)])
def test_a_template_is_a_text(tmp_path, content):
    if content is not None:
        (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(Invalid, match=r"workload\.files\.x\.json"):
        read_templates({"files": {"x.json": "t.json"}}, tmp_path)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("jobs", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_each_trial_has_files_variables_and_a_folder_of_its_own(folder, jobs):
    path = study(folder, parallel="on")
    planned = plan_here(path)
    assert "SIZE=8" in planned
    assert (
        'conf/run.json: {"lr": 0.5, "seed": 0, "dir": "{dir}", "run": "{run}", "note": "{lr} ${lr}"}'
        in planned
    )
    outcome, printed = run_here(path, jobs=jobs)
    assert not outcome.failed, printed
    (row,) = load(folder / "results/own").comparisons.itertuples()
    assert row.mean_variant - row.mean_baseline == pytest.approx(-0.4)
    seen = [(place / "seen.txt").read_text() for place in runs(folder)]
    assert len({*seen}) == 4
    assert not any(Path(place).exists() for place in seen)
    assert all((place / "conf/run.json").is_file() for place in runs(folder))
    assert not (folder / "conf").exists()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"env": {"SIZE": None}}, "workload.env.SIZE: is null, which programs read in different ways"),
        ({"env": {"SIZE": [1]}}, "workload.env.SIZE"),
        ({"env": {"SIZE": True}}, "workload.env.SIZE: is a switch, which programs read in different ways"),
        ({"env": {"SIZE": "{sise}"}}, "workload.env.SIZE: {sise} has no value"),
        ({"env": {"CUDA_VISIBLE_DEVICES": 0}}, "write resources: {gpus: N}"),
        ({"env": {"OMP_NUM_THREADS": 4}}, "write resources: {threads: N}"),
        ({"env": {"ABLATE_SEED": 4}}, "workload.env.ABLATE_SEED: is set by ablate for each trial"),
        ({"env": {"WANDB_API_KEY": "x"}}, "workload.env.WANDB_API_KEY: is a secret by its name"),
        ({"env": {"A-B": "x"}}, "workload.env"),
        ({"files": {"x.json": "gone.template"}}, "Did you mean 'run.template'?"),
        ({"files": {"../x.json": "run.template"}}, "is no path within the trial's copy of your folder"),
        ({"files": {"/x.json": "run.template"}}, "is no path within the trial's copy of your folder"),
        ({"isolate": "off"}, "workload.files: needs a copy of your folder for each trial"),
    ],
)
def test_what_a_trial_cannot_be_given_is_refused_before_anything_runs(folder, changes, fault):
    found = problems(study(folder, **changes))
    assert any(fault.lower() in problem.lower() for problem in found), found


def test_a_placeholder_of_a_template_without_a_value_is_refused(folder):
    (folder / "run.template").write_text(TEMPLATE.replace("{seed}", "{sead}"))
    found = problems(study(folder))
    assert any("workload.files.conf/run.json: {sead} has no value" in problem for problem in found), found
    assert any("Did you mean 'seed'?" in problem for problem in found), found


def test_a_setting_that_only_a_template_names_is_used_and_one_that_none_names_is_refused(folder):
    assert prepare(study(folder))
    found = problems(study(folder, config={"lr": 0.1, "size": 8, "depth": 2}))
    assert any("config.depth" in problem for problem in found), found


def ids(path: Path) -> set[str]:
    return {cell.id for cell in prepare(path).cells()}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", ["run.template", "run.md", "run.json"])
def test_a_change_of_a_template_changes_ids_whatever_its_name_and_wherever_it_is(folder, name):
    (folder / name).write_text(TEMPLATE)
    committed(folder, "train.py", ignored="results/\n*.template\n")
    path = study(folder, files={"conf/run.json": name})
    before = ids(path)
    (folder / "notes.md").write_text("not read by anything")
    assert ids(path) == before
    (folder / name).write_text(TEMPLATE.replace("1", "2") + "\n")
    assert not ids(path) & before


def test_a_template_that_changes_while_a_study_runs_is_the_one_that_was_read(folder):
    """In the process of the driver, and in one of its workers."""
    prepared = prepare(study(folder))
    workload = prepared.workload
    config = prepared.variants[0].first_config
    before = workload.given(config, 0).files["conf/run.json"]
    packed = workload.pack()
    (folder / "run.template").write_text("{}")
    assert workload.given(config, 0).files["conf/run.json"] == before
    worker = type(workload)()
    worker.folder = workload.folder
    worker.unpack(packed)
    assert worker.given(config, 0).files["conf/run.json"] == before


@pytest.mark.slow
def test_a_file_takes_the_place_of_one_in_the_copy_and_no_run_is_said_to_have_left_it(folder):
    """A settings file of the folder that people edit by hand, as its own template."""
    (folder / "conf").mkdir()
    (folder / "conf/run.json").write_text(TEMPLATE)
    path = study(folder, files={"conf/run.json": "conf/run.json"})
    outcome, printed = run_here(path, jobs=0)
    assert not outcome.failed, printed
    assert (folder / "conf/run.json").read_text() == TEMPLATE
    assert "which is in no commit" not in (folder / "results/own/report.html").read_text()


@pytest.mark.slow
def test_modules_of_a_given_path_are_found_and_what_is_opened_is_still_watched(folder):
    (folder / "src").mkdir()
    (folder / "src/mine.py").write_text("GAIN = 0")
    text = "import mine, os\nassert os.environ['ABLATE_TRACE']\nif os.path.exists('gone.pt'): pass\n"
    (folder / "train.py").write_text(text + (folder / "train.py").read_text())
    (folder / "gone.pt").write_text("weights")
    outcome, printed = run_here(
        study(folder, env={"SIZE": 8, "PYTHONPATH": "src"}, config={"lr": 0.1}), jobs=0
    )
    assert not outcome.failed, printed
    assert "rials looked for gone.pt" in (folder / "results/own/report.html").read_text()


def test_a_given_file_is_not_written_into_data_that_all_trials_share(folder, monkeypatch):
    monkeypatch.setattr("ablate.external.data.MAX_LINKS", 1)
    (folder / "data").mkdir()
    for name in ("a.bin", "b.bin"):
        (folder / "data" / name).write_text("x")
    path = study(
        folder, files={"conf/run.json": "run.template", "data/c.json": "run.template"}, data=["data"]
    )
    with pytest.raises(AblateError, match=r"data/c\.json: lies in a folder that is linked from elsewhere"):
        run_here(path, jobs=0)
    assert sorted(path.name for path in (folder / "data").iterdir()) == ["a.bin", "b.bin"]
