"""Folders of older versions, and edited ones: read, or refused by name with a way out that works."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from harness import TOY_CLAIMED, ablate_here, stored
from searching import PEAK_STUDY

from ablate.records import tables
from ablate.records.folder import StudyFolder

TUNED = (
    PEAK_STUDY
    + """\
variants: {wide: {model.kind: wide}}
tune: {over: {training.lr: {float: [1e-3, 1e-1], log: true}}, trials: 3, seeds: 3}
"""
)


def ran(folder, text):
    (folder / "study.yaml").write_text(text)
    assert ablate_here("run", "study.yaml", "--jobs", 0, cwd=folder).returncode == 0


def as_of_644be5e(results, name):
    """Makes a list of trials and facts what they were at that commit, where they had the same format numbers."""
    file = results / f"store/studies/{name}.json"
    content = json.loads(file.read_text())
    for entry in content["cells"]:
        entry["judged"] = entry.pop("role") == "judged"
    report = {"digest": "0", "trials": content["report"]["trials"], "files": []}
    file.write_text(json.dumps({"format": 1, "cells": content["cells"], "report": report}))

    table = results / name / "trials.parquet"
    facts, frame = tables.load_frame(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "plain_facts", lambda facts: {"matched": {}, **facts})
        tables.save_frame(table, frame, facts)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name"), [(TOY_CLAIMED, "toy"), (TUNED, "peaks")])
def test_a_folder_of_an_older_version_keeps_its_trials_and_is_replaced_by_a_run(text, name, tmp_path):
    ran(tmp_path, text)
    results = tmp_path / "results"
    ids = StudyFolder(results, name).ids()
    as_of_644be5e(results, name)
    trial = min(stored(results))  # The list has settings, too, that nobody trained.
    for words in (["report", name], ["export", name], ["show", trial], ["clean", "--yes"]):
        done = ablate_here(*words, cwd=tmp_path)
        assert done.returncode in (0, 2), done.stderr
        assert done.returncode == 0 or f"{name}/trials.parquet: matched: " in done.stderr
        assert done.returncode == 0 or f"run {name} again" in done.stderr
    assert ablate_here("plan", "study.yaml", cwd=tmp_path).returncode == 0
    done = ablate_here("run", "study.yaml", "--jobs", 0, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trained"] == 0
    for words in (["report", name], ["export", name], ["show", trial], ["clean"]):
        assert ablate_here(*words, cwd=tmp_path).returncode == 0
    assert StudyFolder(results, name).ids() == ids


def edited(path):
    """Edits of a file of a report: each is one of a field's type, of a missing field, or of one more."""
    if path.suffix == ".csv":
        text = path.read_text()
        header, first, *rest = text.splitlines()
        for name, value in (("n", "x"), ("diff", "nan"), ("verdict", "great"), ("exploratory", "no")):
            if name in header.split(","):
                cells = pd.read_csv(path, dtype=str, keep_default_na=False)
                cells.loc[0, name] = value
                yield cells.to_csv(index=False).encode()
        yield "\n".join([header, f"{first},more", *rest]).encode()
        yield "\n".join([header, first.rpartition(",")[0], *rest]).encode()
        yield text.replace("variant", "other", 1).replace("claim", "other", 1).encode()
    else:
        content = json.loads(path.read_text())
        node = content[0] if isinstance(content, list) else content
        for name, value in list(node.items()):
            for other in (None, 7, [], {}, "x"):
                if type(other) is not type(value):
                    node[name] = other
                    yield json.dumps(content).encode()
            if name != "known":  # Older plans have none.
                del node[name]
                yield json.dumps(content).encode()
                node[name] = value
        node["more"] = 1
        yield json.dumps(content).encode()
        yield b"[" * 100_000
    yield b""
    yield b"\xff\x00"


READERS = {
    "comparisons.csv": StudyFolder.comparisons,
    "claims.csv": StudyFolder.claims,
    "variants.json": StudyFolder.variants,
    "plan.json": StudyFolder.plans,
    "../store/studies/toy.json": StudyFolder.cells,
}


@pytest.mark.slow
def test_edited_files_are_refused_by_name_by_every_command_or_written_again(tmp_path):
    ran(tmp_path, TOY_CLAIMED)
    folder = StudyFolder(tmp_path / "results", "toy")
    for name, read in READERS.items():
        path = folder.path / name
        before = path.read_bytes()
        for number, content in enumerate(edited(path)):
            path.write_bytes(content)
            with pytest.raises(tables.AblateError, match=rf"{path.name}.*([Rr]estore|again)"):
                read(folder)
            if number == 0:
                for words in (["list"], ["diff", "toy", "toy@x"], ["plan", "study.yaml"], ["clean"]):
                    assert ablate_here(*words, cwd=tmp_path).returncode in (0, 2)
        path.write_bytes(before)


@pytest.mark.slow
def test_a_claim_of_an_unknown_kind_is_refused_by_name(tmp_path):
    ran(tmp_path, TOY_CLAIMED)
    folder = StudyFolder(tmp_path / "results", "toy")
    path = folder.path / "trials.parquet"
    facts, frame = folder.facts(), tables.load_frame(path)[1]
    unknown = replace(facts.claims[0], kind="beat")
    tables.save_frame(path, frame, replace(facts, claims=[unknown, *facts.claims[1:]]))
    done = ablate_here("report", "toy", cwd=tmp_path)
    assert done.returncode == 2
    assert "trials.parquet: " in done.stderr
    assert "claims[0].kind" in done.stderr


@pytest.mark.slow
def test_edited_tables_are_refused_by_their_column(tmp_path):
    ran(tmp_path, TOY_CLAIMED)
    folder = StudyFolder(tmp_path / "results", "toy")
    for name, columns in (
        ("trials", ("id", "variant", "seed", "status", "accuracy")),
        ("curves", ("id", "step", "value")),
    ):
        path = folder.path / f"{name}.parquet"
        before = path.read_bytes()
        _, frame = tables.load_frame(path)
        facts = folder.facts() if name == "trials" else None
        edits = [frame.drop(columns=column) for column in columns]
        edits += [frame.assign(**{column: [[1]] * len(frame)}) for column in columns]
        edits += [pd.concat([frame, frame[:1]])]
        for edit in edits:
            tables.save_frame(path, edit, facts)
            done = ablate_here("report", "toy", cwd=tmp_path)
            assert done.returncode == 2, edit
            assert f"{name}.parquet: " in done.stderr
        path.write_bytes(before)
