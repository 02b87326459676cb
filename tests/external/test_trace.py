"""Paths of the original in a command line become those of the trial's copy, where they are such paths."""

from pathlib import Path

import pytest

from ablate.external.trace import path_in_copy


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/code/t.py", "{copy}/t.py"),
        ("--data=/code/t.py", "--data={copy}/t.py"),
        ("file:///code/t.py", "file://{copy}/t.py"),
        *(
            (text, text)
            for text in ("/mnt/code/t.py", "./code/t.py", "a-/code/t.py", "/code/other.py", "/codes/t.py")
        ),
    ],
)
def test_a_path_is_moved_only_where_it_begins_at_the_original(tmp_path, text, moved):
    (tmp_path / "t.py").touch()
    assert path_in_copy(text, Path("/code"), tmp_path) == moved.format(copy=tmp_path)
