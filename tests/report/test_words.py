import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from jinja2 import Environment, FileSystemBytecodeCache, nodes
from made_evidence import study
from reports import troubled

import ablate
from ablate.analysis.compare import compare
from ablate.analysis.learning import Learned
from ablate.core.metric import Metric
from ablate.report import words
from ablate.report.section import ReportData
from ablate.report.sentences.answer import answers_by_task, learned_words
from ablate.report.sentences.reason_words import because
from ablate.report.words import codes, decimals_beside_0, interval, level_word, message, some

ROOT = Path(ablate.__file__).parent
FILES = sorted(path.stem for path in (ROOT / "report" / "words").glob("*.j2"))


COMPUTED = {"reasons", "inconclusive", "data", "limits", "search"}
"""The files of which Python puts the name of a template together."""


@cache
def quoted():
    """File and template of every code that stands somewhere as a string."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for file, name in re.findall(r"[\"'](\w+)\.(\w+)[\"']", path.read_text()):
            found |= {(file, name)} if file in FILES else set()
    return found


def test_every_code_that_is_said_has_a_template():
    codes_by_file = {file: codes(file) for file in FILES}
    for path in ROOT.rglob("*.py"):
        for file, name in re.findall(r"\bmessage\(\s*[\"'](\w+)\.(\w+)[\"']", path.read_text()):
            assert name in codes_by_file[file], f"{path}: {file}.{name}"


def said_calls() -> Iterator[tuple[Path, ast.Call, str]]:
    """Yields each call of `message` that names its code, with its file and that code."""
    for path in ROOT.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            match call:
                case ast.Call(func=ast.Name(id="message"), args=[ast.Constant(value=str(code)), *_]):
                    yield path, call, code


@cache
def wanted() -> dict[str, list[str]]:
    """Code → the names of the values that its template takes."""
    found = {}
    for file in FILES:
        tree = Environment().parse((ROOT / "report" / "words" / f"{file}.j2").read_text())
        for macro in tree.find_all(nodes.Macro):
            found[f"{file}.{macro.name}"] = [argument.name for argument in macro.args]
    return found


@pytest.mark.slow
def test_a_sentence_gets_the_values_that_its_template_takes():
    wrong = []
    for path, call, code in said_calls():
        if any(isinstance(value, ast.Starred) for value in call.args):
            continue
        named = {keyword.arg for keyword in call.keywords}
        if named != set(wanted()[code][len(call.args) - 1 :]) and None not in named:
            wrong.append(f"{path}:{call.lineno}: {code} takes {wanted()[code]}")
    assert wrong == []


@pytest.mark.parametrize("file", FILES)
def test_every_template_is_said_somewhere(file):
    if file not in COMPUTED:
        assert {(file, name) for name in codes(file)} <= quoted()


@pytest.mark.parametrize("file", FILES)
def test_templates_hold_words_and_no_rule(file):
    """At most five values; no statement; an optional part where its value is there, and nothing in its place."""
    tree = Environment().parse((ROOT / "report" / "words" / f"{file}.j2").read_text())
    for macro in tree.find_all(nodes.Macro):
        assert len(macro.args) <= 5, macro.name
        assert not macro.defaults, macro.name
    assert not [*tree.find_all((nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock))]
    assert not [*tree.find_all((nodes.Compare, nodes.And, nodes.Or, nodes.Not, nodes.Test))]
    for choice in tree.find_all(nodes.CondExpr):
        assert isinstance(choice.test, nodes.Name), choice.lineno
        assert choice.expr2 is None, choice.lineno


def test_every_code_of_a_reason_has_words_and_no_other_has():
    text = "".join(path.read_text() for path in ROOT.rglob("*.py"))
    of_judge = {*re.findall(r'Reason\(\s*"(\w+)"', text), "unknown", "pool"}
    assert of_judge <= codes("reasons")
    # These have several sentences.
    others = codes("reasons") - of_judge
    assert {name.partition("_")[0] for name in others} == {
        "few",
        "groups",
        "open",
        "seedless",
        "unseen",
        "unstable",
    }
    assert {name.partition("_")[0] for name in codes("inconclusive")} <= of_judge


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("few n=1 least=2", "1 seed, at least 2 needed"),
        ("few rates=1 least=2", "1 learning rate, at least 2 needed"),
        ("few processes=1 least=2", "1 process, at least 2 needed"),
        ("open seeds=34", "about 34 seeds needed, if the difference is as observed"),
        ("open seeds=1001", "more than 1,000 seeds needed, if the difference is as observed"),
        ("open runs=34", "about 34 runs of each needed, if the difference is as observed"),
        ("open", ""),
        (
            "groups spread=1",
            "runs on this task are bimodal, as if some had learned and others not, which no spread describes",
        ),
        (
            "unseen failures=0.3123 untested=1",
            "failures in up to 31 % of runs cannot be ruled out; no `floor` given, so bimodal runs were not checked",
        ),
        ("unseen failures=0.3123", "failures in up to 31 % of runs cannot be ruled out"),
    ],
)
def test_reasons_have_their_numbers(reason, text):
    assert because(reason) == text


@pytest.mark.parametrize("unit", ["run", "fold"])
@pytest.mark.parametrize("reason", ["few n=1 least=2", "ceiling n=8 failures=0.3", "examples", "seedless"])
def test_reasons_speak_of_seeds_only_where_runs_have_them(reason, unit):
    assert "seed" in because(reason)
    text = because(reason, unit=unit)
    assert "seed" not in text


def test_the_answer_has_reasons_in_few_words():
    assert because("few n=1 least=2", short=True) == "too few seeds"
    assert because("few n=1 least=2", short=True, unit="run") == "too few runs"
    assert because("seedless", short=True) == "the seed has no effect"
    assert because("seedless", short=True, unit="run") == "no run differs from another of its side"
    assert because("open seeds=34", short=True) == because("examples", short=True) == ""
    assert because("degenerate n=3", short=True) == "all differences are the same"
    assert because("unsolved n=3", short=True) == "no run solved the task"


def test_runs_and_folds_are_not_called_seeds():
    for unit in ("run", "fold"):
        for reason in ("few n=1 least=2", "ceiling failures=0.45 n=5", "seedless"):
            for is_short in (False, True):
                said = because(reason, short=is_short, unit=unit)
                assert "seed" not in said
                assert "seed" in because(reason, short=is_short) or reason.startswith("ceiling")
    assert "with 5 runs, failures" in because("ceiling failures=0.45 n=5", unit="run")
    assert "with 5 seeds, failures" in because("ceiling failures=0.45 n=5")


def test_lists_and_levels():
    assert some(["a"]) == "a"
    assert some("abcd", 2) == "a, b and 2 more"
    assert [level_word(1 - 0.05 / m) for m in (1, 7, 60, 100, 10_000)] == [
        "95",
        "99.3",
        "99.92",
        "99.95",
        "99.9995",
    ]
    assert message("limits.missing", 1, 20) == "1 of 20 planned runs failed or have not run."


def test_sentences_that_cannot_be_kept_compiled_are_said_all_the_same(monkeypatch):
    def full(*given):
        raise OSError("no space left")

    monkeypatch.setattr(FileSystemBytecodeCache, "load_bytecode", lambda *given: None)
    monkeypatch.setattr(FileSystemBytecodeCache, "dump_bytecode", full)
    assert "1 seed" in words._module.__wrapped__("reasons").few(n=1, least=2, unit="seed")


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.00015560, 0.0361180, "[0.0002, 0.0361]"),
        (-0.0361180, -0.00015560, "[−0.0361, −0.0002]"),
        (-0.0004, 0.0361, "[0.000, 0.036]"),
        (0.0125, 0.0253, "[0.0125, 0.0253]"),
        (1e-12, 0.036, "[0.000, 0.036]"),
    ],
)
def test_an_interval_that_excludes_0_does_not_read_as_if_it_had_0(low, high, ends):
    assert interval(low, high, decimals_beside_0(low, high)) == ends


@pytest.mark.parametrize(
    ("floor", "spread", "said"),
    [(0.145723, 0.0023, "0.1457"), (0.1, 0.0023, "0.1"), (0.0004, 0.3, "0.00040"), (0.0, 0.1, "0")],
)
def test_guessing_has_no_more_digits_than_what_was_reached(floor, spread, said):
    learned = Learned("t", True, "accuracy", Metric("max", floor=floor), mean=0.55176, spread=spread)
    assert learned_words(learned, troubled().facts).endswith(f"(guessing: {said})")


@pytest.mark.parametrize(
    ("mean", "spread", "said"),
    [
        (1.0, 1e-12, "1.000 ± 0.000"),
        (1.0, 3e-6, "1.000000 ± 0.000003"),
        (0.04, 2e-8, "0.040 ± 0.000"),
        (2.1e-9, 1e-10, "2.10e−9 ± 1.0e−10"),
        (0.0, 0.0, "0.000 ± 0.000"),
    ],
)
def test_a_spread_of_rounding_errors_gives_a_number_no_more_digits(mean, spread, said):
    assert words.plus_minus(mean, spread) == said


def test_a_mean_beside_a_narrow_interval_has_no_exponent():
    places = words.decimals(1e-9, 3e-9)
    assert words.fixed(1.0, places) == "1.000000"
    assert words.difference(2e-9, 1e-9, 3e-9) == "+2.0e−9 [1.0e−9, 3.0e−9]"
    assert words.difference(1.0, 1.0 - 2e-6, 1.0 + 2e-6) == "+1.000000 [0.999998, 1.000002]"


def test_a_difference_that_every_seed_repeats_is_said_without_the_digits_of_its_rounding_errors():
    losses = np.random.default_rng(0).normal(2.0, 0.1, 6)
    losses = {"baseline": losses, "a": losses + 1.0}
    evidence = study(losses, metric="loss", metrics={"loss": Metric("min")})
    report_data = ReportData(evidence, compare(evidence), evidence.trials[:0])
    assert "rose (worse) by 1 with a" in " ".join(answers_by_task(report_data))
