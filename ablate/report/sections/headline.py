"""The answer to a study's question, the noise in a line, and, folded, what the verdicts rest on.

The answer is in the past tense: what was found on these seeds, at these settings. Other seeds may find otherwise.
"""

from collections.abc import Iterator, Sequence

from ablate.analysis.learning import Learned, baseline_learned, convergence
from ablate.analysis.noise import noise
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.core.data_statement import NOT_STATED
from ablate.core.facts import BASELINE, Evidence, StudyFacts, TaskFacts
from ablate.core.metric import Metric
from ablate.core.short_names import level_name
from ablate.core.spelling import spelled
from ablate.report.data_words import chosen_by_judged, is_held_out, pool_codes
from ablate.report.repeats import repeat_lines
from ablate.report.replanned import plan_lines
from ablate.report.section import Block, Folded, Items, ReportData, Section, Text, applying, failed
from ablate.report.verdict_words import apart_from_zero
from ablate.report.verdicts import (
    compared_with,
    direction_of,
    is_share,
    names_of,
    own_direction,
    planned_rows,
    row_name,
    shared_rate,
    shown_as,
)
from ablate.report.words import Row, because, difference, message, number, rows_of, text

MATTERS = 0.25  # The share of the variance over seeds from which on a larger test set is worth a word.
DECIDED = ("better", "worse")
VERBS = {
    "max": {"worse": "fell", "better": "rose"},
    "min": {"worse": "rose (worse)", "better": "fell (better)"},
}


class Headline(Section, title="Answer", needs_trials=False):
    """The answers and the findings of all sections."""

    def __init__(self, below: Sequence[Section]) -> None:
        self._below = below

    def accent(self, report_data: ReportData) -> str:
        found = [] if report_data.evidence.only_measured else baseline_learned(report_data.evidence)
        return ("green" if all(one.ok for one in found) else "orange") if found else "soft"

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        if lines := self.answers(report_data):
            yield Items(lines, "lead")
        if report_data.evidence.only_measured:
            yield Text(message("answer.only_timed"))
            return
        yield from map(Text, gaps(report_data.evidence))
        yield from map(Text, [*noise_lines(report_data), *standing_lines(report_data)])
        yield from map(Text, [*plan_lines(report_data), *repeat_lines(report_data)])
        found = limits(report_data)
        for section in applying(self._below, report_data):
            try:
                found += section.findings(report_data) if section.applies(report_data) else []
            except Exception as error:
                yield failed(f"What “{section.title}” has found", error)
        if found := [*found, *report_data.facts.cautions]:
            yield Folded(message("limits.title", len(found)), [Items(found, "findings")])

    def answers(self, report_data: ReportData) -> list[str]:
        """A paragraph a task, then what other sections answer: those of a search, of speed."""
        rows, missed = planned_rows(report_data.comparisons), baseline_learned(report_data.evidence)
        not_learned = {one.task: learned(one, report_data.facts) for one in missed if not one.ok}
        found = [
            of_task(here, task, report_data, not_learned.get(task.name, ""))
            for task in report_data.facts.tasks
            if (here := [row for row in rows if row["task"] == task.name])
        ]
        if found and (line := baseline_line(report_data.facts)):
            found.append(line)
        for section in applying(self._below, report_data):
            found += section.answers(report_data) if section.applies(report_data) else []
        return found


def baseline_line(facts: StudyFacts) -> str:
    """What everything is compared with: its levels, its size, and the settings that were tuned for it."""
    names, first, task = names_of(facts), facts.variants[0], facts.tasks[0].name
    levels = [names[f"{path}={of[0]}"] for path, of in facts.factors.items()]
    # Settings differ between tasks, and a sentence has room for those of one.
    tuned = first.tuned.get(task, {}) if len(facts.tasks) == 1 else {}
    chosen, size = [level_name(*of) for of in tuned.items()], first.parameters.get(task)
    known = levels or chosen or size
    return message("answer.baseline", levels, size, chosen, facts.searched == "sweep") if known else ""


def of_task(rows: Sequence[Row], task: TaskFacts, report_data: ReportData, not_learned: str = "") -> str:
    """What differs, what is equivalent, and what is open; the largest effect first."""
    facts, names, known = (
        report_data.facts,
        names_of(report_data.facts),
        task.metrics[report_data.facts.metric],
    )
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    odd = any(row["verdict"] in DECIDED or apart_from_zero(row) for row in rows if row["variant"] in placebos)
    rows = [row for row in rows if row["variant"] not in placebos]
    rows = sorted(rows, key=lambda row: -abs(number(row["diff"]) or 0.0))
    groups: dict[str, list[str]] = {verdict: [] for verdict in (*DECIDED, "equivalent", "solved")}
    unclear: dict[str, list[str]] = {}
    for row in rows:
        verdict, name = row["verdict"], row_name(row, names)
        if verdict == "inconclusive":
            unclear.setdefault(because(text(row["reason"]), short=True, unit=facts.unit), []).append(name)
        elif verdict == "equivalent":
            apart = apart_from_zero(row)
            groups[verdict].append(f"{name} ({apart})" if apart else name)
        elif (solved := number(row["solved_variant"])) is not None:
            groups["solved"].append(message("answer.solving", int(solved), name))
        else:
            size = _amount(abs(row["diff"]), known, (row["ci_high"] - row["ci_low"]) / 2)
            groups[verdict].append(message("answer.effect", size, name))
    # Whoever searches asks first what won.
    order = DECIDED if facts.searched == "sweep" else DECIDED[::-1]
    return message(
        "answer.task",
        task=task.name if len(facts.tasks) > 1 else "",
        placebo=odd,
        not_learned=not_learned,
        metric=spelled(facts.metric),
        seeds=sorted({int(row["n"]) for row in rows if row["n"]}),
        rate=shared_rate(facts),
        effects=[
            (VERBS[known.direction][verdict], effects) for verdict in order if (effects := groups[verdict])
        ],
        solved=groups["solved"],
        baseline=next((row for row in rows if number(row["solved_variant"]) is not None), {}),
        margin=_amount(facts.margin or 0.0, known),
        against=compared_with(facts),
        equivalent=groups["equivalent"],
        inconclusive=list(unclear.items()),
        given=facts.given,
    )


def _amount(value: float, metric: Metric, uncertainty: float | None = None) -> str:
    """`7 points` of a share such as an accuracy, `0.11` of a loss: to the first digit that the uncertainty touches, or
    exactly where there is none.
    """
    scale = 100 if is_share(metric) else 1
    shown = wording.exact(scale * value)
    if uncertainty is not None:
        shown = wording.number(scale * value, max(0, wording.decimals(scale * uncertainty) - 1))
    return message("answer.points", shown) if is_share(metric) else shown


def learned(found: Learned, facts: StudyFacts) -> str:
    """`reached accuracy 0.962 on digits (guessing: 0.1)`, or how many of its runs solved the task."""
    # As exact as its spread lets it be told.
    return message(
        "answer.learned", found, wording.number(found.mean, wording.decimals(found.spread)), facts.unit
    )


def noise_lines(report_data: ReportData) -> Iterator[str]:
    """A line for each task: how far the baseline spreads over seeds, what is detectable, and its placebo."""
    if report_data.evidence.only_measured:
        return
    found = noise(report_data.evidence, report_data.comparisons)
    found.loc[found["test_share"] < MATTERS, "test_share"] = None
    found = found.astype(object).where(found.notna(), None)
    for row in rows_of(found):
        sizes = [row[name] for name in ("mde", "mde_low", "mde_high") if row[name] is not None]
        told = [shown_as(size, row["by_rate"], row["n"]) for size in sizes]
        placebo = _placebo(row, report_data.facts)
        row["unit"] = report_data.facts.unit
        yield message(
            "noise.line", row, len(found) > 1, told, bool(report_data.facts.variants[0].rivals), placebo
        )


def _placebo(row: Row, facts: StudyFacts) -> str:
    """Returns the difference of the placebo with its interval, in the direction of the metric; else nothing."""
    if row["placebo_diff"] is None:
        return ""
    oriented = {"diff": row["placebo_diff"], "ci_low": row["placebo_low"], "ci_high": row["placebo_high"]}
    turned = own_direction(oriented, direction_of(facts, row["task"], row["metric"]))
    return difference(turned["diff"], turned["ci_low"], turned["ci_high"])


def gaps(evidence: Evidence) -> Iterator[str]:
    """What is missing of the runs that were planned."""
    baseline = evidence.trials[evidence.trials["variant"] == BASELINE]
    if not baseline["status"].isin(["completed", "diverged"]).any():
        yield message("limits.no_baseline")
    if missing := sum(int((side.asked & ~side.ended).sum()) for side in Runs(evidence).sides()):
        yield message("limits.missing", missing, evidence.facts.planned)


def standing_lines(report_data: ReportData) -> list[str]:
    """Returns one line on what holds for all verdicts: unfinished trainings, one rate, how settings were chosen."""
    evidence, facts = report_data.evidence, report_data.facts
    if evidence.only_measured or not planned_rows(report_data.comparisons):
        return []
    names, trend = names_of(facts), convergence(evidence)
    improving = [names[variant] for variant in trend.loc[trend["improving"], "variant"].drop_duplicates()]
    said = []
    if improving:
        said.append(message("limits.improving", improving, len(improving) == len(facts.variants) > 1))
    if rate := shared_rate(facts):
        said.append(message("limits.rate", rate))
    if facts.rates:
        said.append(message("limits.rates", *_rates(facts)))
    if chosen_by_judged(evidence):
        said.append(message("limits.chosen_by_judged", facts.metric, is_held_out(facts)))
    return [" ".join(said)] if said else []


def _rates(facts: StudyFacts) -> tuple[str, list[str]]:
    """Returns the learning rate of the baseline, and `0.01 with wide` of each variant that has another."""
    names = names_of(facts)
    baseline = facts.rates.get(facts.variants[0].name, "")
    others: dict[str, list[str]] = {}
    for variant, rate in facts.rates.items():
        if rate != baseline:
            others.setdefault(rate, []).append(names[variant])
    return baseline, [message("limits.rate_of", rate, variants) for rate, variants in others.items()]


def limits(report_data: ReportData) -> list[str]:
    """Whether the baseline learned, and what else the verdicts rest on."""
    evidence, facts = report_data.evidence, report_data.facts
    found, runs = baseline_learned(evidence), Runs(evidence)
    data = pool_codes(facts)
    said = {
        "learned": [learned(one, facts) for one in found if one.ok],
        "unknown_learned": not found,
        "left_out": facts.left_out,
        "groups" if facts.has_seeds else "groups_of_runs": [
            task.name for task in facts.tasks if runs.suspect(task, facts.metric)
        ],
        "looks": facts.looks and facts,
        "given": facts.given,
        "held_out": "held_out" in data,
        "by_example": "by_example" in data and facts.given != "documents",
        "stated_held_out": "stated_held_out" in data,
        "resplit": "resplit" in data,
    }
    sentences = [message(f"limits.{code}", value) for code, value in said.items() if value]
    if NOT_STATED in data:
        sentences.append(message("limits.not_stated", bool(facts.given)))
    return sentences
