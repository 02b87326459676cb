"""The page of an atlas: a card for each study that makes claims, those first whose outcome surprises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ablate.base.errors import AblateError
from ablate.base.files import write_files
from ablate.core.facts import Facts
from ablate.core.names import confirming, stem
from ablate.records.folder import StudyFolder
from ablate.report.figures.forest import forest
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import EXPLORATORY, PAGE, theme
from ablate.report.page import markdown, markdown_table, marked
from ablate.report.summary import Spent, spent
from ablate.report.verdicts import claim_table, level_of, planned_rows
from ablate.report.words import Table, difference, templates
from ablate.route.claims import is_measured

# Of claims, in the order of the page: what contradicts the literature comes first. `not confirmed` is what was decided
# once, and not again on fresh seeds.
OPEN = "not confirmed"
ORDER = ("refuted", "supported", OPEN, "inconclusive")
DECIDED = ORDER[:3]
MAX_ROWS = 12  # Claims of the figure.
WIDTH = 7.2  # Inches of the figure.


@dataclass(frozen=True)
class Card:
    """One study."""

    facts: Facts
    claims: pd.DataFrame  # As `claims.csv`, with the verdict that repeating it left.
    table: Table
    spent: Spent

    @property
    def place(self) -> tuple[int, str]:
        """By the most surprising verdict."""
        return min(map(ORDER.index, self.claims["verdict"])), self.facts.study


def card(folder: StudyFolder) -> Card | None:
    """Returns what a study and its repetition found; None of one that makes no claim."""
    comparisons, claims, *_ = folder.frames()
    if claims.empty:
        return None
    again = StudyFolder(folder.results, confirming(folder.name))
    confirmed = {row["claim"]: row["verdict"] for row in again.claims()}
    is_decided = claims["verdict"] != "inconclusive"
    facts = folder.facts()
    # Seeds say nothing about what is measured, in several processes.
    measured = [claim.text for claim in facts.claims if is_measured(claim)]
    agree = (claims["verdict"] == claims["claim"].map(confirmed)) | claims["claim"].isin(measured)
    claims = claims.assign(verdict=claims["verdict"].where(~is_decided | agree, OPEN))
    table = claim_table(claims, facts, level_of(planned_rows(comparisons)))
    return Card(facts, claims, table, spent(folder.evidence()))


def write(results: Path, intro: str) -> Path:
    """Writes the page of all studies under `results`, and its figure; returns it. Raises `AblateError`."""
    folders = [each for each in StudyFolder.all(results) if each.has_report and stem(each.name) == each.name]
    cards = sorted(filter(None, map(card, folders)), key=lambda card: card.place)
    if not cards:
        raise AblateError(
            f"{results}: no report here makes a claim; run studies with --results {results} first"
        )
    with theme({**PAGE, "figure.figsize": (WIDTH, WIDTH)}):
        figure = forest(
            largest_decided(cards), "difference in accuracy; right: the first is better", zoom=False
        )
        picture = saved(figure, "atlas")["svg"]
    environment = templates(Path(__file__).parent, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(md=markdown, table=markdown_table, verdict=marked)
    counts = pd.concat([card.claims["verdict"] for card in cards]).value_counts()
    page = environment.get_template("page.md.j2").render(
        cards=cards,
        intro=intro,
        counts=[(verdict, counts.get(verdict, 0)) for verdict in ORDER],
        claims=every_claim(cards),
    )
    write_files(results, {"atlas.svg": picture, "README.md": page})
    return results / "README.md"


def every_claim(cards: list[Card]) -> list[dict[str, str]]:
    """Returns the list of all claims, what contradicts the field first: rows of study, claim, verdict, difference."""
    rows = [row | {"study": card.facts.study} for card in cards for row in card.table.rows]
    return sorted(rows, key=lambda row: ORDER.index(row["verdict"]))


def largest_decided(cards: list[Card]) -> pd.DataFrame:
    """Returns the decided claims on accuracy, grouped by verdict, as `figures.forest` draws them: at most `MAX_ROWS`.

    What contradicts the field comes first; of the rest, those with the largest differences.
    """
    rows = pd.concat(card.claims.assign(label=[row["claim"] for row in card.table.rows]) for card in cards)
    rows = rows[rows["metric"].str.startswith("accuracy") & rows["verdict"].isin(DECIDED)]
    rows = rows.assign(rank=rows["verdict"].map(ORDER.index), size=-rows["diff"].abs())
    rows = rows.sort_values(["rank", "size"], kind="stable", ignore_index=True)
    if len(rows) > MAX_ROWS:
        is_refuted = rows["verdict"] == "refuted"
        others = rows[~is_refuted].nsmallest(MAX_ROWS - int(is_refuted.sum()), "size")
        rows = rows.loc[sorted([*rows.index[is_refuted], *others.index])].reset_index(drop=True)
    told = [
        difference(*ends).partition(" ")[0] for ends in rows[["diff", "ci_low", "ci_high"]].to_numpy(float)
    ]
    ends = {"diff": "value", "ci_low": "low", "ci_high": "high"}
    return rows.rename(columns=ends).assign(
        group=rows["verdict"],
        placebo=False,
        verdict=rows["verdict"].replace(OPEN, EXPLORATORY),
        told=told,
    )
