"""The paragraph on statistical methods: the numbers of the study, and the papers that it rests on."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from made_evidence import LOSS, claim, study
from made_searches import searched

import ablate.report
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.facts import Evidence
from ablate.core.metric import Sampling
from ablate.features.export.paper import as_latex, as_markdown, methods
from ablate.features.search.table import SearchTable
from ablate.report.section import Material

TEMPLATE = Path(ablate.report.__file__).parent / "words" / "methods.j2"
BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
TWO = {"baseline": BASE, "a": BASE + WOBBLE}


def told(evidence: Evidence, table: SearchTable | None = None, **facts: object) -> str:
    evidence = replace(evidence, facts=replace(evidence.facts, **facts))
    if table is not None:
        evidence = evidence.having("search", table.trials, asdict(table.facts))
    return methods(Material(evidence, compare(evidence), judge_claims(evidence)))


def test_every_entry_of_the_bibliography_is_whole() -> None:
    text = (TEMPLATE.parents[1] / "templates" / "references.bib").read_text()
    entries = re.findall(r"@(article|inproceedings)\{([a-z0-9]+),\n(.*?)\n\}\n", text, re.DOTALL)
    assert len(entries) == text.count("@") == len({key for _, key, _ in entries})
    assert text.isascii(), "old BibTeX reads ASCII"
    for kind, key, body in entries:
        fields = dict(re.findall(r"^  ([a-z]+) += \{(.+)\},$", body, re.MULTILINE))
        assert len(fields) == len(body.splitlines())
        assert {"author", "title", "year", "journal" if kind == "article" else "booktitle"} <= set(fields)
        assert key.startswith(f"{fields['author'].partition(',')[0].lower()}{fields['year']}")
        assert all(value.count("{") == value.count("}") for value in fields.values())
    cited = set(
        re.findall(
            r"@([a-z]+\d{4}[a-z]+)", TEMPLATE.read_text() + TEMPLATE.with_name("search.j2").read_text()
        )
    )
    assert cited == {key for _, key, _ in entries}


HELD_OUT = Sampling("held_out", 4)
EXAMPLES = {
    name: np.clip(
        np.asarray(values)[:, None] + np.array([0.01, -0.01, 0.02, -0.02]) * np.arange(5)[:, None], 0, 1
    )
    for name, values in TWO.items()
}
ALL_OR_NOTHING = study({"baseline": [0.99] * 8, "a": [0.3] * 8}, outcome="all_or_nothing", margin=0.02)


@pytest.mark.parametrize(
    ("evidence", "facts", "said", "unsaid"),
    [
        (study(TWO), {}, ["same 5 seeds", "@bouthillier", "No run diverged"], ["@suissa", "@clopper"]),
        (study(TWO, margin=0.02), {}, ["within ±.02"], []),
        (ALL_OR_NOTHING, {}, ["@suissa1991matched", "at least .9"], ["t intervals over seeds"]),
        (study(TWO, sampling=HELD_OUT, examples=EXAMPLES), {}, ["@cornfield", "@satterthwaite"], []),
        (study(TWO, sampling=HELD_OUT), {}, ["the test examples are the same"], ["@cornfield"]),
        (
            study(TWO, sampling=Sampling("resplit", 4, 8)),
            {},
            ["@nadeau2003inference"],
            ["are the same for all"],
        ),
        (study(TWO), {"looks": [2, 4, 5]}, ["2, 4 and 5"], ["fixed in advance"]),
        (
            study(TWO),
            {"features": {"stress": {"training.lr": [0.1, 0.3]}}},
            ["training.lr = 0.1, 0.3", "@wortsman"],
            [],
        ),
        (study(TWO), {"at": "best_validation"}, ["best on validation"], ["at the last step"]),
        (study(TWO), {"rate": "lr 0.003"}, ["lr 0.003"], ["@akiba"]),
        (study(TWO, statuses={("a", 0): "diverged"}), {}, ["1 of 10 runs diverged", "@clopper"], []),
        (study(TWO, statuses={("a", 0): "failed"}), {}, ["1 of 10 planned runs"], []),
        (study(TWO | {"b": BASE - WOBBLE}), {}, ["The 2 planned comparisons", ".05/2"], []),
        (study(TWO, claims=[claim("beats", metric="seed_spread")]), {}, ["@brown1974robust", ".05/2"], []),
        (study(TWO, claims=[claim("beats", exploratory=True)]), {}, ["level .95"], []),
        (
            study(TWO),
            {"environment": {"versions": {"torch": "2.13.0"}, "commit": "0123456789abc", "dirty": True}},
            ["torch 2.13.0; commit 0123456789 with uncommitted"],
            [],
        ),
    ],
)
def test_it_says_what_was_done_and_nothing_else(
    evidence: Evidence, facts: dict[str, object], said: list[str], unsaid: list[str]
) -> None:
    text = told(evidence, **facts)
    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []
    assert not re.search(r"nan|None|\{|\}|  | [.,](?![\d.])", text), text


def test_tuning_and_a_search_are_told_with_their_budget() -> None:
    table = searched({"baseline": [0.9, 0.8, 0.7], "a": [0.9, 0.8, 0.7]}, trials=3)
    tuned = told(study(TWO), table, searched="tuning")
    assert "over training.lr with 3 settings on 2 seeds [@akiba2019optuna]" in tuned
    swept = told(study(TWO), table, searched="sweep")
    assert "the best of 3 settings of a search over training.lr [@akiba2019optuna]" in swept


def test_latex_and_markdown_take_names_literally_and_cite() -> None:
    tasks = {r"re_call & 5 %": {"loss_1": LOSS}}
    evidence = study({"baseline": [1.0, 1.1, 1.2], r"\x{y}": [1.0, 1.2, 1.1]}, metric="loss_1", tasks=tasks)
    said = told(evidence, environment={"machine": r"\input{x} #1 $~^", "versions": {"a_b": "1"}})
    text = as_latex(said)
    assert r"loss\_1" in text
    assert r"parameters~\cite{bouthillier2021accounting}." in text
    assert r"\textbackslash{}input\{x\} \#1 \$$\sim$\textasciicircum{}" in text
    bare = re.sub(r"\\(cite\{[a-z0-9,]+\}|paragraph\{|[a-z]+\{\}|[{}_&%$#,]|pm|times|leq|geq|sim)", "", text)
    assert not re.search(r"\\|[&%#_^]", bare), bare
    assert "parameters [@bouthillier2021accounting]." in as_markdown(said)
    assert r"\#1" in as_markdown(said)


def test_a_study_that_compared_nothing_has_no_methods() -> None:
    assert told(study({"baseline": BASE})) == ""
