"""Where a run reports, and what its options change of the study as written."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from harness import TOY_STUDY, prepare
from made_evidence import study as made

from ablate.base.errors import StudyError
from ablate.core.provenance import Planned
from ablate.pipeline.reports.place import refuse_another, report_place, source_of
from ablate.records.folder import StudyFolder
from ablate.session.options import Options
from ablate.stages import CONFIGS
from ablate.study.document import read_document


def refuse(path, results, name="toy"):
    refuse_another(prepare(path).reporting(name, []), results)


EVIDENCE = made({"baseline": [0.5, 0.6], "a": [0.5, 0.7]})


def report(folder, **facts):
    """Writes evidence with these facts into a folder."""
    evidence = replace(EVIDENCE, facts=replace(EVIDENCE.facts, study=folder.name, **facts))
    folder.save_evidence(evidence)
    return evidence


def at(path, results=Path("results"), **options):
    """The name of the folder, and the differences, of a run with these options."""
    given = Options(results=results, **options)
    folder, differs = report_place(read_document(path).override(given, CONFIGS), given)
    return folder.name, differs


@pytest.mark.parametrize(
    ("options", "name", "differs"),
    [
        ({}, "toy", []),
        ({"sweep": True, "fresh": True, "jobs": 0}, "toy", []),
        ({"seeds": (2, 0, 1), "sets": ["factors.model.effect=[0.2]", "name=toy"]}, "toy", []),
        ({"sets": ["name=other"]}, "other", []),
        ({"sets": ["task.name=die"]}, "toy@task.name=die", ["task.name=die"]),
        ({"seeds": 2}, "toy@seeds=2", ["seeds=2"]),
        ({"seeds": (7, 0, 3)}, "toy@seeds=0+3+7", ["seeds=0+3+7"]),
        ({"seeds": (2,)}, "toy@seeds=2-3a9bf8", ["seeds=[2]"]),
        ({"confirm": True}, "toy@confirm", []),
        ({"confirm": True, "seeds": 4}, "toy@confirm,seeds=4", ["seeds=4"]),
        (
            {"sets": ["factors.model.effect=[0.4, 1]"]},
            "toy@factors.model.effect=0.4-1-e0b98c",
            ["factors.model.effect=[0.4,1]"],
        ),
    ],
)
def test_the_place_of_a_report_depends_on_the_options_alone(toy_study, options, name, differs):
    found = at(toy_study, **options)
    assert found[1] == differs
    assert found[0].partition("-")[0] == name.partition("-")[0]


def test_differences_are_the_same_however_they_are_asked_for(toy_study):
    first = at(toy_study, sets=["training.steps=5", "model.noise=2"], only=["b", "a"], seed=1, seeds=4)
    other = ["model.noise = 2.0", "training.steps=4", "training.steps=5"]
    assert first == at(toy_study, sets=other, only=["a", "b", "a"], seed=1, seeds=4)
    assert first[1] == ["model.noise=2", "training.steps=5", "seeds=4", "only=a", "only=b", "seed=1"]


def test_passwords_are_in_no_difference(toy_study):
    assert at(toy_study, sets=["notes=at https://me:hidden@host/x"])[1] == ["notes=at https://me:…@host/x"]


def test_a_study_that_was_moved_copied_or_resolved_is_the_same(toy_study, write, tmp_path):
    results = tmp_path / "results"
    folder = StudyFolder(results, "toy")
    report(folder, provenance=Planned(source=source_of(toy_study, folder)))
    assert folder.facts().plan.source == "../../study.yaml"
    refuse(toy_study, results)
    refuse(write("# A comment.\n" + TOY_STUDY, "copy.yaml"), results)
    other = write(TOY_STUDY.replace("[0.2]", "[0.4]"), "other.yaml")
    with pytest.raises(StudyError, match="another study"):
        refuse(other, results)
    for name in ("toy", "toy@seeds=2", "toy@confirm"):
        own = StudyFolder(results, name)
        own.path.mkdir(exist_ok=True)
        own.study_file.write_text(TOY_STUDY.replace("[0.2]", "[0.6]"))
        report(own, provenance=Planned(source="../../study.yaml"))
    for name in ("toy", "toy@seeds=2", "toy@confirm"):
        resolved = StudyFolder(results, name).study_file
        refuse(resolved, results, name)
        assert source_of(resolved, StudyFolder(results, name)) == "../../study.yaml"
    assert source_of(folder.study_file, StudyFolder(results, "toy@seeds=2")) == "../../study.yaml"
    with pytest.raises(StudyError, match=r"results/toy reports .*study.yaml"):
        refuse(other, results, "toy@confirm")
    # Where the file is gone, one of its name was moved; another one must say the same.
    toy_study.unlink()
    with pytest.raises(StudyError, match="another study"):
        refuse(other, results)
    (tmp_path / "moved").mkdir()
    refuse(write(TOY_STUDY.replace("[0.2]", "[0.4]"), "moved/study.yaml"), results)


def test_a_copy_takes_over_no_report_of_a_file_that_is_still_there(toy_study, write, tmp_path):
    results = tmp_path / "results"
    copy = write(TOY_STUDY, "copy.yaml")
    for name in ("toy", "toy@seeds=2"):
        folder = StudyFolder(results, name)
        report(folder, provenance=Planned(source=source_of(toy_study, folder)))
        refuse(copy, results)
        assert source_of(copy, folder) == "../../study.yaml"
    copy.write_text(TOY_STUDY.replace("[0.2]", "[0.4]"))
    with pytest.raises(StudyError, match="another study"):
        refuse(copy, results)
    # Also where only a run that differs from the study has a report.
    shutil.rmtree(results / "toy")
    with pytest.raises(StudyError, match="toy@seeds=2 reports"):
        refuse(copy, results)
    toy_study.write_text(TOY_STUDY.replace("[0.2]", "[0.8]"))
    refuse(toy_study, results)
