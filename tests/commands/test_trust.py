"""A results folder that somebody sent runs no code of its own until it is trusted."""

import os
import shutil

import pytest
from harness import ablate_here

PLUGIN = """
import os, pathlib
from ablate import PartConfig, register
from ablate.components.activations import Activation

with pathlib.Path(os.environ["RAN"]).open("a") as file:
    file.write("{who} ")

@register("activation", "mine")
class Mine(Activation):
    "x."

    neutral = True
    gated = False

    def forward(self, x):
        return x.relu().square()
"""
STUDY = """
name: sent
plugins: [parts.py]
checkpoint: final
task: {name: recall, vocab_size: 16, seq_len: 5, validation_size: 64, test_size: 64}
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 30, batch_size: 16}
factors: {model.feedforward.activation: [mine]}
seeds: 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which a study with a plugin has run."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "study.yaml").write_text(STUDY)
    (folder / "parts.py").write_text(PLUGIN.format(who="sender"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAN", os.devnull)
        done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def sent(finished, tmp_path, monkeypatch):
    """That folder, whose plugin now tells whenever it runs."""
    folder = tmp_path / "sent"
    shutil.copytree(finished, folder)
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    return folder


def ran(folder):
    file = folder.parent / "ran"
    said = file.read_text().split() if file.is_file() else []
    file.unlink(missing_ok=True)
    return set(said)


def call(folder, *words, code=0):
    for plugin in folder.glob("*.py"):
        plugin.write_text(f"{plugin.read_text()}#\n")  # One that has not changed is not run again.
    done = ablate_here(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return ran(folder)


@pytest.mark.slow
def test_no_command_on_a_results_folder_runs_its_code_untold(sent):
    shutil.copytree(sent / "results/sent", sent / "other")
    trial = next((sent / "results/store/trials").glob("*.json")).stem
    for words in (
        *(("report", "sent"), ("export", "sent", "--only", "methods"), ("show", trial), ("diff", "sent", "other")),
        *(("list", "results"), ("clean",)),
    ):  # fmt: skip
        assert call(sent, *words) == set()
    for command in ("eval", "bench"):
        assert call(sent, command, "sent", code=2) == set()
        assert call(sent, command, "results/sent", code=2) == set()
    # Also from a workload of the sender's.
    file = sent / "results/sent/study.yaml"
    resolved = file.read_text()
    own = resolved.replace("plugins:\n- parts.py\n", "plugins: []\n")
    assert own != resolved
    file.write_text(own.replace("workload: sequence", "workload: {function: parts.py:train}"))
    assert call(sent, "eval", "sent", code=2) == set()
    file.write_text(resolved)

    assert call(sent, "eval", "sent", "--trust") == {"sender"}
    assert call(sent, "eval", "study.yaml") == {"sender"}


@pytest.mark.slow
def test_a_study_of_ones_own_is_evaluated_without_the_plugins_of_the_folder(sent):
    """Which names another file for the same part."""
    shutil.copy(sent / "parts.py", sent / "evil.py")
    (sent / "evil.py").write_text(PLUGIN.format(who="evil"))
    file = sent / "results/sent/study.yaml"
    file.write_text(file.read_text().replace("- parts.py", "- evil.py"))
    assert call(sent, "eval", "study.yaml") == {"sender"}


@pytest.mark.parametrize("command", ["eval", "bench"])
def test_a_folder_that_was_copied_is_not_measured_into_another(command, sent):
    results = sent / "results"
    shutil.copytree(results / "sent", results / "copy")
    shutil.copytree(results, sent / "elsewhere")
    before = {path: path.read_bytes() for path in sent.rglob("*") if path.is_file()}
    for name in ("copy", "results/copy", "elsewhere/sent"):
        done = ablate_here(command, name, "--trust", cwd=sent)
        assert (done.returncode, "reports the study sent" in done.stderr) == (2, True)
    assert not ran(sent)
    assert before == {path: path.read_bytes() for path in sent.rglob("*") if path.is_file()}


def test_a_path_names_one_folder(sent):
    for command in (["report", "nowhere/sent"], ["diff", "nowhere/sent", "sent"]):
        done = ablate_here(*command, cwd=sent)
        assert (done.returncode, "nowhere/sent" in done.stderr) == (2, True)
