"""Files are written whole or not at all; what is left over goes, and nothing else is ever taken for it."""

import os
import socket
import time
from pathlib import Path

import pytest

from ablate.base.errors import AblateError
from ablate.base.files import (
    destination,
    leftovers,
    remove_leftovers,
    replacing,
    write_files,
    write_text,
)

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


def test_the_links_of_a_named_path_stay_and_its_target_is_written(tmp_path):
    target = tmp_path / "disk" / "file"
    target.parent.mkdir()
    (tmp_path / "middle").symlink_to(target)
    (tmp_path / "link").symlink_to("middle")
    for text in ("new", "newer"):
        write_text(destination(tmp_path / "link"), text)
        assert target.read_text() == text
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["file"]
    assert destination(tmp_path / "plain") == tmp_path / "plain"


def test_what_is_no_plain_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone" / "file")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name in ("pipe", "folder", "device", "loop", "nowhere", "socket", "\0"):
            with pytest.raises(AblateError):
                destination(tmp_path / name)
        for name in ("pipe", "folder", "socket"):
            with pytest.raises(AblateError):
                write_text(tmp_path / name, "text")
    assert (tmp_path / "pipe").is_fifo()
    assert Path(os.devnull).is_char_device()
    assert not (tmp_path / "gone").exists()


def test_in_a_folder_of_ours_nothing_is_written_behind_a_link(tmp_path):
    """As one that somebody sent may have."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes").write_text("mine")
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "report.md").symlink_to(mine / "notes")
    write_files(ours, {"report.md": "ours"})
    assert ((ours / "report.md").read_text(), (mine / "notes").read_text()) == ("ours", "mine")
    (ours / "figures").symlink_to(mine)
    with pytest.raises(AblateError):
        write_files(ours, {"figures/notes": "ours"})
    assert (mine / "notes").read_text() == "mine"
    # The folder itself may be a link.
    (tmp_path / "link").symlink_to(ours)
    write_files(tmp_path / "link", {"answer.txt": "yes"})
    assert (ours / "answer.txt").read_text() == "yes"
