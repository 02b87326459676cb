"""`--json`, `--gate` and `--strict`, through the command line."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from harness import TOY_CLAIMED

from ablate.base.text import printable
from ablate.cli import main
from ablate.commands._json import json_text
from ablate.pipeline.gate import pass_gate

MADE = TOY_CLAIMED
REFUTED = MADE.replace("  - model.effect=0.2 beats baseline", "  - baseline beats model.effect=0.2")
Call = Callable[..., Result]


@pytest.fixture
def call(made: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line, where the study has run."""
    monkeypatch.chdir(made)
    return lambda *words: CliRunner().invoke(main, [*map(str, words)])


def test_a_character_that_deceives_is_escaped_in_json():
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    names = {"name": f"a\u200db\ufff9\U000e0041\u202e\x7f {flag} é"}
    text = json_text(names)
    assert json.loads(text) == names
    assert printable(text) == text


def strict_json(text: str) -> dict[str, Any]:
    """One JSON object and nothing else, without what is no JSON."""
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("words", [("run", "study.yaml"), ("report", "toy")])
def test_a_run_and_a_report_say_the_same_as_the_files(call, made, words):
    done = call(*words, "--json")
    found = strict_json(done.stdout)
    assert (done.exit_code, found["exit_code"]) == (0, 0)
    assert "inconclusive" in done.stderr  # what is else printed
    assert (found["study"], found["trained"], found["failed"], found["missing"]) == ("toy", 0, [], 0)
    for key, file in (("verdicts", "comparisons.csv"), ("claims", "claims.csv")):
        rows = list(csv.DictReader((made / "results/toy" / file).read_text().splitlines()))
        assert [row.keys() for row in found[key]] == [row.keys() for row in rows]
        for mine, theirs in zip(found[key], rows, strict=True):
            for name, value in mine.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    assert value == float(theirs[name])
                else:
                    assert value is None or str(value) == theirs[name]
                    assert value is not None or theirs[name] in ("", "inf")
    kinds = {name: type(value) for name, value in found["verdicts"][0].items()}
    assert (kinds["n"], kinds["diff"], kinds["exploratory"], kinds["task"]) == (int, float, bool, str)
    assert [claim["verdict"] for claim in found["claims"]] == ["supported", "inconclusive"]
    assert {row["variant"] for row in found["stability"]} >= {"model.effect=0.2", "placebo"}
    assert all((made / path).is_file() for path in found["paths"].values())
    assert {"report.html", "comparisons.csv"} <= found["paths"].keys()
    assert found["answer"] == (made / "results/toy/answer.txt").read_text().splitlines()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("run nowhere.yaml", "nowhere.yaml: does not exist"),
        ("run study.yaml --seeds 0", "Invalid value for '--seeds'"),
        ("run study.yaml --set model.width=13", "must not be unlucky"),
        ("sweep study.yaml", "search: is required"),
        ("report nothing", "nothing"),
        ("plan study.yaml --detect nan", "'--detect': 'nan' is not a finite number"),
    ],
)
def test_what_cannot_be_done_is_an_object_too(call, words, part):
    done = call(*words.split(), "--json")
    found = strict_json(done.stdout)
    assert (done.exit_code, found["exit_code"]) == (2, 2)
    assert part in found["error"]
    assert part in done.stderr
    assert all(problem in found["error"] for problem in found["problems"])
    assert bool(found["problems"]) == ("problem" in found["error"])


@pytest.mark.slow
def test_a_refuted_claim_wins_and_one_that_came_late_counts(call, ran, tmp_path):
    (tmp_path / "study.yaml").write_text(REFUTED)
    done = call("run", tmp_path / "study.yaml", "--results", ran, "--jobs", 0, "--strict", "--json")
    found = strict_json(done.stdout)
    assert (done.exit_code, found["trained"], found["exit_code"]) == (1, 0, 1)
    assert done.stderr.splitlines()[-2:] == [
        "refuted (exploratory): baseline beats model.effect=0.2 on accuracy",
        "inconclusive: model.noise=0.3 beats baseline on accuracy",
    ]
    assert call("report", ran / "toy", "--gate").exit_code == 1


def test_claims_that_nothing_has_judged_are_open():
    row = {"claim": "a beats b on m", "verdict": "", "reason": "not judged yet", "exploratory": "False"}
    assert pass_gate([row], strict=False) == (0, [])
    assert pass_gate([row], strict=True) == (3, ["not judged yet: a beats b on m"])
    assert pass_gate([row | {"verdict": "inconclusive"}], strict=True)[0] == 3
    assert pass_gate([row | {"verdict": "supported"}], strict=True) == (0, [])
    assert pass_gate([], strict=True) == (0, ["note: the study makes no claim that could be refuted."])
