"""The paragraph on the statistical methods of a study."""

import re

from ablate.analysis.family import family_size
from ablate.analysis.runs import Runs, solving_metric
from ablate.core.derived import DERIVED
from ablate.core.facts import StudyFacts
from ablate.report.data_words import (
    chosen_by_judged,
    pairs_share_data,
    pool_codes,
    split_codes,
    stated_of,
    step_words,
)
from ablate.report.methods import METHODS as METHODS_OF_STAGES
from ablate.report.page import markdown
from ablate.report.replanned import plan_lines
from ablate.report.section import ReportData
from ablate.report.verdicts import planned_rows, shared_rate
from ablate.report.words import message

TITLE = "Statistical methods"


def methods(report_data: ReportData) -> str:
    """Returns the paragraph “Statistical methods”, filled in with the numbers of a study.

    Empty where the study planned no comparison and timed nothing. It cites papers of `templates/references.bib` by
    key, as `[@akiba2019optuna]`, which pandoc reads as it stands.
    """
    facts = report_data.facts
    planned = planned_rows(report_data.comparisons)
    measured = " ".join(
        filter(None, (methods_of(report_data.evidence) for methods_of in METHODS_OF_STAGES.values()))
    )
    if not planned and not measured:
        return ""
    sides = Runs(report_data.evidence).sides()
    by_rate = [task for task in facts.tasks if task.outcome == "all_or_nothing"]
    return message(
        "methods.paragraph",
        facts=facts,
        m=family_size(facts) if planned else 0,
        variants=sum(not variant.placebo for variant in facts.variants[1:]),
        data=[*pool_codes(facts), *split_codes(facts)],
        share_data=pairs_share_data(facts),
        step=step_words(facts),
        stated=stated_of(facts) is not None,
        judged_again=chosen_by_judged(report_data.evidence),
        solved=[
            (task.name, name, task.metrics[name])
            for task in by_rate
            if (name := solving_metric(task, facts.metric))
        ],
        graded=len(by_rate) < len(facts.tasks),
        crossed=len(report_data.evidence.examples) > 0,
        by_source="source" in report_data.evidence.examples,
        claimed={DERIVED[claim.metric].kind for claim in facts.claims if claim.metric in DERIVED},
        runs=sum(int(side.asked.sum()) for side in sides),
        diverged=sum(side.diverged for side in sides),
        missing=sum(int((side.asked & ~side.ended).sum()) for side in sides),
        rate=shared_rate(facts),
        tuned=bool(facts.searched) or any(variant.tuned for variant in facts.variants),
        floored=_have_floors(facts),
        features=" ".join([*plan_lines(report_data), measured]),
    )


def _have_floors(facts: StudyFacts) -> bool:
    """Returns whether the primary metric has a floor, with which diverged runs count, on all tasks."""
    judged = [task.metrics[facts.metric] for task in facts.tasks if facts.metric in task.metrics]
    return all(metric.floor is not None for metric in judged)


def as_markdown(words: str) -> str:
    """Returns the paragraph with citations as pandoc reads them."""
    cited = re.sub(r"\\\[(@[a-z0-9@; ]+)\\\]", r"[\1]", markdown(words))
    return f"## {TITLE}\n\n{cited}\n"
