"""Files are written whole or not at all; what is left over goes, and nothing else is ever taken for it."""

import os
import time

import pytest

from ablate.base.files import leftovers, remove_leftovers, replacing, write_text

HOUR = 3600
NAME = ".x.json.ablate-abcdefgh.part"


def aged(path, seconds):
    path.touch()
    os.utime(path, times=(time.time() - seconds, time.time() - seconds))
    return path


@pytest.mark.parametrize("name", [NAME, f"{NAME}-wal", ".x.json.ablate-0123456789ab-71-abcdefgh.part"])
def test_what_was_being_written_goes_by_its_age(tmp_path, name):
    for hours, goes in ((0, False), (0.9, False), (-0.9, False), (1.1, True), (-1.1, True)):
        path = aged(tmp_path / name, hours * HOUR)
        assert leftovers(tmp_path) == ([path] if goes else [])
    remove_leftovers(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        *(".notes.2024-05-01.md", ".env.99999999-prod", ".backup.99999999-abcdefgh.json", "notes.ablate-abcdefgh.part"),
        *(f"{NAME}.txt", ".x.json.ablate-abc.part"),
    ],
)  # fmt: skip
def test_names_that_we_do_not_make_are_left_alone(tmp_path, name):
    path = aged(tmp_path / name, 240 * HOUR)
    remove_leftovers(tmp_path)
    assert path.exists()


def test_links_are_not_followed(tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    kept = aged(elsewhere / NAME, 240 * HOUR)
    (here / "folder").symlink_to(elsewhere)
    (here / NAME).symlink_to(kept)
    (here / ".x.ablate-abcdefgh.part").mkdir()
    for folder in (here, here / "folder"):
        remove_leftovers(folder)
    assert kept.exists()
    assert (here / NAME).is_symlink()


def test_names_as_long_as_the_system_allows_are_written(tmp_path):
    for name in ("x" * 255, "é" * 127):
        write_text(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"


def test_an_error_leaves_the_old_file_and_no_other(tmp_path):
    write_text(tmp_path / "file", "old")
    with pytest.raises(UnicodeEncodeError), replacing(tmp_path / "file") as temporary:
        temporary.write_text("half\ud800", encoding="utf-8")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "old"}
