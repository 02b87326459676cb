"""Words about the data behind verdicts: only what the records show, or what the study states."""

from collections.abc import Iterable

from ablate.analysis.search_table import Objective, SearchTable, search_table_of
from ablate.core.data_statement import EACH_SEED, FIXED, HELD_OUT, NOT_STATED, DataStatement
from ablate.core.facts import Evidence, StudyFacts, TaskFacts
from ablate.core.spelling import spelled
from ablate.report.words import message

BUILTIN_SPLITS = {EACH_SEED: "split_builtin", FIXED: "split_builtin_fixed"}
"""The split of the data of a built-in task → the code of its words."""


def stated_of(facts: StudyFacts) -> DataStatement | None:
    """Returns what the study states of the data of its code; None for built-in tasks, which describe their data."""
    if facts.is_given:
        return DataStatement()
    statements = [task.stated for task in facts.tasks if task.stated is not None]
    return statements[0] if statements else None


def pairs_share_data(facts: StudyFacts) -> bool:
    """Returns whether runs of one seed are known to share their data: on built-in tasks that no variant changes."""
    if stated_of(facts) is not None:
        return False
    changed_sections: set[str] = set()
    for variant in facts.variants:
        changed_sections |= {path.split(".")[0] for path in variant.levels}
    return "task" not in changed_sections


def is_held_out(facts: StudyFacts) -> bool:
    """Returns whether the study states that nothing trains, tunes or stops on its test examples."""
    stated = stated_of(facts)
    return stated is not None and stated.test == HELD_OUT


def pool_codes(facts: StudyFacts) -> list[str]:
    """Returns a code for each kind of test data of the tasks."""
    return _unique(_test_code(task, facts) for task in facts.tasks)


def _test_code(task: TaskFacts, facts: StudyFacts) -> str:
    """Returns the code for the test data of one task."""
    stated = stated_of(facts)
    if stated is None:
        return task.sampling.pool
    if facts.is_given and task.sampling.pool == "held_out":
        return "by_example"
    return "stated_held_out" if stated.test == HELD_OUT else NOT_STATED


def split_codes(facts: StudyFacts) -> list[str]:
    """Returns a code for how data were divided into training and validation.

    Empty where built-in tasks draw fresh data, and where no record shows the split.
    """
    stated = stated_of(facts)
    if stated is not None:
        return [f"split_{stated.split}"]
    splits = [task.split for task in facts.tasks if task.sampling.pool == HELD_OUT]
    return _unique(BUILTIN_SPLITS[split] for split in splits if split in BUILTIN_SPLITS)


def _unique(codes: Iterable[str]) -> list[str]:
    """Returns codes in their order, each once."""
    return list(dict.fromkeys(codes))


def pool_words(facts: StudyFacts) -> str:
    """Returns what is known of the test data, in words."""
    return "; ".join(message(f"data.{code}") for code in pool_codes(facts))


def split_words(facts: StudyFacts) -> str:
    """Returns how data were divided, in words; "" where built-in tasks draw fresh data."""
    return "; ".join(message(f"data.{code}") for code in split_codes(facts))


def step_words(facts: StudyFacts) -> str:
    """Returns which value of the metric counts, in words."""
    stated = stated_of(facts)
    if stated is None or facts.is_given:
        return message(f"data.{facts.at}")
    return message("data.best_by", spelled(stated.by)) if stated.by else message("data.last_reported")


def chosen_by_judged(evidence: Evidence) -> bool:
    """Returns whether a search chose settings by the judged metric, for want of one on other data."""
    facts = evidence.facts
    if facts.plan.searched == "path":
        return stated_of(facts) is not None and f"validation_{facts.metric}" not in facts.tasks[0].metrics
    searched = search_table_of(evidence)
    if searched is None:
        return False
    unvalidated = [objective.name for objective in searched.facts.objectives if _is_unvalidated(objective)]
    return facts.metric in unvalidated


def measured_on_judged(searched: SearchTable) -> bool:
    """Returns whether an objective was measured on the judging data, as code does that reports no other numbers."""
    return any(_is_unvalidated(objective) for objective in searched.facts.objectives)


def _is_unvalidated(objective: Objective) -> bool:
    """Returns whether an objective is a metric of a workload that measures none on validation data."""
    return objective.source == "own"
