"""The view in which MLflow opens a study: the columns of the table of runs, and the charts.

MLflow keeps the columns of a table in the browser, and those of a view that is shared in a tag of the experiment. Its
keys are those of the pages of MLflow 3.17; a page passes over a key that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ablate.core.facts import StudyFacts
from ablate.core.metric import plain, validated
from ablate.core.stages import FINAL
from ablate.tracking.names import CURVES, clean_key

# The key of the view, which is part of the addresses that `ablate ui` prints.
VIEW = "ablate"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
# Widths of columns, in pixels.
_WIDE = 200
_WIDTH = 110
_NARROW = 75
# A smoothed mean lies outside of the range of its seeds.
_NOT_SMOOTHED: Mapping[str, Any] = {"lineSmoothness": 0, "useGlobalLineSmoothing": False}
# The sections of the charts and whether they are open: ours, then those that MLflow makes of the keys of metrics.
_JUDGED_CURVES = "Judged metric"
_SECTIONS = {_JUDGED_CURVES: True, CURVES: True, "Model metrics": False}


def view_of(facts: StudyFacts) -> str:
    """Returns the view of a study's final runs: a row a seed, charts with a line a variant."""
    metrics = [facts.column]
    for task in facts.tasks:
        metrics.extend(task.metrics)
    columns = ["tags.`variant`", "tags.`seed`"]
    if len(facts.tasks) > 1:
        columns.insert(0, "tags.`task`")
    columns += [f"metrics.`{clean_key(metric)}`" for metric in dict.fromkeys(metrics)]
    widths = dict.fromkeys(columns, _WIDTH)
    widths["tags.`seed`"] = widths["duration"] = _NARROW
    widths = {"attributes.`Run Name`": _WIDE, "runDateAndNestInfo": 2 * _NARROW, **widths}
    view = {
        "searchFilter": f"tags.stage = '{FINAL}'",
        # Names of runs begin with task and variant, and end with the seed.
        "orderByKey": "tags.`mlflow.runName`",
        "orderByAsc": True,
        "selectedColumns": columns,
        "columnOrder": [*widths],
        "columnWidths": widths,
        "runsHiddenMode": "SHOW_ALL",
        "groupBy": {
            "aggregateFunction": "average",
            "groupByKeys": [{"mode": "tag", "groupByData": "label"}],
        },
        "compareRunCharts": _charts(facts),
        "compareRunSections": [_section(name, is_open) for name, is_open in _SECTIONS.items()],
        "isAccordionReordered": True,  # Else MLflow would sort our section among the others.
        "hideEmptyCharts": True,
    }
    return json.dumps(view)


def _charts(facts: StudyFacts) -> list[Mapping[str, Any]]:
    """Returns a chart over steps of the judged metric on validation data, and as own code reports it; bars of its last
    value.

    MLflow hides the charts that no run has values for.
    """
    metric = plain(facts.metric)
    charts: list[Mapping[str, Any]] = []
    for name in (validated(metric), metric):
        key = clean_key(f"{CURVES}/{name}")
        charts.append(
            _chart("LINE", key) | {"selectedMetricKeys": [key], "xAxisKey": "step", **_NOT_SMOOTHED}
        )
    charts.append(_chart("BAR", clean_key(facts.column)))
    return charts


def _chart(kind: str, key: str) -> dict[str, Any]:
    """Returns a chart of one metric."""
    return {
        "type": kind,
        "uuid": f"{VIEW}-{kind}-{key}",
        "metricKey": key,
        "metricSectionId": f"{VIEW}-{_JUDGED_CURVES}",
        "runsCountToCompare": 100,
        "deleted": False,
        "isGenerated": False,
    }


def _section(name: str, is_open: bool) -> dict[str, Any]:
    """Returns a section of the charts."""
    section = {
        "uuid": f"{VIEW}-{name}",
        "name": name,
        "display": is_open,
        "isReordered": False,
        "deleted": False,
        "isGenerated": name != _JUDGED_CURVES,
    }
    if name == _JUDGED_CURVES:
        section |= {"columns": 1, "cardHeight": 440}
    return section
