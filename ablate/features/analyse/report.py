"""From runs that exist to the folder of a report, with its evidence card. What is wrong raises `AblateError`."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ablate.base.errors import Gather
from ablate.base.files import write_text
from ablate.core import names
from ablate.core.metric import Metric
from ablate.features.analyse.runs import evidence_of
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown, markdown_table
from ablate.report.terminal import summary
from ablate.route.console import warn
from ablate.route.publish import publish


def metrics_of(asked: Mapping[str, Any]) -> dict[str, Metric]:
    """What the options declare: the metric that is judged, and those that claims may use."""
    name, bounds = asked["metric"], [asked[of] for of in ("resolution", "floor", "ceiling", "all_or_nothing")]
    with Gather() as at:
        at.refuse(name in dict(asked["also"]), "--also", "must name another metric than --metric", name)
        lacking = bounds[-1] is not None and None in bounds
        at.refuse(lacking, "--all-or-nothing", "takes --floor and --ceiling")
    return {name: Metric(asked["direction"], *bounds), **{of: Metric(way) for of, way in asked["also"]}}


def judge(folder: StudyFolder, rows: pd.DataFrame, asked: Mapping[str, Any]) -> None:
    """Writes the report of runs, and `card.md`: the verdicts with what they rest on, to paste."""
    with Gather() as at:
        other = folder.path.exists() and not (folder.has_report and folder.facts().given)
        improper = not re.fullmatch(names.OWN, folder.name) or folder.name in names.RESERVED
        rule = "must be the name of a new report, or of one of runs that exist"
        at.refuse(other or improper, "--name", rule, folder.name, "letters, digits, `.`, `_`, `-`")
    evidence = evidence_of(rows, metrics_of(asked), asked, folder.name)
    folder.save_evidence(evidence)
    folder.write_claims([])  # Those of an earlier call are none of this one.
    publish(folder, warn)
    facts = evidence.facts
    lines = [f"### {markdown(facts.question)}", *map(markdown, folder.answer())]
    lines += [f"{markdown_table(table)}\n\n{markdown(table.caption)}." for table in summary(folder)]
    lines += [f"- {markdown(caution)}" for caution in facts.cautions]
    lines += [f"<sub>`{facts.environment['command']}`, {facts.reported[:10]}</sub>"]
    write_text(folder.path / "card.md", "\n\n".join(lines) + "\n")
