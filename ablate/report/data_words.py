"""What a report may say of the data behind its verdicts: what is known, or what the study states, and nothing else."""

from collections.abc import Iterable

from ablate.analysis.search_table import Objective, SearchTable, table_of
from ablate.core.data_statement import EACH_SEED, FIXED, HELD_OUT, NOT_STATED, DataStatement
from ablate.core.facts import Evidence, StudyFacts, TaskFacts
from ablate.core.spelling import spelled
from ablate.report.words import message

# How a task of ours divided its data → the code of its words.
OWN_SPLITS = {EACH_SEED: "split_own", FIXED: "split_own_fixed"}


def stated_of(facts: StudyFacts) -> DataStatement | None:
    """Returns what the study states of the data of its code; None where the code is ours, which says it itself."""
    if facts.given:
        return DataStatement()
    statements = [task.stated for task in facts.tasks if task.stated is not None]
    return statements[0] if statements else None


def pairs_share_data(facts: StudyFacts) -> bool:
    """Returns whether runs of one seed have the same data, as of our tasks, unless a variant changes the task."""
    if stated_of(facts) is not None:
        return False
    paths = [path for variant in facts.variants for path in variant.levels]
    return not any(path.split(".")[0] == "task" for path in paths)


def is_held_out(facts: StudyFacts) -> bool:
    """Returns whether the study states that nothing trains, tunes or stops on its test examples."""
    stated = stated_of(facts)
    return stated is not None and stated.test == HELD_OUT


def pool_codes(facts: StudyFacts) -> list[str]:
    """Returns a code for each kind of test data of the tasks."""
    return _unique(_test_code(task, facts) for task in facts.tasks)


def _test_code(task: TaskFacts, facts: StudyFacts) -> str:
    stated = stated_of(facts)
    if stated is None:
        return task.sampling.pool
    if facts.given and task.sampling.pool == "held_out":
        return "by_example"
    return "stated_held_out" if stated.test == HELD_OUT else NOT_STATED


def split_codes(facts: StudyFacts) -> list[str]:
    """Returns a code for how data were divided into training and validation.

    None where tasks of ours draw them anew, or where nothing tells.
    """
    stated = stated_of(facts)
    if stated is not None:
        return [f"split_{stated.split}"]
    splits = [task.split for task in facts.tasks if task.sampling.pool == HELD_OUT]
    return _unique(OWN_SPLITS[split] for split in splits if split in OWN_SPLITS)


def _unique(codes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(codes))


def pool_words(facts: StudyFacts) -> str:
    """Returns what is known of the test data in words, for how a study was run."""
    return "; ".join(message(f"data.{code}") for code in pool_codes(facts))


def split_words(facts: StudyFacts) -> str:
    """Returns how data were divided in words; nothing where the tasks draw them anew."""
    return "; ".join(message(f"data.{code}") for code in split_codes(facts))


def step_words(facts: StudyFacts) -> str:
    """Returns which value of the metric counts in words."""
    stated = stated_of(facts)
    if stated is None or facts.given:
        return message(f"data.{facts.at}")
    return message("data.best_by", spelled(stated.by)) if stated.by else message("data.last_reported")


def chosen_by_judged(evidence: Evidence) -> bool:
    """Returns whether a search chose settings by the number that is judged, since nothing measured it on other data."""
    facts = evidence.facts
    if facts.searched == "path":
        return stated_of(facts) is not None and f"validation_{facts.metric}" not in facts.tasks[0].metrics
    searched = table_of(evidence)
    if searched is None:
        return False
    return any(
        _is_own(objective) and objective.name == facts.metric for objective in searched.facts.objectives
    )


def measured_on_judged(searched: SearchTable) -> bool:
    """Returns whether an objective was measured on the data that judge, as of code that reports nothing on others."""
    return any(_is_own(objective) for objective in searched.facts.objectives)


def _is_own(objective: Objective) -> bool:
    return objective.source == "own"
