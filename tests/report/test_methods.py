"""The paragraph on statistical methods: it says what was done, and cites what it rests on."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, claim, study
from made_searches import searched

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, Sampling
from ablate.core.search_table import SearchTable
from ablate.report import bibliography
from ablate.report.bibliography import Source
from ablate.report.methods import as_latex, as_markdown, methods, sources
from ablate.report.section import Material

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
TWO = {"baseline": BASE, "a": BASE + WOBBLE}
EVERY = [source for source in vars(bibliography).values() if isinstance(source, Source)]


def material(evidence: Evidence, table: SearchTable | None = None, **facts: object) -> Material:
    evidence = replace(evidence, facts=replace(evidence.facts, **facts))
    return Material(evidence, compare(evidence), judge_claims(evidence), searched=table)


def told(evidence: Evidence, table: SearchTable | None = None, **facts: object) -> str:
    return as_markdown(methods(material(evidence, table, **facts))).partition("\n\n- ")[0]


def entries(text: str) -> dict[str, dict[str, str]]:
    """BibTeX, read strictly: key → fields. Only whole entries, with balanced braces and each field once."""
    found: dict[str, dict[str, str]] = {}
    rest = re.sub(r"^%.*\n", "", text)
    while rest := rest.strip():
        head = re.match(r"@(article|inproceedings)\{([a-z0-9]+),\n", rest)
        assert head, rest[:80]
        body, end, rest = rest[head.end() :].partition("\n}")
        assert end
        fields: dict[str, str] = {}
        for line in body.splitlines():
            field = re.fullmatch(r"  ([a-z]+) += \{(.+)\},", line)
            assert field, line
            depth = [field[2][:i].count("{") - field[2][:i].count("}") for i in range(len(field[2]) + 1)]
            assert min(depth) == depth[-1] == 0, line
            assert field[1] not in fields
            fields[field[1]] = field[2]
        where = "journal" if head[1] == "article" else "booktitle"
        assert {"author", "title", "year", where} <= set(fields)
        assert head[2] not in found
        found[head[2]] = fields
    return found


def test_every_entry_is_whole_and_its_key_tells_author_and_year() -> None:
    found = entries("\n".join(source.bibtex for source in EVERY))
    assert len(found) == len(EVERY) == 12
    for source in EVERY:
        fields = found[source.key]
        first = fields["author"].partition(",")[0].lower()
        assert source.key.startswith(f"{first}{source.year}")
        assert source.cited.lower().startswith(first)
        assert source.cited.endswith(f" {fields['year']}")
        many = fields["author"].count(" and ") + 1
        assert ("et al." in source.cited, " and " in source.cited) == (many > 2, many == 2)
        assert all(ord(sign) < 128 for value in fields.values() for sign in value), "old BibTeX reads ASCII"
        assert re.fullmatch(r"\d+--\d+", fields.get("pages", "1--2"))
        if source is not bibliography.WORTSMAN:
            start, end = map(int, fields["pages"].split("--"))
            assert start < end


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
        (
            study(TWO),
            {},
            ["two-sided paired t-tests over seeds", "No margin of equivalence"],
            ["Suissa", "Schuirmann"],
        ),
        (study(TWO, margin=0.02), {}, ["a difference within ±.02", "(Schuirmann 1987)"], ["No margin"]),
        (
            ALL_OR_NOTHING,
            {},
            ["matched pairs (Suissa and Shuster 1991)", "at least .9", "half of it"],
            ["t-tests"],
        ),
        (
            study(TWO, sampling=Sampling("fresh", 9)),
            {},
            ["training, validation and test examples."],
            ["set aside"],
        ),
        (
            study(TWO, sampling=HELD_OUT, examples=EXAMPLES),
            {},
            ["The 4 test examples were set aside once", "(Cornfield and Tukey 1956)", "(Satterthwaite 1946)"],
            ["Everything random"],
        ),
        (study(TWO, sampling=HELD_OUT), {}, ["set aside once"], ["Cornfield"]),
        (study(TWO, sampling=Sampling("resplit", 4, 8)), {}, ["(Nadeau and Bengio 2003)."], ["set aside"]),
        (study(TWO), {}, ["on the same 5 seeds", "The number of seeds was fixed in advance."], ["looked"]),
        (
            study(TWO),
            {"looks": [2, 4, 5]},
            [
                "looked at after 2, 4 and 5 seeds",
                "the same 5 seeds, or the first of these",
                "weight k/(1 + ... + K)",
            ],
            ["fixed in advance"],
        ),
        (
            study(TWO),
            {"stress": {"training.lr": [0.1, 0.3]}},
            ["training.lr = 0.1, 0.3 (Wortsman et al. 2023)"],
            [],
        ),
        (study(TWO), {"at": "best_validation"}, ["best on validation"], ["at the last step"]),
        (study(TWO), {"rate": "lr 0.003"}, ["not tuned: all variants were trained at lr 0.003"], ["Akiba"]),
        (study(TWO), {}, ["No run diverged."], ["Clopper"]),
        (
            study(TWO, stress={"a": [[1.0, 2.0, np.inf]]}),
            {},
            ["No run diverged but for those of the sensitivity grid."],
            ["Clopper"],
        ),
        (
            study(TWO, statuses={("a", 0): "diverged"}),
            {},
            ["1 of 10 runs diverged", "floor of the metric (.10)", "(Clopper and Pearson 1934)"],
            ["No run diverged"],
        ),
        (
            study(TWO, statuses={("a", 0): "diverged"}, metrics={"accuracy": Metric("max")}),
            {},
            ["cannot be scored, for the metric has no floor"],
            ["floor of the metric ("],
        ),
        (study(TWO, statuses={("a", 0): "failed"}), {}, ["1 of 10 planned runs have no result"], []),
        (
            study(TWO),
            {},
            ["The planned comparison was decided at .05"],
            ["family", "placebo", "declared before"],
        ),
        (study(TWO | {"b": BASE - WOBBLE}), {}, ["The 2 planned comparisons are one family"], []),
        (study(TWO | {"again": BASE - WOBBLE}, placebos=["again"]), {}, ["Placebo, the baseline with"], []),
        (
            study(TWO, claims=[claim("beats"), claim("matches", by=0.01)]),
            {},
            ["before the first trial, 2025-01-01: 2 claims", "(Holm 1979)", "(Schuirmann 1987)"],
            ["exploratory:"],
        ),
        (study(TWO, claims=[claim("beats")]), {}, ["1 claim, as a family"], ["Holm", "Schuirmann"]),
        (
            study(TWO, claims=[claim("beats", exploratory=True)]),
            {},
            ["exploratory: 1 claim."],
            ["before the first"],
        ),
        (
            study(TWO),
            {"environment": {"versions": {"torch": "2.13.0"}, "commit": "0123456789abc", "dirty": True}},
            ["torch 2.13.0; commit 0123456789 with uncommitted changes."],
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
    assert "nan" not in text.lower()


def test_tasks_whose_examples_differ_in_origin_are_named() -> None:
    evidence = study(TWO, sampling=HELD_OUT)
    (task,) = evidence.facts.tasks
    fresh = replace(task, name="second", sampling=Sampling("fresh", 9))
    text = told(evidence, tasks=[task, fresh])
    assert f"On {task.name}: initial values, dropout" in text
    assert "On second: everything random was drawn anew" in text


def test_tuning_and_a_search_are_told_with_their_budget() -> None:
    table = searched({"baseline": [0.9, 0.8, 0.7], "a": [0.9, 0.8, 0.7]}, trials=3)
    tuned = told(study(TWO), table, searched="tuning")
    assert (
        "3 settings × 2 tuning seeds over training.lr (sampler random); 12 trainings in all (Akiba et al. 2019)"
        in tuned
    )
    assert "do not hold the noise of tuning" in tuned
    assert "were not tuned" not in tuned
    swept = told(study(TWO), table, searched="sweep")
    assert "the best of 6 settings of a search over training.lr (sampler random) (Akiba et al. 2019)" in swept


@pytest.mark.parametrize("kind", ["plain", "everything"])
def test_every_citation_has_an_entry_and_every_entry_a_citation(kind: str) -> None:
    evidence, table, facts = study(TWO), None, {}
    if kind == "everything":
        claims = [claim("beats", metric=metric) for metric in ("accuracy", "seed_spread", "lr_sensitivity")]
        evidence = study(TWO | {"b": BASE}, margin=0.02, claims=[], statuses={("a", 0): "diverged"})
        evidence = replace(evidence, facts=replace(evidence.facts, claims=claims))
        table, facts = searched({"baseline": [0.9], "a": [0.9]}), {"searched": "tuning"}
    evidence = replace(evidence, facts=replace(evidence.facts, **facts))
    made = methods(Material(evidence, compare(evidence), judge_claims(study(TWO)), searched=table))
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", as_latex(made)) for key in keys.split(",")}
    assert cited == set(entries("\n".join(source.bibtex for source in sources(made))))
    wanted = {"bouthillier2021accounting"}
    if kind == "everything":
        wanted |= {
            "pitman1939note",
            "morgan1939test",
            "wortsman2023small",
            "holm1979simple",
            "akiba2019optuna",
        }
    assert wanted <= cited
    listed = as_markdown(made).partition("\n\n- ")[2]
    assert listed.count("\n- ") + 1 == len(cited)


def test_latex_takes_names_literally() -> None:
    tasks = {r"re_call & 5 %": {"loss_1": LOSS}}
    evidence = study({"baseline": [1.0, 1.1, 1.2], r"\x{y}": [1.0, 1.2, 1.1]}, metric="loss_1", tasks=tasks)
    evidence = replace(
        evidence,
        facts=replace(evidence.facts, environment={"machine": r"\input{x} #1 $~^", "versions": {"a_b": "1"}}),
    )
    text = as_latex(methods(Material(evidence, compare(evidence), judge_claims(evidence))))
    assert r"loss\_1" in text
    assert r"\textbackslash{}input\{x\} \#1 \$\textasciitilde{}\textasciicircum{}" in text
    bare = re.sub(r"\\(cite\{[a-z0-9,]+\}|paragraph\{|[a-z]+\{\}|[{}_&%$#,]|pm|times|leq|geq)", "", text)
    assert not re.search(r"\\|[&%#_^]", bare), bare


def test_a_study_that_compared_nothing_has_no_methods() -> None:
    assert methods(material(study({"baseline": BASE}))) == []
    again = study({"baseline": BASE, "again": BASE}, placebos=["again"], metrics={"accuracy": ACCURACY})
    assert methods(material(again)) == []
