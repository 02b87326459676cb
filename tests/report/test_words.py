import re
from functools import cache
from pathlib import Path

import pytest
from jinja2 import FileSystemBytecodeCache

import ablate
from ablate.report import words
from ablate.report.words import because, codes, level, message, some

ROOT = Path(ablate.__file__).parent
FILES = sorted(path.stem for path in (ROOT / "report" / "words").glob("*.j2"))


@cache
def quoted():
    """File and macro of every code that stands somewhere as a string."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for file, name in re.findall(r"[\"'](\w+)\.(\w+)[\"']", path.read_text()):
            found |= {(file, name)} if file in FILES else set()
    return found


def test_every_code_is_said_somewhere_and_every_one_said_is_there():
    for path in ROOT.rglob("*.py"):
        for file, name in re.findall(r"\bsay\(\s*[\"'](\w+)\.(\w+)[\"']", path.read_text()):
            assert name in codes(file), f"{path}: {file}.{name}"
    computed = {
        "diff",
        "search",
        "reasons",
        "inconclusive",
        "stability",
        "cost",
        "verdicts",
        "limits",
        "data",
        "treatment",
    }
    for file in set(FILES) - computed:
        text = (ROOT / "report" / "words" / f"{file}.j2").read_text()
        inside = {(file, name) for name in codes(file) if text.count(f"{name}(") > 1}
        assert {(file, name) for name in codes(file)} <= quoted() | inside, file


def test_every_code_of_a_reason_has_words_and_no_other_has():
    text = "".join(path.read_text() for path in ROOT.rglob("*.py"))
    assert {*re.findall(r'Reason\(\s*"(\w+)"', text), "unknown", "pool"} == codes("reasons")


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("few n=1 least=2", "1 seed, at least 2 needed"),
        ("few processes=1 least=2", "1 process, at least 2 needed"),
        ("open seeds=34", "about 34 seeds needed, if the difference is as observed"),
        ("open seeds=1001", "more than 1,000 seeds needed, if the difference is as observed"),
        ("unseen failures=0.3123", "failures in up to 31 % of runs could have gone unseen"),
    ],
)
def test_reasons_have_their_numbers(reason, text):
    assert because(reason) == text


def test_lists_and_levels():
    assert some(["a"]) == "a"
    assert some("abcd", 2) == "a, b and 2 more"
    assert [level(alpha) for alpha in (0.05, 0.05 / 7, 0.05 / 100)] == ["95 %", "99.3 %", "99.95 %"]
    assert message("limits.missing", 1, 20) == "1 of 20 planned runs failed or have not run."


def test_sentences_that_cannot_be_kept_compiled_are_said_all_the_same(monkeypatch):
    def full(*given):
        raise OSError("no space left")

    monkeypatch.setattr(FileSystemBytecodeCache, "load_bytecode", lambda *given: None)
    monkeypatch.setattr(FileSystemBytecodeCache, "dump_bytecode", full)
    assert "1 seed" in words._module.__wrapped__("reasons").few(n=1, least=2)
