"""`ablate guide`: pages that ship with the package, in the terminal."""

import re

import pytest
from click.shell_completion import ShellComplete
from harness import ablate

from ablate.cli import main
from ablate.commands import guide
from ablate.commands.guide import topics


def test_topics_are_listed_with_a_line_each(tmp_path):
    done = ablate("guide", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(topics())]] == topics()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("topic", topics())
def test_a_page_begins_with_its_title_and_a_line_about_it_and_is_shown_whole(topic):
    text = guide.text_of(topic)
    title, empty, line, blank = text.splitlines()[:4]
    assert (title[:2], empty, blank, line[-1]) == ("# ", "", "", ".")
    assert len(re.findall("^# ", re.sub("```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)) == 1
    shown = guide.rendered(text, 80)
    assert shown.count("…") == text.count("…")
    assert not re.search(r"🌆|\.svg", shown)
    code = "".join(re.findall(r"```\w*\n(.*?)```", text, re.DOTALL))
    assert {line.strip() for line in code.splitlines()} <= {line.strip() for line in shown.splitlines()}


def test_a_page_is_shown_without_escape_sequences_where_nobody_reads(tmp_path):
    done = ablate("guide", "verdicts", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\033" not in done.stdout
    assert "inconclusive" in done.stdout
    assert "Bouthillier" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_topics_complete():
    completed = ShellComplete(main, {}, "ablate", "_ABLATE_COMPLETE").get_completions(["guide"], "ver")
    assert [item.value for item in completed] == ["verdicts"]
