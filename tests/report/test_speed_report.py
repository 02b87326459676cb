"""Speed in words, tables and figures."""

import pytest
from made_speed import speed_frame, timed
from timings import AT_OWN, LOGS, LONG, SIZES, logs, report_data, study

from ablate.base import wording
from ablate.core.metric import Metric
from ablate.report.export.paper import Wanted
from ablate.report.export.paper import for_paper as export
from ablate.report.figures.theme import theme
from ablate.report.section import Picture, Table, unfolded
from ablate.report.sections import cost
from ablate.report.sections.speed import Scaling, Speed, by_size
from ablate.report.tables import speed_tables as timing
from ablate.report.words import rows_of


@pytest.fixture(scope="module")
def made():
    return report_data(study())


def tables(blocks):
    return [block for block in unfolded(blocks) if isinstance(block, Table)]


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (12.0, "12.0 s"), (1.0, "1.00 s"), (0.9999, "1.00 s"), (0.00321, "3.21 ms"), (0.0999, "99.9 ms"),
        (412e-6, "412 µs"), (3.2e-8, "32.0 ns"), (1234.0, "1234 s"), (0.0, "0 ns"),
    ],
)  # fmt: skip
def test_short_times_have_three_digits(time, said):
    assert wording.seconds(time) == said


@pytest.mark.slow
def test_what_lies_beyond_noise_and_two_percent(made):
    own = [row for row in rows_of(made.table("speed")) if row["own"] and row["metric"] == timing.STEP]
    assert [row["variant"] for row in own if timing.beyond(row)] == ["slow", LONG]
    assert not timing.beyond(own[1] | {"slack": 2.0})
    assert not timing.beyond(own[1] | {"slack": float("nan")})


def test_each_task_has_its_own_sentence_and_table():
    tasks = {name: {"accuracy": Metric("max")} for name in ("recall", "copy")}
    of = report_data(timed(*(speed_frame(logs(), task=name) for name in tasks), tasks=tasks))
    assert [said.split(":")[0] for said in Speed().answers(of)] == ["recall", "copy"]
    brief = list(timing.brief_tables(rows_of(of.table("speed")), {}))
    assert [f" on {task} " in table.caption for task, table in zip(tasks, brief, strict=True)] == [True, True]


def test_the_slopes_and_the_lines_of_the_figure(made):
    blocks = list(Scaling().blocks(made))
    picture = next(block for block in blocks if isinstance(block, Picture))
    data, left = by_size(made.table("speed"), "recall")
    assert left == 0
    assert set(data["metric"]) == {timing.STEP, timing.MEMORY}, "the forward pass was timed at one size"
    assert sorted(set(data["size"])) == [64, 96, 128, 256, 512]
    assert picture.data.equals(data), "tests/report/figures/test_scaling.py sees to how it is drawn"
    (table,) = tables(iter(blocks))
    assert [column.heading for column in table.columns] == ["Variant", "Step", "Memory"]
    slopes = {row["variant"]: row[timing.STEP] for row in table.rows}
    assert float(slopes[LONG].split()[0]) > float(slopes["baseline"].split()[0])


@pytest.mark.slow
def test_of_many_variants_the_figure_has_those_furthest_away():
    many = {"baseline": LOGS["baseline"]} | {f"v{i}": LOGS["slow"] + 0.1 * i for i in range(12)}
    frames = [speed_frame(many, size=size, own=False) for size in SIZES]
    of = report_data(timed(*frames))
    data, left = by_size(of.table("speed"), "recall")
    assert left == 5
    assert list(dict.fromkeys(data["variant"])) == ["baseline", *(f"v{i}" for i in range(5, 12))]


@pytest.mark.slow
def test_accuracy_against_time_and_memory():
    values = {"baseline": [0.9, 0.92], "slow": [0.95, 0.96], "same": [0.8, 0.82], LONG: [0.7, 0.72]}
    of = report_data(timed(*AT_OWN, values=values))
    data = cost.tradeoff(of.evidence, "recall", of.tables)
    assert [shown.column for shown in cost.varying(data)] == [timing.STEP, timing.MEMORY]
    (picture,) = cost.Cost().blocks(of)
    assert isinstance(picture, Picture)
    with theme():
        steps, memory = picture.draw().axes
    assert [steps.get_xlabel(), memory.get_xlabel()] == [timing.COSTS[name][0] for name in timing.COSTS]
    assert all(label.get_text().endswith(" ms") for label in steps.get_xticklabels())
    assert all(label.get_text().endswith(" MB") for label in memory.get_xticklabels())


@pytest.mark.slow
def test_what_is_exported_has_names_of_its_own(made):
    found = export(made, Wanted(3.25, ["speed", "scaling"]), pytest.fail)
    ends = ("pdf", "svg", "tex")
    assert sorted(found) == sorted([*(f"{name}.{end}" for name in ("speed", "scaling") for end in ends)])
