"""Speed in words, tables and figures, and the page of a study that was timed and never trained."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_evidence import claim
from made_speed import speed_frame, timed
from rich.console import Console

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.scaling import overtakings, scaling
from ablate.analysis.speed import speeds
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric
from ablate.records.folder import StudyFolder
from ablate.report import timing
from ablate.report.brief.speed import Speed
from ablate.report.draw import style
from ablate.report.methods import as_markdown, methods
from ablate.report.paper import speed as for_paper
from ablate.report.section import Material, Picture, Table, Text, unfolded
from ablate.report.sections import cost
from ablate.report.sections.ratios import Ratios, ratios
from ablate.report.sections.scaling import Scaling, lines
from ablate.report.sections.target import TimeToTarget
from ablate.report.tables import rows_of
from ablate.stages.as_json import report_object, written
from ablate.stages.publish import describe, publish
from ablate.stages.publish import material as published_material

LONG = "model.mixer.value=low_rank(rank=4),model.feedforward.activation=gelu"
NOISE = 0.004 * np.random.default_rng(3).normal(size=(4, 6))
LOGS = dict(zip(("baseline", "slow", "same", LONG), NOISE, strict=True))
SLOW, FAST = math.log(1.9), math.log(0.8)


def logs(slow: float = SLOW, fast: float = FAST) -> dict[str, np.ndarray]:
    return {**LOGS, "slow": LOGS["slow"] + slow, LONG: LOGS[LONG] + fast}


MEMORY = {"baseline": 4e6, "slow": 5e6, "same": 4e6, LONG: 3.6e6}
AT_OWN = [
    speed_frame(logs(), seconds=0.0036, memory=MEMORY, size=96.0, busy=0.3),
    speed_frame(logs(), call="forward", seconds=0.0011, size=96.0, busy=0.3),
]
SIZES = (64.0, 128.0, 256.0, 512.0)
AT_SIZES = [
    # The baseline overtakes the fast one at 181, midway between 128 and 256.
    speed_frame(
        logs(fast=0.35 * math.log(size / 181.02)), size=size, own=False, seconds=size / 3e4, memory=MEMORY
    )
    for size in SIZES
]


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return timed(*AT_OWN, *AT_SIZES, values={name: [0.9, 0.91, 0.92, 0.9] for name in LOGS})


def material(evidence: Evidence) -> Material:
    return Material(
        evidence,
        compare(evidence),
        judge_claims(evidence),
        speeds=speeds(evidence),
        scaling=scaling(evidence),
        overtakings=overtakings(evidence),
    )


@pytest.fixture(scope="module")
def made(evidence: Evidence) -> Material:
    return material(evidence)


def tables(blocks: Iterator[object]) -> list[Table]:
    return [block for block in unfolded(blocks) if isinstance(block, Table)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (12.0, "12.0 s"),
        (1.0, "1.00 s"),
        (0.9999, "1.00 s"),
        (0.00321, "3.21 ms"),
        (0.0999, "99.9 ms"),
        (412e-6, "412 µs"),
        (3.2e-8, "32.0 ns"),
        (1234.0, "1234 s"),
        (0.0, "0 ns"),
    ],
)
def test_short_times_have_three_digits(time: float, said: str) -> None:
    assert wording.seconds(time) == said


def test_the_table_of_a_call_has_time_ratio_rates_and_memory(made: Material) -> None:
    first, forward, *sized = tables(Speed().blocks(made))
    base, slow, same, fast = first.rows
    assert (base["time"], base["verdict"], base["memory"]) == ("3.60 ms", "two copies", "4.0 MB")
    assert slow["verdict"] == "slower (exploratory)"
    assert re.fullmatch(r"×1\.\d+ \[1\.\d+, 1\.\d+\]", slow["ratio"])
    assert slow["memory_ratio"] == "×1.250, more"
    assert same["verdict"] == "equivalent (exploratory)"
    assert (fast["verdict"], fast["memory_ratio"]) == ("faster (exploratory)", "×.900, less")
    # 64 examples and 2048 tokens a call, 1e9 FLOPs in 3.6 ms.
    assert (base["examples"], base["tokens"], base["rate"]) == ("17.8k", "569k", "278")
    assert "busy" in first.caption
    assert not any(row["note"] for row in first.rows)
    assert "memory" not in {column.key for column in forward.columns}
    (of_step,) = sized
    assert [row["size"] for row in of_step.rows[::4]] == ["64", "96", "128", "256", "512"]
    words = [cell for table in (first, forward, of_step) for row in table.rows for cell in row.values()]
    assert not [cell for cell in words if "nan" in cell.lower() or "inf" in cell.split()]


def test_what_parts_compute_beside_the_products_is_named(made: Material) -> None:
    counts = {"recall": {"tanh": 8192, "fft_flops": 512, "softmax": 0}}
    variants = [replace(v, beside=counts) if v.name == "slow" else v for v in made.facts.variants]
    facts = replace(made.facts, variants=variants)
    table = timing.speed_table(timing.own(rows_of(made.speeds)), timing.STEP, facts, {})
    notes = {row["variant"]: row["note"] for row in table.rows}
    assert notes["slow"].endswith("on one example: tanh 8.19k, fft flops 512")
    assert notes["same"] == ""


def test_the_answer_names_the_strongest_and_counts_the_rest(made: Material) -> None:
    (said,) = Speed().answers(made)
    assert re.fullmatch(
        rf"A training step takes 1\.9\d? times as long with slow, and \.80? times with {re.escape(LONG)}\.",
        said,
    )
    many = {"baseline": LOGS["baseline"]} | {f"v{i}": LOGS["slow"] + 0.1 * (i + 1) for i in range(6)}
    (said,) = Speed().answers(material(timed(speed_frame(many))))
    assert said.endswith("and 3 more differ.")
    assert said.index("v5") < said.index("v4") < said.index("v3")
    assert "v2" not in said
    assert (
        Speed().answers(material(timed(speed_frame({"baseline": LOGS["baseline"], "same": LOGS["same"]}))))
        == []
    )


def test_without_a_step_another_call_speaks() -> None:
    (said,) = Speed().answers(material(timed(speed_frame(logs(), call="generation"))))
    assert said.startswith("Generation takes ")


def test_a_loud_machine_is_a_finding(made: Material) -> None:
    assert Speed().findings(made) == []
    loud = {**logs(), "baseline": 10 * LOGS["baseline"]}
    (said,) = Speed().findings(material(timed(speed_frame(loud))))
    assert "the noise floor" in said


def test_how_it_was_measured_is_said(made: Material) -> None:
    texts = [block.words for block in Speed().blocks(made) if isinstance(block, Text)]
    for piece in ("6 processes", "12 blocks", "1 thread of a machine", "Other programs kept .10 cores busy"):
        assert piece in texts[0]
    assert re.search(r"differ by up to \.\d+ % \(a training step\) and \.\d+ % \(a forward pass\)", texts[0])


def test_the_figure_has_every_ratio_and_no_filled_mark_but_the_baseline(made: Material) -> None:
    data = ratios(made.facts, made.speeds, "recall", timing.STEP)
    assert list(data["verdict"]) == ["baseline", *["exploratory"] * 3]
    assert list(data["said"]) == ["", "slower", "equivalent", "faster"]
    mine = made.speeds[made.speeds["own"] & (made.speeds["metric"] == timing.STEP)]
    assert data[["ratio", "low", "high"]].to_numpy() == pytest.approx(
        mine[["ratio", "ci_low", "ci_high"]].to_numpy(float)
    )
    (picture,) = Ratios().blocks(made)
    assert isinstance(picture, Picture)
    assert "6 processes" in picture.caption
    with style.context():
        (ax,) = picture.draw().axes
    assert ax.get_xscale() == "log"
    low, high = ax.get_xlim()
    assert low < data["low"].min() < data["high"].max() < high
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [
        f"×{wording.exact(at)}" for at in ax.get_xticks()
    ]


def test_slopes_crossings_and_the_lines_of_the_figure(made: Material) -> None:
    blocks = list(Scaling().blocks(made))
    picture = next(block for block in blocks if isinstance(block, Picture))
    data, left = lines(made.facts, made.speeds, "recall")
    assert left == 0
    assert set(data["metric"]) == {timing.STEP, timing.MEMORY}, "the forward pass was timed at one size"
    assert sorted(set(data["size"])) == [64, 96, 128, 256, 512]
    with style.context():
        steps, memory = picture.draw().axes
    assert [tick.get_text() for tick in memory.get_xticklabels()] == ["64", "96", "128", "256", "512"]
    assert all(tick.get_text().endswith("ms") for tick in steps.get_yticklabels())
    (table,) = tables(iter(blocks))
    assert [column.heading for column in table.columns] == ["Variant", "Step", "Memory"]
    slopes = {row["variant"]: row[timing.STEP] for row in table.rows}
    assert float(slopes[LONG].split()[0]) > float(slopes["baseline"].split()[0])
    (said,) = Scaling().answers(made)
    assert said.startswith("With seq_len, the time of a training step grows as its power ")
    assert "from about seq_len 180 on" in said
    assert f"faster with the baseline than with {LONG}" in said


def test_of_many_variants_the_figure_has_those_furthest_away() -> None:
    many = {"baseline": LOGS["baseline"]} | {f"v{i}": LOGS["slow"] + 0.1 * i for i in range(12)}
    frames = [speed_frame(many, size=size, own=False) for size in SIZES]
    of = material(timed(*frames))
    data, left = lines(of.facts, of.speeds, "recall")
    assert left == 5
    assert list(dict.fromkeys(data["variant"])) == ["baseline", *(f"v{i}" for i in range(5, 12))]


def test_the_pareto_front_of_time_and_memory(made: Material) -> None:
    values = {"baseline": [0.9, 0.92], "slow": [0.95, 0.96], "same": [0.8, 0.82], LONG: [0.7, 0.72]}
    of = material(timed(*AT_OWN, values=values))
    data = cost.tradeoff(of.evidence, of.comparisons, "recall", of.speeds)
    assert cost.varying(data) == [timing.STEP, timing.MEMORY]
    known = Metric("max")
    for metric in (timing.STEP, timing.MEMORY):
        points = list(zip(data["mean"], -data[metric], strict=True))
        brute = [not any(a >= m and b >= c and (a, b) != (m, c) for a, b in points) for m, c in points]
        assert cost.front(data, metric, known) == brute
        flipped = cost.front(data.assign(mean=-data["mean"]), metric, Metric("min"))
        assert flipped == brute
    (picture,) = cost.Cost().blocks(of)
    assert isinstance(picture, Picture)
    assert "they were measured in 6 processes of their own" in picture.caption
    with style.context():
        drawn = picture.draw()
    assert [ax.get_xlabel() for ax in drawn.axes] == [cost.COSTS[timing.STEP], cost.COSTS[timing.MEMORY]]
    rings = [line for ax in drawn.axes for line in ax.lines if line.get_markersize() == cost.RING["ms"]]
    fronts = [cost.front(data, metric, known) for metric in (timing.STEP, timing.MEMORY)]
    assert [len(ring.get_xdata()) for ring in rings] == [sum(on) for on in fronts]
    assert drawn.axes[1].get_xticklabels()[0].get_text().endswith("MB")
    untimed = replace(of.facts.variants[1], parameters={"recall": 5}), *of.facts.variants[2:]
    without = replace(of.evidence, facts=replace(of.facts, variants=[of.facts.variants[0], *untimed]))
    assert "never read off training runs" in cost._caption(
        data.drop(columns=list(cost.UNITS)), without.facts, "x"
    )


TARGETS = pd.DataFrame(
    [
        (
            "baseline",
            "recall",
            "accuracy",
            0.95,
            4,
            4,
            250.0,
            200.0,
            300.0,
            0.9,
            3e9,
            *[math.nan] * 4,
            "",
            "EVERY",
        ),
        (
            *("slow", "recall", "accuracy", 0.95, 4, 3, 400.0, 300.0, 500.0, math.nan, math.nan, -150.0),
            *(-200.0, -100.0, 0.01, "worse", "1 of 4 runs never get there; EVERY"),
        ),
    ],
    columns=[
        *(
            "variant",
            "task",
            "metric",
            "target",
            "n",
            "reached",
            "steps",
            "steps_low",
            "steps_high",
            "seconds",
        ),
        *("flops", "diff", "ci_low", "ci_high", "p", "verdict", "note"),
    ],
)


def test_runs_that_never_get_there_are_counted(made: Material) -> None:
    of = replace(made, targets=TARGETS)
    (table,) = tables(TimeToTarget().blocks(of))
    base, slow = table.rows
    assert (base["reached"], base["steps"], base["seconds"], base["flops"]) == (
        "4 of 4",
        "250 [200, 300]",
        "900 ms",
        "3G",
    )
    assert (base["difference"], base["p"], base["verdict"], base["note"]) == ("–", "–", "–", "")
    assert (slow["reached"], slow["seconds"], slow["flops"], slow["verdict"]) == (
        "3 of 4",
        "–",
        "–",
        "slower (exploratory)",
    )
    assert slow["note"] == "1 of 4 runs never get there"
    assert table.caption.startswith("Until accuracy .95 on validation data")
    assert table.caption.endswith("EVERY")
    assert not TimeToTarget().applies(made)


def test_methods_say_how_speed_was_measured(made: Material) -> None:
    text = as_markdown(methods(made))
    assert (
        "Speed was measured apart from training, of a training step and a forward pass. Timed in 6 processes"
        in text
    )
    assert "Verdicts on speed are exploratory unless claimed" in text
    assert "Speed" not in as_markdown(methods(replace(made, speeds=made.speeds[:0])))
    alone = as_markdown(methods(replace(made, comparisons=made.comparisons[:0])))
    assert "Schuirmann 1987" in alone
    assert "seeds" not in alone


def test_a_table_for_a_paper(made: Material) -> None:
    found = for_paper(made)
    assert found is not None
    tabular, caption = found
    assert r"slow & 3.60" not in tabular
    assert re.search(r"slow & 6\.8\d ms & \$\\times\$1\.9", tabular)
    assert "Exploratory." in caption
    assert for_paper(replace(made, speeds=made.speeds[:0])) is None


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return StudyFolder(tmp_path, "x")


def test_a_study_that_was_only_timed_has_a_clean_page(folder: StudyFolder, evidence: Evidence) -> None:
    only = replace(evidence, trials=evidence.trials[:0], curves=evidence.curves[:0])
    folder.save_evidence(only)
    publish(folder, pytest.fail)
    text = (folder.path / "report.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == ["Answer", "Speed", "Speed ratios", "Scaling", "What was compared", "How it was run"]
    assert "timed, and not trained" in text
    for wrong in ("nan", "0 of 0", "did not learn", "No baseline run", "accuracy", "seeds", "incomplete"):
        assert not re.search(rf"\b{wrong}\b", text, re.IGNORECASE), wrong
    assert folder.comparisons() == []
    assert not {path.name for path in folder.path.iterdir()} & {"noise.csv", "stability.csv", "target.csv"}
    assert folder.answer()[0].startswith("A training step takes")
    found = report_object(folder)
    assert len(found["speed"]) == len(speeds(only))
    assert found["speed"][1]["verdict"] == "worse", "CSV and JSON know no display names"
    assert len(found["scaling"]) == len(scaling(only))
    written(found)
    assert {"speed.csv", "scaling.csv"} <= {path.name for path in folder.artifacts()}
    console = Console(file=io.StringIO(), width=80)
    from ablate.stages.publish import print_table

    print_table(folder, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= 80
    assert "slower" in shown
    assert "speed: a training step, 6 processes, noise floor" in shown
    said = describe(folder)
    assert "| slow | 6.8" in said
    assert "▼" not in said, "an exploratory row carries no filled mark"


def test_of_a_study_that_was_only_timed_claims_about_speed_are_judged_and_others_wait(
    folder: StudyFolder, evidence: Evidence
) -> None:
    about = [claim("beats", "baseline", "slow", metric="step_seconds"), claim("beats", "slow", "baseline")]
    facts = replace(evidence.facts, claims=about)
    only = replace(evidence, facts=facts, trials=evidence.trials[:0], curves=evidence.curves[:0])
    folder.path.mkdir()
    rows = [
        {"claim": c.text, "hash": c.hash, "declared": c.declared, "exploratory": c.exploratory} for c in about
    ]
    folder.write_claims(rows)
    folder.save_evidence(only)
    publish(folder, pytest.fail)
    verdicts = {row["hash"]: row["verdict"] for row in folder.claims()}
    assert verdicts == {about[0].hash: "supported", about[1].hash: ""}
    assert f"Supported: {about[0].text}." in folder.answer()
    page = (folder.path / "report.md").read_text()
    assert "| Claim | Verdict | Difference \\[95 %\\] | p (Holm) | Seeds or processes |" in page


def test_a_trained_study_shows_speed_beside_accuracy_and_drops_its_files_when_it_is_no_longer_timed(
    folder: StudyFolder, evidence: Evidence
) -> None:
    few = replace(evidence, speed=pd.concat(AT_OWN))
    folder.save_evidence(few)
    assert len(published_material(folder).speeds) == len(speeds(few))
    found = published_material(folder)
    beside = {"speed.csv": found.speeds, "scaling.csv": found.scaling}
    folder.save_verdicts(found.comparisons, found.claims, beside=beside)
    with (folder.path / "speed.csv").open() as file:
        assert {row["verdict"] for row in csv.DictReader(file)} == {"", "worse", "equivalent", "better"}
    assert not (folder.path / "scaling.csv").exists()
    folder.save_verdicts(found.comparisons, found.claims, beside={"speed.csv": found.speeds[:0]})
    assert not (folder.path / "speed.csv").exists()
