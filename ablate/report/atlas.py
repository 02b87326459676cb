"""The page of an atlas: a card for each study that makes claims, those first whose outcome surprises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import pandas as pd

from ablate.base.errors import AblateError
from ablate.base.files import destination, write_whole
from ablate.core.derived import is_measured
from ablate.core.facts import Claim, StudyFacts
from ablate.core.names import confirming, stem
from ablate.records.folder import StudyFolder
from ablate.report.figures.atlas import claims
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import EXPLORATORY, PAGE, theme
from ablate.report.page import markdown, markdown_table, marked
from ablate.report.sentences.levels import level_of_claims
from ablate.report.summary import Spent, spent
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import Table, difference, templates

# Of claims, in the order of the page: what contradicts the literature comes first. `not confirmed` is what was decided
# once, and not again on fresh seeds.
OPEN = "not confirmed"
ORDER = ("refuted", "supported", OPEN, "inconclusive")
# Verdict → the most claims of the figure that have it.
SHOWN = {"refuted": 3, "supported": 4, OPEN: 3, "inconclusive": 2}
PICTURE = "atlas.svg"
PAGE_FILE = "README.md"
HEADING = "| Claim | Verdict | Difference | Study |"  # Of the table of claims: a page without it is no atlas.
WIDTH = 7.2  # Inches of the figure.


@dataclass(frozen=True)
class Card:
    """A study with its claims and its cost."""

    facts: StudyFacts
    claims: pd.DataFrame  # As `claims.csv`, with the verdict that repeating it left.
    table: Table
    spent: Spent

    @property
    def place(self) -> tuple[int, str]:
        """The key by which cards are sorted: the most surprising verdict, then the name."""
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
    table = claim_table(claims, facts, level_of_claims(planned_rows(comparisons), facts))
    return Card(facts, claims, table, spent(folder.evidence()))


def write(results: Path, intro: str) -> Path:
    """Writes the page of all studies under `results`, and its figure; returns it.

    Raises `AblateError`, also where a page or figure of the same name is no atlas.
    """
    targets = {name: destination(results / name) for name in (PAGE_FILE, PICTURE)}
    _refuse_another_page(results, targets[PAGE_FILE], targets[PICTURE])
    folders = [each for each in StudyFolder.all(results) if each.has_report and stem(each.name) == each.name]
    cards = sorted(filter(None, map(card, folders)), key=lambda each: each.place)
    if not cards:
        raise AblateError(
            f"{results}: no report here makes a claim; run studies with --results {results} first"
        )
    shown = shown_claims(cards)
    files: dict[str, bytes] = {}
    if len(shown):
        with theme({**PAGE, "figure.figsize": (WIDTH, WIDTH)}):
            figure = claims(
                shown, "difference in accuracy; right: the first is better; ticks: what is claimed"
            )
            files[PICTURE] = saved(figure, "atlas")["svg"]
    environment = templates(Path(__file__).parent / "templates", trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(md=markdown, table=markdown_table, verdict=marked)
    counts = every_verdict(cards).value_counts()
    page = environment.get_template("atlas.md.j2").render(
        cards=cards,
        intro=intro,
        counts=[(verdict, counts.get(verdict, 0)) for verdict in ORDER],
        claims=every_claim(cards),
        picture=PICTURE if files else "",
        heading=HEADING,
        shown=len(shown),
    )
    for name, content in {**files, PAGE_FILE: page.encode()}.items():
        write_whole(targets[name], content)
    return results / PAGE_FILE


def _refuse_another_page(results: Path, page: Path, picture: Path) -> None:
    """Raises `AblateError` where the page, or the figure without a page, is not one that `write` has left."""
    if page.exists():
        is_other = HEADING not in page.read_text("utf-8", "replace")
        name = PAGE_FILE
    else:
        is_other = picture.exists()
        name = PICTURE
    if is_other:
        raise AblateError(f"{results / name}: was not written by `ablate atlas`; rename or move it first")


def every_claim(cards: list[Card]) -> list[dict[str, str]]:
    """Returns the list of all claims, what contradicts the field first: rows of study, claim, verdict, difference."""
    rows = []
    for card in cards:
        rows += [row | {"study": card.facts.study} for row in card.table.rows]
    return sorted(rows, key=lambda row: ORDER.index(row["verdict"]))


def shown_claims(cards: list[Card]) -> pd.DataFrame:
    """Returns the claims on accuracy that the figure shows, as `figures.atlas` draws them: at most twelve.

    Of each verdict as many as `SHOWN` says, those with the largest differences; what contradicts the field comes first.
    """
    parts = []
    for card in cards:
        margins = {claim.text: _margins(claim) for claim in card.facts.claims}
        parts.append(
            card.claims.assign(
                study=card.facts.study,
                words=[row["claim"] for row in card.table.rows],
                margins=[margins.get(text, []) for text in card.claims["claim"]],
            )
        )
    every = pd.concat(parts, ignore_index=True)
    every = every[every["metric"].str.startswith("accuracy") & every["diff"].notna()]
    groups = []
    for verdict, most in SHOWN.items():
        rows = every[every["verdict"] == verdict]
        total = int((every_verdict(cards) == verdict).sum())
        largest = rows.loc[rows["diff"].abs().nlargest(most).index]
        groups.append(largest.assign(group=f"{verdict}: {len(largest)} of {total}"))
    rows = pd.concat(groups, ignore_index=True)
    told = [
        difference(*ends).partition(" ")[0] for ends in rows[["diff", "ci_low", "ci_high"]].to_numpy(float)
    ]
    return rows.rename(columns={"diff": "value", "ci_low": "low", "ci_high": "high"}).assign(
        label=rows["words"] + " (" + rows["study"] + ")",
        placebo=False,
        verdict=rows["verdict"].replace(OPEN, EXPLORATORY),
        told=told,
    )


def every_verdict(cards: list[Card]) -> pd.Series:
    """Returns the verdicts of all claims."""
    return pd.concat([card.claims["verdict"] for card in cards], ignore_index=True)


def _margins(claim: Claim) -> list[float]:
    """Returns what the interval of a claim must lie above, or between."""
    match claim.kind:
        case "beats" | "interaction" | "gains":
            return [claim.by]
        case "matches":
            return [-claim.by, claim.by]
        case "does_not_lose":
            return [-claim.by]
        case _:
            assert_never(claim.kind)
