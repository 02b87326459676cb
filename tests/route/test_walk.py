"""Greedy paths: which steps are chosen, on which seeds, and what is then trained and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness import ablate, with_database
from made_evidence import study
from searching import PEAK_STUDY, prepared, train

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.facts import VariantFacts
from ablate.core.record import Record
from ablate.features.path import Steps
from ablate.features.path.sections.path import Path as PathSection
from ablate.features.path.sections.path import path_of, steps
from ablate.report.section import Material
from ablate.route.gather import gather
from ablate.study.experiment import Experiment, facts_of

# From .1, the learning rate gains 4; `wide` gains .1 beside one head and .2 beside three, which gain nothing without
# it; x gains .09.
CHANGES = "model.x: 0.3, model.heads: 3, model.kind: wide, training.lr: 1e-3"
PATH = f"""{PEAK_STUDY}training: {{noise: 1e-3}}
design: {{name: path, to: top, seeds: 2}}
variants: {{top: {{{CHANGES}}}, other: {{model.twin: 1}}}}
claims: [top beats baseline on score]
"""


def walk(experiment: Experiment) -> tuple[Steps, dict[str, Record], list[int]]:
    """Trains all that the plan asks for; how many each time."""
    plan, records, rounds = Steps(experiment), dict[str, Record](), list[int]()
    while asked := plan.ask(records):
        rounds.append(len(asked))
        assert all(cell.seed >= 10_000 and not cell.judged for cell in asked)
        for cell in asked:
            try:
                records[cell.id] = train(experiment, cell.trial)
            except RuntimeError as error:
                records[cell.id] = Record.of(cell.trial, "failed", reason=str(error))
    return plan, records, rounds


def test_a_variant_with_another_level_of_a_change_is_no_further_step() -> None:
    changes = {
        "baseline": {},
        "x=1": {"x": "1"},
        "top": {"x": "1", "y": "1"},
        "else": {"x": "2", "y": "1", "z": "1"},
    }
    facts = study({name: [0.5, 0.6] for name in changes}).facts
    variants = [VariantFacts(name, of, of) for name, of in changes.items()]
    found = path_of(replace(facts, design="path", variants=variants))
    assert [variant.name for variant in found] == ["baseline", "x=1", "top"]


def test_each_step_takes_the_change_that_helps_most_beside_those_before_it(
    write: Callable[..., Path],
) -> None:
    experiment = prepared(write(PATH))
    plan, records, rounds = walk(experiment)
    assert plan.taken == ["training.lr", "model.kind", "model.heads", "model.x"]
    assert rounds == [8, 6, 4]
    assert len(records) == 18
    walked = plan.walked()
    names = [variant.name for variant in walked.variants]
    assert names == [
        "baseline",
        "training.lr=0.001",
        "model.kind=wide,training.lr=0.001",
        "model.heads=3,model.kind=wide,training.lr=0.001",
        "top",
        "other",
    ]
    assert walked.variants[4].configs == experiment.variants[1].configs
    assert [cell.seed for cell in walked.cells()] == [seed for seed in range(3) for _ in range(6)]
    first, *_ = walked.remarks
    assert first.startswith("step 1 of the path to top takes training.lr before ")
    assert first.endswith("by score on validation data of seeds 10000–10001")


def test_a_change_that_diverges_comes_last_and_one_that_fails_ends_the_choice(
    write: Callable[..., Path],
) -> None:
    plan, _, _ = walk(prepared(write(PATH), training__fault="diverge", training__above=0.3))
    assert plan.taken[-1] == "model.x"
    plan, records, _ = walk(prepared(write(PATH), training__fault="raise", training__above=0.3))
    assert plan.taken == []
    assert [record.status for record in records.values()].count("failed") == 2


def test_a_configuration_that_is_known_is_not_trained_again(write: Callable[..., Path]) -> None:
    # Another `seconds` is no other trial, so that the step that adds it beside the best one is known.
    plan, _, rounds = walk(
        prepared(write(PATH.replace(CHANGES, "training.lr: 1e-3, model.x: 0.3, training.seconds: 1e-9")))
    )
    assert plan.taken == ["training.lr", "model.x", "training.seconds"]
    assert rounds == [6, 2]


def test_the_steps_are_judged_on_the_seeds_of_the_study(write: Callable[..., Path]) -> None:
    plan, _, _ = walk(prepared(write(PATH)))
    found = plan.walked()
    cells = found.cells()
    records = {cell.id: train(found, cell.trial) for cell in cells}
    evidence = gather(facts_of(found), cells, records)
    rows = steps(evidence)
    runs = evidence.trials.pivot(index="seed", columns="variant", values="score")
    assert sorted(runs.index) == [0, 1, 2]
    one, two, base = (
        runs[name] for name in ("training.lr=0.001", "model.kind=wide,training.lr=0.001", "baseline")
    )
    assert rows[1]["step_diff"][0] == pytest.approx((two - one).mean())
    assert rows[1]["step_diff"][1] > 0
    assert rows[1]["total"][0] == pytest.approx((two - base).mean())
    planned = compare(evidence)
    shown = Material(evidence, planned, judge_claims(evidence))
    assert PathSection().applies(shown)
    _, printed = PathSection().blocks(shown)
    assert [row["adds"] for row in printed.rows] == ["lr 0.001", "wide kind", "heads 3", "x 0.3"]
    assert printed.rows[1]["step_diff"].startswith("+")
    evidence.facts.variants[1:] = []
    assert not PathSection().applies(shown)


@pytest.mark.slow
def test_a_run_trains_and_reports_the_path(write: Callable[..., Path], tmp_path: Path) -> None:
    with_database(tmp_path / "results/store")
    study = write(PATH)
    for trained in (18 + 18, 0):
        done = ablate("run", study, "--jobs", "0", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / "results/store/trials").glob("*.json"))) == 36
        assert f"{trained} trials to train" in done.stdout or not trained
    text = (tmp_path / "results/peaks/report.md").read_text()
    assert f"## {PathSection.title}\n" in text
    assert "step 2 of the path to top takes model.kind" in text
