"""Every mistake of a study is named at once, with its line, its path and the nearest valid name."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY, ablate_here, problems

from ablate.base.errors import StudyError
from ablate.study.prepare import prepare

TOY_HEAD = f"workload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"


def test_nothing_is_written_and_the_exit_code_is_two(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(f"name: bad\n{TOY_HEAD}model: {{nois: 1}}\n")
    done = ablate_here("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "1 problem in the study; nothing was written or trained:\n"
        f"  {path}:5: model.nois: unknown key; allowed: effect, noise, width, inert. Did you mean 'noise'?\n"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["study.yaml"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ":1: must be a mapping, but the file is empty"),
        (b"# only a comment\n", ":1: must be a mapping, but the file is empty"),
        (b"- a\n- b\n", ":1: must be a mapping, not a list"),
        (b"just words\n", ":1: must be a mapping, not a single value"),
        (b"name: x\nquestion: caf\xe9\n", ":2: must be UTF-8 text; given 'byte 0xe9'"),
        (b"name: x\nmodel: [1, 2\nseeds: 3\n", ":3: must be YAML"),
        (b"name: x\n\tseeds: 3\n", ":2: must be YAML"),
    ],
)
def test_a_file_that_is_no_study(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(StudyError) as caught:
        prepare(path)
    assert expected in str(caught.value)
    done = ablate_here("run", path, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "quickstart.yaml").write_text("name: x\n")
    with pytest.raises(
        StudyError, match=r"does not exist; name a study file\. Did you mean 'quickstart.yaml'"
    ):
        prepare(tmp_path / "quickstar.yaml")


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is a folder, not a file; name a study file"):
        prepare(tmp_path)


SPAN = "a margin must be less than the range of accuracy, or everything is equivalent"
ALLOWED = "allowed: less than 0.9375, the distance from guessing to the best accuracy"


@pytest.mark.parametrize("margin", ["5", "0.94", "0.9375"])
def test_a_margin_is_less_than_the_range_of_the_metric(write: Callable[..., Path], margin: str) -> None:
    """One of 16 values, or of 4, is right by chance; the task with the smaller range decides."""
    variants = "variants: {bare: {model.position: none}}\n"
    text = f"name: wide\ntask: {{name: recall, vocab_size: 32}}\n{variants}"
    text += f"metric: {{name: accuracy, margin: {margin}}}\n"
    claims = [f"bare beats baseline on accuracy by {margin}"]
    claims += [f"bare matches baseline on accuracy within {margin}"]
    found = problems(write(text + f"claims: [{', '.join(claims)}, bare beats baseline on accuracy by 0.9]\n"))
    assert found == [
        f"line 4: metric.margin: {SPAN}; given {float(margin)}; {ALLOWED}",
        *(f"line 5: claims[{i}]: {SPAN}; given {claim!r}; {ALLOWED}" for i, claim in enumerate(claims)),
    ]
    several = text.replace(
        "task: {name: recall, vocab_size: 32}", "tasks: [recall, {name: recall, vocab_size: 8}]"
    )
    (problem,) = problems(write(several.replace(margin, "0.9")))
    assert "allowed: less than 0.75" in problem


def test_a_factor_can_be_set_by_its_path(toy_study: Path) -> None:
    names = [v.name for v in prepare(toy_study, ["factors.model.effect=[0.4]"]).variants]
    assert names == ["baseline", "model.effect=0.4", "model.noise=0.3"]
    found = problems(toy_study, sets=["factors.model.effect=3", "seeds.x=1"])
    assert "--set factors.model.effect=3: factors.model.effect: must be a list; given 3" in found
    assert "--set seeds.x=1: seeds.x: unknown key; allowed: from, count" in found
