"""Words about what main effects hide: changes that depend on one another, as `analysis.interactions` finds clear."""

from collections.abc import Mapping, Sequence

from ablate.base.wording import plus
from ablate.core.facts import StudyFacts, TaskFacts
from ablate.report.words import Column, Row, decimals, difference, is_true, message, number, text

MOST_ANSWERED = 3
"""The interactions that the answer names."""


def is_main_effect(row: Row, facts: StudyFacts) -> bool:
    """Returns whether a row compares levels of a factor over the cells of a crossed design, and not two variants."""
    return all(row["baseline"] != variant.name for variant in facts.variants)


def is_clear(row: Row) -> bool:
    """Returns whether a row of interactions says that main effects hide what their levels do."""
    return is_true(row.get("clear"))


def dependence_sentence(
    rows: Sequence[Row],
    task: TaskFacts,
    facts: StudyFacts,
    names: Mapping[str, str],
    *,
    scale: float = 1.0,
) -> str:
    """Returns the sentence on the changes of a task that interact clearly, the largest first; "" where none do.

    scale: 100 where shares are in percent.
    """
    clear = [row for row in rows if row["task"] == task.name and is_clear(row)]
    if not clear:
        return ""
    clear.sort(key=lambda row: -abs(number(row["diff"]) or 0.0))
    told = []
    for clear_row in clear[:MOST_ANSWERED]:
        row = _scaled(clear_row, scale)
        first = text(row["first"])
        second = text(row["second"])
        effects = _effects(row, first, task, facts, names)
        size = _size(row, task, facts)
        told.append(
            message("interaction.dependent", names[first], names[second], size, facts.metric, effects)
        )
    return message("interaction.depend", told, len(clear) - len(told))


def dependence_column(facts: StudyFacts, interactions: Sequence[Row], names: Mapping[str, str]) -> Column:
    """Returns the column of what the main effect of a row hides, below it."""
    tasks = {task.name: task for task in facts.tasks}
    clear = [row for row in interactions if is_clear(row)]

    def dependence(row: Row) -> str:
        if not is_main_effect(row, facts):
            return ""
        level = text(row["variant"])
        notes = []
        for interaction in clear:
            if interaction["task"] == row["task"] and level in (interaction["first"], interaction["second"]):
                effects = _effects(interaction, level, tasks[row["task"]], facts, names)
                notes.append(message("interaction.apart", effects))
        return message("interaction.note", notes) if notes else ""

    return Column("dependence", "Interaction", below=True, show=dependence)


def _effects(row: Row, level: str, task: TaskFacts, facts: StudyFacts, names: Mapping[str, str]) -> list[str]:
    """Returns `+0.10 with b 0` and `−0.10 with b 1`: the effects of a level where the other factor has either level."""
    is_first = row["first"] == level
    other = text(row["second" if is_first else "first"])
    path = other.partition("=")[0]
    base = f"{path}={facts.factors[path][0]}"
    alone = float(row["first_alone" if is_first else "second_alone"])
    joint = alone + float(row["diff"])
    sign = _sign(task, facts)
    places = decimals(row["ci_low"], row["ci_high"])
    return [
        message("interaction.effect", plus(sign * alone, places), names[base]),
        message("interaction.effect", plus(sign * joint, places), names[other]),
    ]


def _scaled(row: Row, scale: float) -> Row:
    """Returns a row of interactions with its numbers times `scale`."""
    columns = ("diff", "ci_low", "ci_high", "first_alone", "second_alone")
    return {**row, **{column: scale * float(row[column]) for column in columns}}


def _size(row: Row, task: TaskFacts, facts: StudyFacts) -> str:
    """Returns an interaction with its interval, in the direction of the metric."""
    low = float(row["ci_low"])
    high = float(row["ci_high"])
    if _sign(task, facts) > 0:
        return difference(row["diff"], low, high)
    return difference(-float(row["diff"]), -high, -low)


def _sign(task: TaskFacts, facts: StudyFacts) -> int:
    """Returns −1 where less of the metric is better: tables keep differences oriented."""
    return -1 if task.metrics[facts.metric].direction == "min" else 1
