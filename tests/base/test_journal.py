"""Files of JSON lines: what was edited is known, what is a pipe or too deep is refused."""

import json
import os

import pytest
from pydantic import TypeAdapter

from ablate.base.errors import AblateError
from ablate.base.kept import Journal

LINE = TypeAdapter(dict[str, int])


def journal(path):
    return Journal(path, LINE, "name another")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "lines.jsonl"
    for number in range(4):
        journal(path).add({"number": number})
    assert [line["number"] for line in journal(path).lines] == [0, 1, 2, 3]
    return path


def test_a_byte_that_was_changed_is_noticed_unless_nothing_is_said_otherwise(path):
    before = path.read_bytes()
    written = [json.loads(line) for line in before.splitlines()]
    for place in range(len(before)):
        path.write_bytes(before[:place] + bytes([before[place] ^ 1]) + before[place + 1 :])
        with pytest.raises(AblateError, match=r"lines.jsonl:\d+: .*\. name another"):
            journal(path)
    path.write_text("".join(f"{json.dumps(line, indent=None, sort_keys=True)}\r\n" for line in written))
    assert len(journal(path).lines) == 4


def test_what_is_no_plain_file_and_what_nests_too_deeply_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "deep").write_text('{"a": ' + "[" * 100_000)
    (tmp_path / "huge").write_text(f'{{"a": {"9" * 10_000}}}')
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "folder", "deep", "huge", "loop"):
        with pytest.raises(AblateError, match=f"{name}.*name another"):
            journal(tmp_path / name)
    assert journal(tmp_path / "nothing").lines == []
