"""The files of an atlas: its page, its figure and its registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ablate.analysis.replication import RepeatedVerdict, replication_statistics
from ablate.base.errors import AblateError
from ablate.base.files import destination, write_whole
from ablate.report.atlas.by_construction import Constructed, read_constructed
from ablate.report.atlas.figure import ORDER, figure_panels
from ablate.report.atlas.published import (
    DECIDED_ONCE,
    ClaimsOfStudies,
    PublishedClaim,
    PublishedRun,
    PublishedStudy,
    published_studies,
)
from ablate.report.atlas.registry import REGISTRY, registry
from ablate.report.atlas.tables import (
    BEYOND,
    claims_table,
    constructed_table,
    is_out_of_reach,
    out_of_reach_table,
    replication_table,
    trend_lines,
)
from ablate.report.figures.atlas import FEW, LINEAR, Panel
from ablate.report.figures.atlas import claims as draw_claims
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import PAGE, theme
from ablate.report.page import markdown, markdown_table
from ablate.report.sections.runs import one_line, paragraphs
from ablate.report.sentences.improving_words import all_improving
from ablate.report.words import Table, message, templates

PICTURE = "atlas.svg"
PAGE_FILE = "README.md"
MARK = "<!-- Written by `ablate atlas`. -->"
"""The end of every page: one without it is no atlas."""
WIDTH = 9.0
"""Inches of the figure."""
TEMPLATES = Path(__file__).parents[1] / "templates"


@dataclass(frozen=True)
class Step:
    """A run that a card links to: its heading, its command, which may be empty, the folder of its report, its cost."""

    purpose: str
    command: str
    report: str
    cost: str
    """The trainings and the minutes, as its trials took them; empty where nothing was trained."""


@dataclass(frozen=True)
class Card:
    """A study with those of its claims that are shown on its card."""

    study: PublishedStudy
    claims: Sequence[PublishedClaim]

    @property
    def place(self) -> tuple[bool, int, str]:
        """The key by which cards are sorted: what is trained, the most surprising verdict, the name."""
        is_measured = all(claim.is_measured for claim in self.claims)
        return is_measured, min(ORDER.index(claim.verdict) for claim in self.claims), self.study.facts.study

    @property
    def found(self) -> list[str]:
        """The notes of the study, a line a paragraph; empty without any."""
        return [one_line(paragraph) for paragraph in paragraphs(self.study.facts.notes)]

    @property
    def table(self) -> Table:
        """The claims of the card."""
        return claims_table(self.study, self.claims)

    @property
    def all_improving(self) -> bool:
        """True where each side of several claims was still improving when training ended."""
        return all_improving([vars(claim.row) for claim in self.claims], self.study.facts)

    @property
    def trends(self) -> list[str]:
        """The sentences on how differences grow along the conditions."""
        return trend_lines(self.study)

    @property
    def steps(self) -> list[Step]:
        """The commands that repeat it: its run, then those of its confirmation on fresh seeds."""
        confirming = [_step("atlas.confirm", run) for run in self.study.confirming_runs]
        return [_step("atlas.repeat", self.study.run), *confirming]


@dataclass(frozen=True)
class SortedClaims:
    """The claims of an atlas by where they stand on its page."""

    on_cards: ClaimsOfStudies
    out_of_reach: ClaimsOfStudies
    """The claims that would take far more seeds than they have, or something else than seeds."""


def _step(purpose: str, run: PublishedRun) -> Step:
    """Returns the step that repeats a published run; purpose: the key of its heading."""
    spent = run.spent
    cost = message("atlas.cost", spent.trainings, _minutes(spent.seconds)) if spent.trainings else ""
    return Step(message(purpose), run.command, quote(run.name), cost)


def _minutes(seconds: float) -> int:
    """Returns whole minutes, at least one."""
    return max(1, round(seconds / 60))


def _hours_in_words(studies: Sequence[PublishedStudy]) -> str:
    """Returns the sentence on the hours of one core that all trainings took; empty for half an hour or less."""
    seconds = 0.0
    for study in studies:
        seconds += sum(run.spent.seconds for run in (study.run, *study.confirming_runs))
    hours = round(seconds / 3600)
    return message("atlas.took", hours) if hours else ""


def write_atlas(results: Path, intro: str, by_construction: Path | None = None) -> Path:
    """Writes the page of all studies under `results`, its figure and its registry; returns the page.

    by_construction: the CSV file of what proofs and counts decide. Raises `AblateError`, also where a file of the same
    name is no atlas.
    """
    targets = {name: destination(results / name) for name in (PAGE_FILE, PICTURE, REGISTRY)}
    _refuse_other_files(results)
    studies = published_studies(results)
    if not studies:
        raise AblateError(
            f"{results}: no report here makes a claim; run studies with --results {results} first"
        )
    constructed: list[Constructed] = []
    if by_construction is not None:
        ids: set[str] = set()
        for study in studies:
            ids |= {claim.id for claim in study.claims}
        constructed = read_constructed(by_construction, ids)

    claims = sorted_claims(studies, constructed)
    panels = figure_panels(claims.on_cards)
    page = _page(studies, intro, constructed, claims, panels)
    files = {REGISTRY: registry(studies).to_csv(index=False).encode(), PAGE_FILE: page.encode()}
    if panels:
        files[PICTURE] = _figure(panels)
    for name, content in files.items():
        write_whole(targets[name], content)
    return results / PAGE_FILE


def _refuse_other_files(results: Path) -> None:
    """Raises `AblateError` where the page, or another file without a page, is not one that an atlas has left."""
    page = results / PAGE_FILE
    if page.exists():
        others = [] if MARK in page.read_text("utf-8", "replace") else [PAGE_FILE]
    else:
        others = [name for name in (PICTURE, REGISTRY) if (results / name).exists()]
    if others:
        path = results / others[0]
        raise AblateError(f"{path}: was not written by `ablate atlas`; rename or move it first")


def sorted_claims(studies: Sequence[PublishedStudy], constructed: Sequence[Constructed]) -> SortedClaims:
    """Returns the claims of studies by where they stand on the page, without those that follow from a constructed
    statement.

    A study whose claims are all out of reach keeps them on its card if fresh seeds gave one of its comparisons again.
    """
    elsewhere: set[str] = set()
    for statement in constructed:
        elsewhere |= {*statement.claim_ids}

    on_cards: list[tuple[PublishedStudy, PublishedClaim]] = []
    out_of_reach: list[tuple[PublishedStudy, PublishedClaim]] = []
    for study in studies:
        claims = [claim for claim in study.claims if claim.id not in elsewhere]
        far = [claim for claim in claims if is_out_of_reach(claim)]
        keeps_card = len(far) == len(claims) and study.repeats_verdict
        for claim in claims:
            place = out_of_reach if claim in far and not keeps_card else on_cards
            place.append((study, claim))
    return SortedClaims(on_cards, out_of_reach)


def cards_of(claims: ClaimsOfStudies) -> list[Card]:
    """Returns a card for each study of some claims, those with the most surprising verdicts first."""
    studies = {study.facts.study: study for study, _ in claims}
    cards = []
    for name, study in studies.items():
        cards.append(Card(study, [claim for of, claim in claims if of.facts.study == name]))
    return sorted(cards, key=lambda card: card.place)


def _figure(panels: Sequence[Panel]) -> bytes:
    """Returns the figure of some claims and of their conditions, as SVG."""
    with theme({**PAGE, "figure.figsize": (WIDTH, WIDTH)}):
        figure = draw_claims(panels)
        return saved(figure, "atlas")["svg"]


def _counts(claims: Sequence[PublishedClaim]) -> list[tuple[str, int]]:
    """Returns the verdicts of some claims with how many have each."""
    verdicts = [claim.verdict for claim in claims]
    return [(verdict, verdicts.count(verdict)) for verdict in ORDER if verdict in verdicts]


def _page(
    studies: Sequence[PublishedStudy],
    intro: str,
    constructed: Sequence[Constructed],
    claims: SortedClaims,
    panels: Sequence[Panel],
) -> str:
    """Returns the text of the page; `panels`: those of its figure."""
    repeated: list[RepeatedVerdict] = []
    published: list[PublishedClaim] = []
    for study in studies:
        repeated += study.repeated
        published += study.claims
    out_of_reach = claims.out_of_reach
    environment = templates(TEMPLATES, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(md=markdown, table=markdown_table)
    return environment.get_template("atlas.md.j2").render(
        intro=intro,
        replication=replication_table(replication_statistics(repeated), published) if repeated else None,
        num_published=len(published),
        took=_hours_in_words(studies),
        counts=_counts([claim for claim in published if not claim.is_measured]),
        measured=_counts([claim for claim in published if claim.is_measured]),
        decided_once=DECIDED_ONCE,
        registry=REGISTRY,
        picture=PICTURE if panels else "",
        num_shown=sum(len(panel.rows) for panel in panels),
        num_claims=len(claims.on_cards),
        has_log=any(panel.is_log for panel in panels),
        linear=LINEAR,
        few=FEW,
        cards=cards_of(claims.on_cards),
        constructed=constructed_table(constructed) if constructed else None,
        out_of_reach=out_of_reach_table(out_of_reach) if out_of_reach else None,
        out_of_reach_studies=list(dict.fromkeys(study.facts.study for study, _ in out_of_reach)),
        beyond=BEYOND,
        mark=MARK,
    )
