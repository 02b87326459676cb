"""Every mistake of a study is named at once, with its line, its path and the nearest valid name."""

import pytest
from harness import TOY, ablate_here

from ablate.base.errors import StudyError
from ablate.study.prepare import prepare

TOY_HEAD = f"workload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"


def test_nothing_is_written_and_the_exit_code_is_two(write, tmp_path):
    path = write(f"name: bad\n{TOY_HEAD}model: {{nois: 1}}\n")
    done = ablate_here("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "1 problem in the study; nothing was written or trained:\n"
        f"  {path}:5: model.nois: unknown key; allowed: effect, noise, width, inert. Did you mean 'noise'?\n"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["study.yaml"]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["new", ""], "NAME: is not a valid study name; given ''"),
        (["plan", "study.yaml", "--results", ""], "'--results': must name a folder; given ''"),
        (["run", "study.yaml", "--tracking-uri", "typo"], "given 'typo'"),
        (["run", "study.yaml", "--tracking-uri", "sqlite:///typo/x.db"], "or make the folder typo first"),
    ],
)
def test_an_empty_name_and_a_mistyped_place_make_nothing(toy_study, words, given):
    done = ablate_here(*words, cwd=toy_study.parent)
    assert done.returncode == 2
    assert given in done.stderr
    assert [path.name for path in toy_study.parent.iterdir()] == ["study.yaml"]


def test_a_missing_file_names_the_nearest(tmp_path):
    (tmp_path / "quickstart.yaml").write_text("name: x\n")
    with pytest.raises(
        StudyError, match=r"does not exist; name a study file\. Did you mean 'quickstart.yaml'"
    ):
        prepare(tmp_path / "quickstar.yaml")


def test_a_folder_is_no_study(tmp_path):
    with pytest.raises(StudyError, match="is a folder, not a file; name a study file"):
        prepare(tmp_path)


def test_a_factor_can_be_set_by_its_path(toy_study):
    names = [v.name for v in prepare(toy_study, ["factors.model.effect=[0.4]"]).variants]
    assert names == ["baseline", "model.effect=0.4", "model.noise=0.3"]
