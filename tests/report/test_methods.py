"""The paragraph on statistical methods: the numbers of the study, and the papers that it rests on."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_evidence import LOSS, claim, study
from test_golden import GOLDEN, MADE

import ablate.report
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.search_table import SearchFacts
from ablate.core.metric import Sampling
from ablate.report.export.latex import paragraph
from ablate.report.export.paper_methods import TITLE, as_markdown, methods
from ablate.report.section import ReportData
from ablate.report.sentences.methods import search_methods

TEMPLATE = Path(ablate.report.__file__).parent / "words" / "methods.j2"
BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
TWO = {"baseline": BASE, "a": BASE + WOBBLE}


def told(evidence, **facts):
    evidence = replace(evidence, facts=replace(evidence.facts, **facts))
    return methods(ReportData(evidence, compare(evidence), judge_claims(evidence)))


def test_every_entry_of_the_bibliography_is_whole():
    text = (TEMPLATE.parents[1] / "export" / "references.bib").read_text()
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


OTHERS = {
    "resplit": study(TWO, sampling=Sampling("resplit", 4, 8)),
    "held out without outcomes": study(TWO, sampling=Sampling("held_out", 4)),
    "spread": study(TWO, claims=[claim("beats", metric="seed_spread")]),
    "exploratory": study(TWO, claims=[claim("beats", exploratory=True)]),
}
FACTS = {"best": {"at": "best_validation"}, "rate": {"rate": "lr 0.003"}}


@pytest.mark.slow
def test_it_says_what_it_said():
    """Of every study that the golden reports are made of, and of some more."""
    made = {name: told(one()) for name, one in MADE.items()}
    made |= {name: told(evidence) for name, evidence in OTHERS.items()}
    made |= {name: told(study(TWO), **facts) for name, facts in FACTS.items()}
    assert not [name for name, text in made.items() if re.search(r"nan|None|\{|\}|  | [.,](?![\d.])", text)]
    text, path = "".join(f"# {name}\n\n{text}\n" for name, text in made.items()), GOLDEN / "methods.txt"
    if os.environ.get("ABLATE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_latex_and_markdown_take_names_literally_and_cite():
    tasks = {r"re_call & 5 %": {"loss_1": LOSS}}
    evidence = study({"baseline": [1.0, 1.1, 1.2], r"\x{y}": [1.0, 1.2, 1.1]}, metric="loss_1", tasks=tasks)
    said = told(evidence, environment={"machine": r"\input{x} #1 $~^", "versions": {"a_b": "1"}})
    text = paragraph(TITLE, said)
    assert "its loss 1 on test data" in text
    assert r"a\_b" in text
    assert r"parameters~\cite{bouthillier2021accounting}." in text
    assert r"\textbackslash{}input\{x\} \#1 \$$\sim$\textasciicircum{}" in text
    bare = re.sub(r"\\(cite\{[a-z0-9,]+\}|paragraph\{|[a-z]+\{\}|[{}_&%$#,]|pm|times|leq|geq|sim)", "", text)
    assert not re.search(r"\\|[&%#_^]", bare), bare
    assert "parameters [@bouthillier2021accounting]." in as_markdown(said)
    assert r"\#1" in as_markdown(said)


def test_a_study_that_compared_nothing_has_no_methods():
    assert told(study({"baseline": BASE})) == ""


def test_settings_that_a_sampler_repeats_are_one_setting():
    evidence = next(made for made in (make() for make in MADE.values()) if not made.frame(SearchFacts).empty)
    tried = evidence.frame(SearchFacts)
    repeated = pd.concat([tried, tried], ignore_index=True)
    words = search_methods(evidence)
    assert re.search(r"with \d+ settings", words)
    assert search_methods(replace(evidence, frames={**evidence.frames, SearchFacts.key: repeated})) == words
