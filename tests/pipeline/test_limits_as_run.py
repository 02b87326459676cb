"""The study file beside a report is taken with the limits of the run that left it."""

import os

import pytest
from harness import TOY_STUDY, ablate_here

from ablate.base.errors import AblateError
from ablate.core.names import beside
from ablate.pipeline.reports.limits import limited_as_run, limits_of
from ablate.pipeline.reports.place import report_place
from ablate.records.folder import StudyFolder
from ablate.session.options import Options
from ablate.study.document import read_document

STUDY = TOY_STUDY + "conditions: {small: {}, large: {model.width: 9}, largest: {model.width: 17}}\n"
LIMITS = ["condition=small", "only=model.noise=0.3", "seed=1"]


@pytest.fixture
def report(tmp_path):
    """The folder of a run with these limits, with its study file and no report yet."""
    folder = StudyFolder(tmp_path / "results", beside("toy", LIMITS))
    folder.path.mkdir(parents=True)
    folder.study_file.write_text(STUDY.replace("name: toy", f"name: {folder.name}"))
    return folder


def limits(options):
    """The limits that options have."""
    return [*options.condition], [*options.only], options.seed


def test_its_limits_are_those_of_its_run_and_of_another_file_there_are_none(report, tmp_path):
    assert limits_of(report.study_file) == LIMITS, "which its name says before there is a report"
    copy = tmp_path / "study.yaml"
    copy.write_text(report.study_file.read_text())
    assert limits_of(copy) == []
    link = tmp_path / "link.yaml"
    link.symlink_to(report.study_file)
    assert limits_of(link) == LIMITS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (["small"], ["model.noise=0.3"], 1)),
        ({"condition": ["small"], "seed": 1}, (["small"], ["model.noise=0.3"], 1)),
        ({"confirm": True}, (["small"], [], None)),
        ({"confirm": True, "only": ["a"], "seed": 2}, (["small"], ["a"], 2)),
        ({"confirm": True, "seeds": 2}, (["small"], [], None)),
    ],
)
def test_a_run_has_the_limits_of_its_file_and_a_confirmation_its_conditions(report, given, expected):
    assert limits(limited_as_run(report.study_file, Options(**given))) == expected


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"condition": ["large"]}, "condition=large"),
        ({"condition": ["large", "small"]}, "condition=large and condition=small"),
        ({"condition": ["large"], "confirm": True}, "condition=large"),
        ({"only": ["a"]}, "only=a"),
        ({"seed": 2}, "seed=2"),
        ({"seeds": 2}, "seeds=2"),
    ],
)
def test_another_limit_is_refused_since_the_folder_is_called_by_the_first(report, given, named):
    with pytest.raises(AblateError, match=rf"is of a run with \w+=.*, which {named} cannot replace"):
        limited_as_run(report.study_file, Options(**given))


@pytest.mark.parametrize(
    "limits",
    [[f"condition=part-{number}" for number in range(12)], ["only=" + 60 * "a", "seed=1" + 40 * "0"]],
)
def test_before_there_is_a_report_a_name_that_was_cut_is_refused(tmp_path, limits):
    folder = StudyFolder(tmp_path, beside("toy", limits))
    folder.path.mkdir()
    folder.study_file.write_text(STUDY)
    with pytest.raises(AblateError, match="the name of its folder was cut; give the study file"):
        limits_of(folder.study_file)


def test_a_confirmation_that_was_stopped_has_the_conditions_of_what_it_confirms(tmp_path):
    folder = StudyFolder(tmp_path, "toy@condition=small,only=a,seed=1,confirm,seed=7")
    folder.path.mkdir()
    folder.study_file.write_text(STUDY)
    assert limits_of(folder.study_file) == ["condition=small", "seed=7"]


def test_a_report_whose_name_was_cut_keeps_its_folder(tmp_path):
    conditions = ("small", "the-second-of-three-conditions", "the-third-of-three-conditions")
    text = STUDY.replace("large:", f"{conditions[1]}:").replace("largest:", f"{conditions[2]}:")
    (tmp_path / "study.yaml").write_text(text)
    asked = [word for name in conditions for word in ("--condition", name)]
    assert ablate_here("run", "study.yaml", *asked, "--jobs", 0, cwd=tmp_path).returncode == 0
    (folder,) = StudyFolder.all(tmp_path / "results")
    assert "the-third" not in folder.name, "it was cut"
    options = limited_as_run(folder.study_file, Options(results=tmp_path / "results"))
    place, overrides = report_place(read_document(folder.study_file), options)
    assert (place.name, overrides) == (folder.name, [f"condition={name}" for name in conditions])


def test_a_run_that_was_stopped_goes_on_from_the_file_in_its_folder(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    first = ablate_here("run", "study.yaml", "--condition", "small", "--jobs", 0, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    folder = tmp_path / "results" / "toy@condition=small"
    for file in folder.iterdir():
        if file.is_file() and file.name != "study.yaml":
            os.remove(file)
    done = ablate_here("run", folder / "study.yaml", "--jobs", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert StudyFolder.at(folder).facts().plan.differs == ["condition=small"]


def test_the_command_refuses_another_limit_before_anything_is_written(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    assert ablate_here("run", "study.yaml", "--condition", "small", "--jobs", 0, cwd=tmp_path).returncode == 0
    file = tmp_path / "results" / "toy@condition=small" / "study.yaml"
    for command in ("run", "plan"):
        refused = ablate_here(command, file, "--condition", "large", cwd=tmp_path)
        assert refused.returncode == 2
        assert "with condition=small, which condition=large cannot replace" in " ".join(
            refused.stderr.split()
        )
    assert len(list(StudyFolder.all(tmp_path / "results"))) == 1
