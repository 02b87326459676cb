"""What a shell offers, by its own protocol."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ablate.base.registry import CATALOGUE
from ablate.cli import main
from ablate.study.load import study_model
from ablate.study.outline import Outline
from ablate.study.prepare import prepare
from ablate.study.suggestions import paths_of

STUDY = """\
name: mine
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
model: {norm: layer}
factors:
  model.norm: [layer, batch, rms]
  model.mixer.num_heads: [1]
variants: {bare: {model.norm: none, model.position: none}}
placebo: on
"""
Offers = Callable[[str], list[str]]


@pytest.fixture
def offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Offers:
    """What bash is offered for a line, whose last word is being typed; in a folder with a study."""
    (tmp_path / "mine.yaml").write_text(STUDY)
    (tmp_path / "studies/old").mkdir(parents=True)
    (tmp_path / "studies/other.yaml").write_text("[")
    (tmp_path / "results/store/trials").mkdir(parents=True)
    (tmp_path / "results/store/trials/0123456789abcdef.json").touch()
    (tmp_path / "results/first").mkdir()
    (tmp_path / "results/first/study.yaml").touch()
    monkeypatch.chdir(tmp_path)

    def offers(line: str) -> list[str]:
        monkeypatch.setenv("_ABLATE_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        with pytest.raises(SystemExit):
            main.main(args=[], prog_name="ablate")
        printed = capsys.readouterr()
        assert not printed.err
        return [found.partition(",")[2] for found in printed.out.split()]

    return offers


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ablate pla", ["plan"]),
        ("ablate run ", ["mine.yaml", "studies/other.yaml"]),
        ("ablate run studies/", ["studies/other.yaml", "studies/old/"]),
        ("ablate report fi", ["first"]),
        ("ablate export fi", ["first"]),
        ("ablate diff first fi", ["first"]),
        ("ablate new --part act", ["activation"]),
        ("ablate list posi", ["position"]),
        ("ablate list score s", ["scaled_dot"]),
        ("ablate list res", ["results"]),
        ("ablate show 01", ["0123456789abcdef"]),
        ("ablate show --results elsewhere 01", []),
        ("ablate new --task rec", ["recall"]),
        ("ablate plan mine.yaml --set training.l", ["training.lr="]),
        ("ablate plan mine.yaml --set model.mixer.num_h", ["model.mixer.num_heads="]),
        ("ablate plan mine.yaml --set variants.bare.model.n", ["variants.bare.model.norm="]),
        # Bash splits at `=`, zsh and fish do not.
        ("ablate plan mine.yaml --set model.norm = ba", ["batch"]),
        ("ablate plan mine.yaml --set design =", ["factorial", "fractional", "one_factor", "path"]),
        (
            "ablate run mine.yaml --only model.",
            ["model.norm=batch", "model.norm=rms", "model.mixer.num_heads=1"],
        ),
        ("ablate run mine.yaml --only p", ["placebo"]),
        ("ablate run mine.yaml --only model.norm = r", ["rms"]),
        ("ablate run mine.yaml --seed 1 --only b", ["bare"]),
        ("ablate run studies/other.yaml --only ", []),
        ("ablate run nothing.yaml --only ", []),
    ],
)
def test_what_follows_is_offered(offers: Offers, line: str, expected: list[str]) -> None:
    assert offers(line) == expected


def test_zsh_and_fish_are_offered_whole_words(
    offers: Offers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell in ("zsh", "fish"):
        monkeypatch.setenv("_ABLATE_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", "ablate run mine.yaml --only model.norm=r")
        monkeypatch.setenv("COMP_CWORD", "4" if shell == "zsh" else "model.norm=r")
        with pytest.raises(SystemExit):
            main.main(args=[], prog_name="ablate")
        assert "model.norm=rms" in capsys.readouterr().out


def test_a_shell_does_not_wait_for_torch(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STUDY)
    code = "import sys; from ablate.cli import main; main(prog_name='ablate', standalone_mode=True)"
    code = f"import atexit, sys; atexit.register(lambda: print('torch' in sys.modules)); {code}"
    for line in (
        "ablate list score s",
        "ablate plan mine.yaml --set model.n",
        "ablate run mine.yaml --only m",
    ):
        asked = {"_ABLATE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | asked,
            capture_output=True,
            text=True,
            check=False,
        )
        *found, torch = done.stdout.split()
        assert (bool(found), torch, done.stderr) == (True, "False", "")


def test_the_lines_of_the_manual_switch_it_on(tmp_path: Path) -> None:
    ablate = Path(sys.executable).with_name("ablate")
    script = f"""
        PATH={ablate.parent}:$PATH
        eval "$(_ABLATE_COMPLETE=bash_source ablate)"
        compopt() {{ :; }}
        COMP_WORDS=(ablate list po); COMP_CWORD=2
        _ablate_completion ablate
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["position"], "")
    for shell in ("zsh", "fish"):
        environment = os.environ | {"_ABLATE_COMPLETE": f"{shell}_source"}
        source = subprocess.run([ablate], env=environment, capture_output=True, text=True, check=False)
        assert "_ablate_completion" in source.stdout


def test_the_outline_has_the_parts_and_paths_that_there_are(write: Callable[..., Path]) -> None:
    CATALOGUE.load_builtin()
    outline = Outline()
    builtin = {
        slot: [n for n in CATALOGUE.names(slot) if CATALOGUE.get(slot, n).__module__.startswith("ablate.")]
        for slot in CATALOGUE.slots()
    }
    assert {slot: sorted(names) for slot, names in outline.parts.items()} == {
        s: n for s, n in builtin.items() if n
    }
    experiment = prepare(write(STUDY))
    assert {*outline.paths, "model", "training"} >= {*paths_of(experiment.variants[0].configs[0])}
    assert set(outline.paths) >= set(study_model(experiment.workload).model_fields) - {
        "tasks",
        "model",
        "training",
    }
