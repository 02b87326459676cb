"""`ablate atlas`: a card for each study that makes claims, on published results."""

import csv
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness import ablate_here

from ablate.core.derived import DERIVED
from ablate.records.folder import StudyFolder
from ablate.records.tables import read_csv
from ablate.report.atlas.by_construction import read_constructed
from ablate.report.atlas.page import PAGE_FILE
from ablate.report.atlas.published import published_studies, published_study
from ablate.report.atlas.registry import REGISTRY, registry

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results"
ATLAS = PUBLISHED / "atlas"
CONSTRUCTED = ROOT / "studies/atlas/by_construction.csv"


@pytest.mark.slow
def test_a_page_of_the_users_stays_and_a_link_is_followed(tmp_path):
    shutil.copytree(PUBLISHED / "digits", tmp_path / "digits")
    (tmp_path / "README.md").write_text("mine")
    assert ablate_here("atlas", tmp_path, cwd=tmp_path).returncode == 2
    assert (tmp_path / "README.md").read_text() == "mine"
    (tmp_path / "README.md").unlink()
    (tmp_path / "README.md").symlink_to("page.md")
    for _ in range(2):
        assert ablate_here("atlas", tmp_path, cwd=tmp_path).returncode == 0
    assert "digits" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "README.md").is_symlink()


def test_a_card_says_what_was_asked_found_and_how_to_repeat_it(tmp_path):
    for name in ("16-cross", "16-cross@confirm"):
        shutil.copytree(ATLAS / name, tmp_path / name)
    lines = CONSTRUCTED.read_text().splitlines()
    statements = tmp_path / "by_construction.csv"
    statements.write_text("\n".join([lines[0], *[line for line in lines if "16-cross" in line]]))
    done = ablate_here("atlas", tmp_path, "--by-construction", statements, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page, card = page_and_card(tmp_path)
    assert "| Comparisons: better or worse, and again so | 2 of 2 |" in page
    assert "16-cross.727aee" in page, "it follows from a test, and is not on the card"
    assert card.count("▲ supported | reverse") == 1
    assert ablate_here("atlas", tmp_path, cwd=tmp_path).returncode == 0
    page, card = page_and_card(tmp_path)
    assert "**The notes say:** Cross-attention lets the decoder read its source." in card
    assert card.count("▲ supported | reverse") == 2
    assert (
        "`ablate run studies/atlas/16-cross.yaml --results results/atlas`, 127 trainings in 4 minutes" in card
    )


def page_and_card(folder):
    """The page of an atlas of one study, and the card of that study."""
    page = (folder / PAGE_FILE).read_text()
    (card,) = re.findall("^## 16-cross(.*?)^<!--", page, re.MULTILINE | re.DOTALL)
    return page, card


def test_a_row_of_the_published_registry_is_what_its_evidence_gives():
    published = published_rows()
    studies = [published_study(StudyFolder(ATLAS, name)) for name in ("norm-placement-over-depth", "look-up")]
    assert_same_rows(studies, published)


@pytest.mark.slow
def test_every_row_of_the_published_registry_is_what_its_evidence_gives():
    published = published_rows()
    studies = published_studies(ATLAS)
    assert published.keys() == {claim.id for study in studies for claim in study.claims}
    assert_same_rows(studies, published)


def published_rows():
    """The rows of the published registry by the ids of their claims."""
    return {row["id"]: row for row in read_csv(ATLAS / REGISTRY)}


def assert_same_rows(studies, published):
    """The claims of studies are judged as the published registry says, to the last digit."""
    for row in csv.DictReader(registry(studies).to_csv(index=False).splitlines()):
        assert row == published[row["id"]]


def test_what_needs_no_training_is_held_by_a_test_that_is_there():
    published = published_rows().keys()
    for statement in read_constructed(CONSTRUCTED, published):
        path, _, name = statement.test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(), statement.test
        assert published >= {*statement.claim_ids}, statement.claims


def test_the_readme_counts_what_the_registry_has():
    readme = " ".join((ROOT / "README.md").read_text().split())
    counts = Counter(shown_verdict(row) for row in published_rows().values())
    quoted = (
        f"puts {counts.total()} claims of the field to the test: {counts['supported']} supported and "
        f"{counts['refuted']} refuted, again so on fresh seeds; {counts['not confirmed']} not confirmed, "
        f"{counts['not repeated']} not repeated, {counts['inconclusive']} inconclusive; {counts['measured']} on time "
        "and memory."
    )
    assert quoted in readme
    page = (ATLAS / PAGE_FILE).read_text()
    again, side, alike = re.findall(r"^\| Comparisons: .* \| (\d+ of \d+) \|$", page, re.MULTILINE)
    repeated, differences = again.split(" of ")
    kept, equivalences = alike.split(" of ")
    quoted = f"Of {differences} differences fresh seeds gave {repeated} again, on the same side all {differences}; of "
    assert f"{quoted}{equivalences} equivalences {kept}." in readme
    assert side == f"{differences} of {differences}"


def shown_verdict(row):
    """The verdict of a row of the registry, as the page has it; `measured` of time and memory."""
    if row["metric"] in DERIVED and DERIVED[row["metric"]].kind == "ratio":
        return "measured"
    return row["confirmation"] if row["confirmation"].startswith("not ") else row["verdict"]


def test_make_atlas_runs_the_commands_that_the_cards_name(tmp_path):
    calls = tmp_path / "calls"
    program = tmp_path / "ablate"
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    program.chmod(0o755)
    ready = tmp_path / "ready"
    ready.touch()
    make = ["make", "--old-file", ready, "atlas", f"BIN={tmp_path}", f"READY={ready}"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    made = [frozenset(line.split()) for line in calls.read_text().splitlines()]
    studies = published_studies(ATLAS)
    assert len(studies) > 15
    for study in studies:
        for run in (study.run, *study.confirming_runs):
            program, *words = run.command.removesuffix(" --jobs 1").split()
            assert program == "ablate"
            assert frozenset(words) in made, run.command
