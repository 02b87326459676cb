"""Where a run reports, and what its options change of the study as written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness import TOY, TOY_STUDY
from made_evidence import study as made

from ablate.base.errors import StudyError
from ablate.core.evidence import Evidence
from ablate.records.folder import StudyFolder
from ablate.stages.differences import differences
from ablate.stages.options import Options
from ablate.stages.place import explained, place, refuse_another, source_of
from ablate.study.prepare import prepare

EVIDENCE = made({"baseline": [0.5, 0.6], "a": [0.5, 0.7]})


def report(folder: StudyFolder, **facts: object) -> Evidence:
    """Writes evidence with these facts into a folder."""
    evidence = replace(EVIDENCE, facts=replace(EVIDENCE.facts, study=folder.name, **facts))
    folder.save_evidence(evidence)
    return evidence


def differing(path: Path, **options: object) -> list[str]:
    given = Options(**options)  # type: ignore[arg-type]
    return differences(prepare(path, given.sets, given.seeds), given)


def test_what_the_study_has_anyway_is_no_difference(toy_study: Path) -> None:
    assert differing(toy_study, seeds=3, sets=["training.steps=3", "seeds.count=3", "name=other"]) == []
    assert differing(toy_study, sets=["factors.model.effect=[0.2]", "training={steps: 3}"]) == []
    assert differing(toy_study, sets=["training.steps=5", "training.steps=3"]) == []


def test_differences_are_the_same_however_they_are_asked_for(toy_study: Path) -> None:
    first = differing(toy_study, sets=["training.steps=5", "model.noise=2"], only=["b", "a"], seed=1, seeds=4)
    other = ["model.noise = 2.0", "training.steps=4", "training.steps=5", "model.width=4"]
    assert first == differing(toy_study, sets=other, only=["a", "b", "a"], seed=1, seeds=4)
    assert first == ["model.noise=2", "training.steps=5", "seeds=4", "only=a", "only=b", "seed=1"]
    assert differing(toy_study, sets=["factors.model.effect=[0.4, 1]"]) == ["factors.model.effect=[0.4,1]"]


def test_seeds_that_are_listed_are_in_the_name_of_the_folder(toy_study: Path, tmp_path: Path) -> None:
    assert differing(toy_study, seeds=(2, 0, 1)) == []
    listed = differing(toy_study, seeds=(0, 3, 7))
    assert listed == differing(toy_study, seeds=(7, 0, 3)) == ["seeds=0+3+7"]
    report(StudyFolder(tmp_path, "toy"))
    assert place(tmp_path, "toy", listed, sweep=False)[0].name == "toy@seeds=0+3+7"
    # One seed that is listed, and as many seeds, are two runs, with a report each.
    one, several = differing(toy_study, seeds=(2,)), differing(toy_study, seeds=2)
    assert one == differing(toy_study, sets=["seeds=[2]"]) == ["seeds=[2]"]
    assert len({place(tmp_path, "toy", each, sweep=False)[0].name for each in (one, several)}) == 2


def test_passwords_and_folders_are_in_no_difference(toy_study: Path, write: Callable[..., Path]) -> None:
    sets = [f"plugins=[{TOY.parent}/../tests/toy.py]", "notes=at https://me:hidden@host/x"]
    notes, plugins = differing(toy_study, sets=sets)
    assert notes == "notes=at https://me:…@host/x"
    assert re.fullmatch(r'plugins=\["toy\.py-\w{6}"\]', plugins)
    text = TOY_STUDY + "search: {over: {model.width: {choice: [5, 6]}}}\n"
    sets = ["search.storage=sqlite:///a.db", "search={storage: 'sqlite:///b.db', trials: 1}"]
    assert differing(write(text), sets=sets) == ['search={"trials": 1}']


def test_a_study_that_its_options_repair_differs_in_all_of_them(write: Callable[..., Path]) -> None:
    path = write(TOY_STUDY + "training: {steps: many}\n")
    assert differing(path, sets=["training.steps=3"], seeds=3) == ["training.steps=3", "seeds=3"]


@pytest.mark.parametrize("searched", ["", "sweep"])
def test_a_finished_report_as_written_keeps_its_place(tmp_path: Path, searched: str) -> None:
    def at(*differs: str, sweep: bool = searched == "sweep") -> str:
        return place(tmp_path, "toy", differs, sweep=sweep)[0].name

    folder = StudyFolder(tmp_path, "toy")
    assert [at(), at("seeds=2"), at(sweep=False), at(sweep=True)] == ["toy"] * 4
    report(folder, searched=searched, differs=["seeds=3"])
    assert [at(), at("seeds=2"), at(sweep=False), at(sweep=True)] == ["toy"] * 4
    report(folder, searched=searched)
    other, command = ("run", False) if searched else ("sweep", True)
    assert [at(), at("seeds=2")] == ["toy", "toy@seeds=2"]
    assert [at(sweep=command), at("seeds=2", sweep=command)] == [f"toy@{other}", f"toy@{other},seeds=2"]
    found, differs = place(tmp_path, "toy", ["seeds=2", "seed=1"], sweep=command)
    this = "this sweep" if command else "this run"
    made = "ablate run" if command else "ablate sweep"
    assert explained("toy", found, differs) == (
        f"{tmp_path}/toy/ holds the report of the study as written, as `{made}` made it; {this}, with seeds=2 and "
        f"seed=1, reports in {tmp_path}/toy@{other},seeds=2,seed=1/."
    )
    (folder.path / "trials.parquet").write_bytes(b"PAR1")
    assert at("seeds=2") == "toy"


def test_the_report_of_a_run_that_differs_is_as_its_name_says(tmp_path: Path) -> None:
    report(StudyFolder(tmp_path, "toy@seeds=2"), differs=["seeds=2"])
    assert place(tmp_path, "toy@seeds=2", [], sweep=False)[0].name == "toy@seeds=2"
    assert place(tmp_path, "toy@seeds=2", ["seed=1"], sweep=False)[0].name == "toy@seeds=2,seed=1"
    report(StudyFolder(tmp_path, "toy@confirm"), differs=["seeds=2"])
    assert place(tmp_path, "toy@confirm", ["seeds=4"], sweep=False)[0].name == "toy@confirm"


def test_a_study_that_was_moved_copied_or_resolved_is_the_same(
    toy_study: Path, write: Callable[..., Path], tmp_path: Path
) -> None:
    results = tmp_path / "results"
    folder = StudyFolder(results, "toy")
    report(folder, source=source_of(toy_study, folder))
    assert folder.facts().source == "../../study.yaml"
    refuse_another(toy_study, results, "toy")
    refuse_another(write("# A comment.\n" + TOY_STUDY, "copy.yaml"), results, "toy")
    refuse_another(write(TOY_STUDY + "placebo: off\n", "copy.yaml"), results, "toy")
    other = write(TOY_STUDY.replace("[0.2]", "[0.4]"), "other.yaml")
    with pytest.raises(StudyError, match="another study"):
        refuse_another(other, results, "toy")
    for name in ("toy", "toy@seeds=2", "toy@confirm"):
        own = StudyFolder(results, name)
        own.path.mkdir(exist_ok=True)
        own.study_file.write_text(TOY_STUDY.replace("[0.2]", "[0.6]"))
        report(own, source="../../study.yaml")
    for name in ("toy", "toy@seeds=2", "toy@confirm"):
        resolved = StudyFolder(results, name).study_file
        refuse_another(resolved, results, name)
        assert source_of(resolved, StudyFolder(results, name)) == "../../study.yaml"
    assert source_of(folder.study_file, StudyFolder(results, "toy@seeds=2")) == "../../study.yaml"
    refuse_another(toy_study, results, "toy@confirm")
    toy_study.unlink()
    refuse_another(other, results, "toy")


def test_a_report_that_does_not_know_its_file_is_of_one_that_has_its_name_or_says_the_same(
    toy_study: Path, write: Callable[..., Path], tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path / "results", "toy")
    report(folder)
    folder.study_file.write_text(TOY_STUDY + "placebo: off\n")
    refuse_another(toy_study, folder.results, "toy")
    other = write(TOY_STUDY.replace("[0.2]", "[0.4]"), "other.yaml")
    with pytest.raises(StudyError, match=r"results/toy reports .*results/toy/study.yaml"):
        refuse_another(other, folder.results, "toy")
    refuse_another(other.rename(tmp_path / "toy.yaml"), folder.results, "toy")
