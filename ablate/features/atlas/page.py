"""The page of an atlas: a card for each study that makes claims, those first whose outcome surprises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.base.errors import AblateError
from ablate.base.files import write_files
from ablate.core.facts import Claim, Facts
from ablate.core.names import confirming, stem
from ablate.records.folder import StudyFolder
from ablate.report.draw import marks, style
from ablate.report.draw.style import MARKS, colour
from ablate.report.page import markdown, markdown_table
from ablate.report.verdicts import claim_table, level_of, planned_rows
from ablate.report.words import Table, in_lines, templates
from ablate.route.claims import is_measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of claims, in the order of the page: what contradicts the literature comes first. `not confirmed` is what was decided
# once, and not again on fresh seeds.
OPEN = "not confirmed"
ORDER = ("refuted", "supported", OPEN, "inconclusive")


@dataclass(frozen=True)
class Card:
    """One study."""

    facts: Facts
    claims: pd.DataFrame  # As `claims.csv`, with the verdict that repeating it left.
    table: Table
    trainings: int
    minutes: float  # Of training and tuning, on one core.

    @property
    def place(self) -> tuple[int, str]:
        """By the most surprising verdict."""
        return min(map(ORDER.index, self.claims["verdict"])), self.facts.study


def card(folder: StudyFolder) -> Card | None:
    """What a study and its repetition found; None of one that makes no claim."""
    comparisons, claims, *_ = folder.frames()
    if claims.empty:
        return None
    again = StudyFolder(folder.results, confirming(folder.name))
    confirmed = {row["claim"]: row["verdict"] for row in again.claims()}
    decided = claims["verdict"] != "inconclusive"
    facts, spent = folder.facts(), [pd.read_parquet(path) for path in folder.path.glob("*.parquet")]
    # Seeds say nothing about what is measured, in several processes.
    measured = [claim.text for claim in facts.claims if is_measured(claim)]
    agree = (claims["verdict"] == claims["claim"].map(confirmed)) | claims["claim"].isin(measured)
    claims = claims.assign(verdict=claims["verdict"].where(~decided | agree, OPEN))
    spent = [frame for frame in spent if "train_seconds" in frame]
    # A setting that a search tried was trained on several seeds.
    trainings = sum(int(frame["seeds"].sum()) if "seeds" in frame else len(frame) for frame in spent)
    table = claim_table(claims, facts, level_of(planned_rows(comparisons)))
    return Card(
        facts, claims, table, trainings, sum(np.nansum(frame["train_seconds"]) for frame in spent) / 60
    )


def write(results: Path, intro: str) -> Path:
    """Writes the page of all studies under `results`, and its figure; returns it. Raises `AblateError`."""
    folders = [each for each in StudyFolder.all(results) if each.has_report and stem(each.name) == each.name]
    cards = sorted(filter(None, map(card, folders)), key=lambda card: card.place)
    if not cards:
        raise AblateError(
            f"{results}: no report here makes a claim; run studies with --results {results} first"
        )
    with style.context():
        picture = style.saved(draw(cards), "atlas")["svg"]
    environment = templates(Path(__file__).parent, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(md=markdown, table=markdown_table)
    counts = pd.concat([card.claims["verdict"] for card in cards]).value_counts()
    page = environment.get_template("page.md.j2").render(
        cards=cards, intro=intro, counts=[(v, counts.get(v, 0)) for v in ORDER]
    )
    write_files(results, {"atlas.svg": picture, "README.md": page})
    return results / "README.md"


def draw(cards: list[Card]) -> Figure:
    """Every claim, decided ones first: its interval, and what it would have to exceed or lie within; each row on a
    scale of its own.
    """
    labelled = [
        card.claims.assign(label=[f"{card.facts.study}: {row['claim']}" for row in card.table.rows])
        for card in cards
    ]
    rows = pd.concat(labelled).sort_values(
        "verdict", key=lambda verdicts: verdicts.map(ORDER.index), kind="stable"
    )
    labels = [in_lines(label, 3 * marks.LABEL, 1) for label in rows["label"]]
    margins = {claim.text: _margins(claim) for card in cards for claim in card.facts.claims}
    words = "difference, each row on a scale of its own, right is better; ticks: the margin that is claimed"
    figure, (ax,) = marks.axes(labels, [(-1.08, 1.08)], words, pitch=0.17)
    figure.set_figwidth(1.5 * figure.get_figwidth())
    ax.axvline(0.0, color=colour("line"), lw=0.8, zorder=1)
    ax.set_xticks([0.0])
    for y, (_, row) in enumerate(rows.iterrows()):
        ends, margin = row[["diff", "ci_low", "ci_high"]].to_numpy(float), margins[row["claim"]]
        scale = np.nanmax(np.abs([*ends, *margin, 1e-12]))
        mark = MARKS.get(row["verdict"], MARKS["inconclusive"])
        shade = colour(mark.colour)
        ax.vlines(np.divide(margin, scale), y - 0.3, y + 0.3, color=colour("ink"), lw=1.2, zorder=2)
        ax.hlines(y, *(ends[1:] / scale), color=shade, lw=1.6)
        ax.scatter(ends[0] / scale, y, s=30, marker=mark.marker, fc=shade, ec="white", lw=0.6, zorder=4)
    marks.write_right(ax, dict(enumerate(rows["verdict"])), colour("ink"))
    return figure


def _margins(claim: Claim) -> list[float]:
    """What the interval must lie above, or between."""
    return {"matches": [-claim.by, claim.by], "does_not_lose": [-claim.by]}.get(claim.kind, [claim.by])
