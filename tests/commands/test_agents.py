"""`ablate guide agents`: its commands, run as they stand on a repository of their kind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ablate_here

from ablate.commands import guide

PAGE = guide.text_of("agents")
(PASTED,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
LEDGER = Path(".gate/tries.jsonl")
TRAIN = """
import random, sys
random.seed(int(sys.argv[2]))
print("val_loss:", 3.0 - GAIN + random.gauss(0, 0.01))
"""
LOOP = Path(__file__).parents[1] / "runs" / "cases" / "kept_and_discarded.tsv"


def command_of(pattern):
    """A command of the page, whose lines that end with a backslash are one."""
    found = re.search(pattern, PASTED.replace("\\\n", " "))
    assert found, pattern
    return found[1]


def test_the_page_is_one_screen():
    assert len(guide.rendered(PAGE, 100).splitlines()) <= 45


@pytest.mark.slow
def test_a_loop_that_follows_the_page_keeps_and_discards(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "ablate"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ablate "$@"\n')
    program.chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    repository = tmp_path / "mine"
    repository.mkdir()
    names = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    environment = {**os.environ, **names, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def sh(command):
        return subprocess.run(
            command, shell=True, cwd=repository, env=environment, capture_output=True, text=True, check=False
        )

    def tried(gain):
        (repository / "train.py").write_text(TRAIN.replace("GAIN", str(gain)))
        assert sh("git commit --quiet --all --message try").returncode == 0
        return sh(command_of(r"(ablate gate .*)"))

    (repository / "eval.py").write_text("")
    (repository / "train.py").write_text(TRAIN.replace("GAIN", "0.0"))
    assert sh("git init --quiet && git add . && git commit --quiet --message base").returncode == 0
    assert sh(command_of(r"Once, before: (.*)")).returncode == 0
    kept = tried(0.1)
    assert (kept.returncode, '"verdict":"keep"' in kept.stdout) == (0, True), kept.stderr
    assert sh(command_of(r"keep \(0\) +(git tag -f kept)")).returncode == 0
    worse = tried(0.02)
    assert (worse.returncode, '"verdict":"discard"' in worse.stdout) == (1, True), worse.stderr
    assert sh(command_of(r"discard \(1\) +(git .*)")).returncode == 0
    assert "- 0.1 +" in (repository / "train.py").read_text()
    assert (repository / LEDGER).is_file()
    assert sh("git status --short").stdout == ""


@pytest.mark.slow
def test_a_table_of_a_loop_says_which_commits_to_run_again(tmp_path):
    (tmp_path / "results.tsv").write_text(LOOP.read_text())
    (words,) = re.findall(r"```sh\nablate (.*)\n```", PAGE)
    single = ablate_here(*words.split(), cwd=tmp_path)
    assert (single.returncode, "8da6023" in single.stderr, "81dd182" in single.stderr) == (2, True, False)
    again = [
        f"{commit}\t{loss}{digit}\t5.5\tkeep\n"
        for commit, loss in (("3087aeb", 2.33), ("8da6023", 2.14))
        for digit in range(4)
    ]
    (tmp_path / "results.tsv").write_text(LOOP.read_text() + "".join(again))
    judged = ablate_here(*words.split(), cwd=tmp_path)
    assert (judged.returncode, "8da6023" in judged.stdout) == (0, True), judged.stderr
