from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
from made_evidence import claim, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.stability import stability
from ablate.core.facts import Evidence
from ablate.core.metric import Metric
from ablate.features.stress.sections.rates import Rates
from ablate.records.folder import STABILITY, StudyFolder
from ablate.report.draw import style
from ablate.report.section import Material, Picture
from ablate.report.sections.headline import answers
from ablate.report.sections.verdicts import Stability
from ablate.report.words import say
from ablate.route.publish import publish
from ablate.tracking.content import parent_of

N = 5
rng = np.random.default_rng(9)
VALUES = {name: 0.8 + 0.01 * rng.normal(size=N) for name in ("baseline", "a", "b")}
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
STEEP = np.where(np.arange(5) >= 3, math.inf, 0.5 + 0.02 * rng.normal(size=(N, 5)))
GRIDS = {name: 0.5 + 0.02 * rng.normal(size=(N, 5)) for name in VALUES} | {"a": STEEP}


def material(evidence: Evidence) -> Material:
    return Material(
        evidence, compare(evidence), judge_claims(evidence), tables={"stability": stability(evidence)}
    )


def test_the_answer_has_the_claims_that_no_verdict_speaks_of() -> None:
    asked = claim("beats", "baseline", "a", metric="lr_sensitivity")
    plain = claim("beats", "baseline", "a")
    found = answers(material(study(VALUES, stress=GRIDS, rates=RATES, claims=[asked, plain])))
    assert found[-1] == f"Supported: {asked.text}."
    late = dataclasses.replace(asked, exploratory=True)
    assert answers(material(study(VALUES, stress=GRIDS, rates=RATES, claims=[late]))) == found[:-1]


def test_runs_that_diverged_are_counted_on_each_task() -> None:
    """Once for the baseline of several pairs, though looks gave some of them fewer seeds."""
    tasks = {task: {"accuracy": Metric("max", floor=0.1)} for task in ("t1", "t2")}
    evidence = study(VALUES, tasks=tasks, statuses={("baseline", 0): "diverged"})
    facts = dataclasses.replace(evidence.facts, looks=[2, 4], until={"a": {"t1": 2}})
    lost = [say("stability.lost", 1, 5, "baseline", task) for task in ("t1", "t2")]
    found = Stability().findings(material(dataclasses.replace(evidence, facts=facts)))
    assert found == [say("stability.diverged", lost)]


def test_the_figure_shows_where_runs_diverged() -> None:
    made = material(study(VALUES, stress=GRIDS, rates=RATES))
    (curves,) = (block for block in Rates().blocks(made) if isinstance(block, Picture))
    with style.context():
        drawn = curves.draw()
    assert all(ax.get_xscale() == "log" for ax in drawn.axes)
    assert [text.get_text() for ax in drawn.axes for text in ax.texts] == ["5 of 5"] * 2
    assert "cross" in curves.caption


def test_a_report_has_the_table_the_section_and_the_words_in_mlflow(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path, "x")
    folder.path.mkdir()
    lost = {("b", 1): "diverged"}
    folder.save_evidence(study(VALUES, stress=GRIDS, rates=RATES, statuses=lost))
    publish(folder, pytest.fail)
    rows = folder.beside(STABILITY)
    assert {row["metric"] for row in rows} == {"divergence_rate", "lr_sensitivity", "seed_spread"}
    text = (folder.path / "report.md").read_text()
    assert "## Stability" in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    assert "| a | ○ inconclusive |" in text
    folder.study_file.write_text("name: x\n")
    parent = parent_of(folder)
    assert parent.metrics
    _, _, frame, _ = folder.frames()
    assert len(frame) == len(rows)
