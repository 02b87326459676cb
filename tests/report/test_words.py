from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import ablate
from ablate.core.reason import Reason
from ablate.report import words
from ablate.report.words import because, codes, level, say, some

ROOT = Path(ablate.__file__).parent
FILES = sorted(path.stem for path in (ROOT / "report" / "words").glob("*.j2"))


@cache
def reasons() -> dict[str, set[frozenset[str]]]:
    """Code → the names of its numbers, wherever the package makes a `Reason`."""
    found: dict[str, set[frozenset[str]]] = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reason":
                code, *numbers = node.args
                if isinstance(code, ast.Constant):
                    keys = numbers[0].keys if numbers and isinstance(numbers[0], ast.Dict) else []
                    names = frozenset(key.value for key in keys if isinstance(key, ast.Constant))
                    found.setdefault(str(code.value), set()).add(names)
    return found


@cache
def quoted() -> set[tuple[str, str]]:
    """File and macro of every code that stands somewhere as a string."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for file, name in re.findall(r"[\"'](\w+)\.(\w+)[\"']", path.read_text()):
            found |= {(file, name)} if file in FILES else set()
    return found


@pytest.mark.parametrize("code", sorted(reasons()))
def test_every_reason_of_the_judge_has_words(code: str) -> None:
    assert code in codes("reasons")
    for names in reasons()[code]:
        given = dict.fromkeys(names, 0.25) or {}
        for short in (False, True):
            text = because(str(Reason(code, given)), short=short)
            assert "=" not in text
            assert text == text.strip()


def test_every_code_is_said_somewhere_and_every_one_said_is_there() -> None:
    for path in ROOT.rglob("*.py"):
        for file, name in re.findall(r"\bsay\(\s*[\"'](\w+)\.(\w+)[\"']", path.read_text()):
            assert name in codes(file), f"{path}: {file}.{name}"
    computed = {"diff", "search", "reasons", "inconclusive", "stability", "cost", "verdicts", "limits"}
    for file in set(FILES) - computed:
        text = (ROOT / "report" / "words" / f"{file}.j2").read_text()
        inside = {(file, name) for name in codes(file) if text.count(f"{name}(") > 1}
        assert {(file, name) for name in codes(file)} <= quoted() | inside, file


def test_reasons_of_old_tables_stay_as_they_are() -> None:
    assert because("inside ±.02; though …") == "inside ±.02; though …"
    assert because("") == ""


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("few n=1 least=2", "1 seed, at least 2 needed"),
        ("few processes=1 least=2", "1 process, at least 2 needed"),
        ("open seeds=34", "about 34 seeds needed, if the difference is as observed"),
        ("open seeds=1001", "more than 1,000 seeds needed, if the difference is as observed"),
        ("unseen failures=0.3123", "a failure rate of up to .31 is not excluded"),
    ],
)
def test_reasons_have_their_numbers(reason: str, text: str) -> None:
    assert because(reason) == text


def test_lists_and_levels() -> None:
    assert some(["a"]) == "a"
    assert some("abcd", 2) == "a, b and 2 more"
    assert [level(alpha) for alpha in (0.05, 0.05 / 7, 0.05 / 100)] == ["95 %", "99.3 %", "99.95 %"]
    assert words.sentence("so it is") == "So it is."
    assert say("limits.missing", 1, 20) == "1 of 20 planned runs failed or have not run."
