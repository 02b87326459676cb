"""The figure of many studies' claims, and which of them it shows."""

import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from reports import unlearned

from ablate.core.facts import Claim
from ablate.report.atlas import OPEN, SHOWN, Card, every_claim, shown_claims
from ablate.report.figures.atlas import claims
from ablate.report.figures.theme import PAGE, theme
from ablate.report.summary import Spent
from ablate.report.tables.claim_tables import claim_table
from figures.looks import assert_readable, intervals


def card(name: str, verdicts: list[str], metric: str = "accuracy") -> Card:
    facts = unlearned().facts
    texts = [f"a beats baseline on {metric} by 0.{i}1" for i in range(len(verdicts))]
    known = [Claim(text, "beats", metric, ["a"], ["baseline"], 0.05) for text in texts]
    rows = [
        {
            "claim": text,
            "metric": metric,
            "task": facts.tasks[0].name,
            "verdict": verdict,
            "diff": 0.1 + i / 50,
        }
        for i, (text, verdict) in enumerate(zip(texts, verdicts, strict=True))
    ]
    frame = pd.DataFrame(rows).assign(
        ci_low=0.02, ci_high=0.4, n=8, reason="", exploratory=False, solved_variant=float("nan")
    )
    facts = type(facts)(**{**vars(facts), "study": name, "claims": known})
    return Card(facts, frame, claim_table(frame, facts, "95 %"), Spent(10, 60.0))


@pytest.fixture(scope="module")
def cards() -> list[Card]:
    return [
        card("01-many", ["supported"] * 9 + ["inconclusive"] * 9),
        card("02-some", ["refuted", OPEN, "supported"]),
        card("03-loss", ["refuted", "supported"], metric="loss"),
    ]


def test_of_each_verdict_the_largest_on_accuracy_are_shown_with_how_many_there_are(cards):
    shown = shown_claims(cards)
    counts = shown["group"].value_counts(sort=False).to_dict()
    assert counts == {
        "refuted: 1 of 2": 1, "supported: 4 of 11": 4, f"{OPEN}: 1 of 1": 1, "inconclusive: 2 of 9": 2,
    }  # fmt: skip
    assert len(shown) <= sum(SHOWN.values()) == 12
    assert not shown["metric"].eq("loss").any(), "the axis is one of accuracy"
    supported = shown[shown["group"].str.startswith("supported")]
    assert supported["value"].min() >= 0.1 + 5 / 50
    assert shown["label"].str.contains(r"\(0\d-", regex=True).all(), "each names its study"


def test_the_list_has_every_claim_what_contradicts_first(cards):
    rows = every_claim(cards)
    assert len(rows) == 23
    assert [row["verdict"] for row in rows[:3]] == ["refuted", "refuted", "supported"]


@pytest.mark.slow
def test_its_figure_has_an_interval_and_a_tick_for_each_claim(cards):
    shown = shown_claims(cards)
    with theme({**PAGE, "figure.figsize": (7.2, 7.2)}):
        figure = claims(shown, "difference in accuracy")
        assert_readable(figure)
        (ax,) = figure.axes
        assert len(intervals(ax)) == len(shown)
        ticks = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
        assert sum(len(drawn.get_segments()) for drawn in ticks) >= 2 * len(shown)


def test_claims_on_other_metrics_alone_have_no_figure(cards):
    assert shown_claims([cards[2]]).empty
