"""What has changed since a study was trained is noticed where it is watched, and the rest is named."""

import sys

import pytest
from harness import run_here
from isolated import committed, script, study

PRINTS = """
    import sys
    print("loss", 3 - float(sys.argv[1]) + 0.001 * int(sys.argv[2]))
"""
RUNS = f"""
    exec {sys.executable} train.py "$1" "$2" ${{STEPS:-5}} $SIZE
"""


@pytest.fixture
def folder(tmp_path):
    return script(script(tmp_path / "own", PRINTS), RUNS, name="run.sh")


def test_a_variable_that_a_script_of_a_shell_reads_is_watched(folder, monkeypatch):
    monkeypatch.setenv("SIZE", "3")
    path = study(folder, command="bash run.sh {rate} {seed}", seeds=1, env={"SIZE": 8})
    run_here(path, jobs=0)
    assert "Nothing to train" in run_here(path)[1]
    monkeypatch.setenv("SIZE", "4")  # Which the study sets itself.
    assert "Nothing to train" in run_here(path)[1]
    monkeypatch.setenv("STEPS", "7")
    assert (
        "trials read STEPS from the environment, where it has another value now" in run_here(path, jobs=0)[1]
    )


def test_a_report_that_is_up_to_date_says_what_is_not_watched(folder, tmp_path):
    (tmp_path / "x.csv").write_text("1")
    path = study(folder, command=f"{sys.executable} train.py {{rate}} {{seed}} {tmp_path}/x.csv", seeds=1)
    run_here(path, jobs=0)
    printed = run_here(path)[1]
    assert f"not under `data:`, such as {tmp_path}/x.csv of the command, and variables" in printed


def test_a_template_that_is_no_code_is_watched(folder):
    (folder / "t.md").write_text("{rate}")
    path = study(folder, command="bash run.sh {rate} {seed}", seeds=1, files={"x.json": "t.md"})
    run_here(path, jobs=0)
    assert "Nothing to train" in run_here(path)[1]
    (folder / "t.md").write_text("{rate}\n")
    assert "2 trials to train" in run_here(path, jobs=0)[1]


def test_a_document_that_a_script_of_a_shell_names_is_watched_and_no_other(folder):
    (folder / "prompt.md").write_text("begin")
    (folder / "README.md").write_text("how to run")
    script(folder, f"{sys.executable} train.py $1 $2 < prompt.md", name="run.sh")
    committed(folder, "train.py", "run.sh", "prompt.md", "README.md")
    path = study(folder, command="bash run.sh {rate} {seed}", seeds=1)
    run_here(path, jobs=0)
    (folder / "README.md").write_text("how to run it")
    assert "Nothing to train" in run_here(path)[1]
    (folder / "prompt.md").write_text("begin again")
    assert "2 trials to train" in run_here(path, jobs=0)[1]
