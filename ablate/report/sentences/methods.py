"""The work of the stages of a study, in sentences: for the methods of a paper, and for `How it was run`."""

from collections.abc import Callable, Mapping

from ablate.analysis.search_table import SearchTable, search_table_of
from ablate.base.wording import brief
from ablate.core.facts import Evidence
from ablate.core.speed import RUN_TIMES
from ablate.core.speed_facts import BUSY, SpeedFacts
from ablate.core.stress_facts import StressFacts
from ablate.report.sentences.widening_words import widening_method
from ablate.report.words import message, paragraph, text


def search_methods(evidence: Evidence) -> str:
    """Says what was searched, and with which budget."""
    table = search_table_of(evidence)
    if table is None:
        return ""
    facts = table.facts
    if evidence.facts.plan.searched == "sweep":
        return message("search.method_of_sweep", _num_settings(table), table.paths)
    code = "search.method_of_tuning"
    if facts.chooses_each_seed(evidence.facts.seeds):
        code = "search.method_of_tuning_each_seed"
    tuning = message(code, _num_settings(table), len(facts.seeds), table.paths)
    at_one = message("search.method_of_tuning_at", facts.at) if facts.at else ""
    return paragraph(tuning, at_one, widening_method(facts.added))


def _num_settings(table: SearchTable) -> int:
    """Returns the most different settings that were tried for a variant on a task; a sampler may repeat some."""
    tried = table.trials.drop_duplicates(["variant", "task", *table.paths])
    return int(tried.groupby(["variant", "task"], dropna=False).size().max())


def speed_methods(evidence: Evidence) -> str:
    """Says in how many processes and blocks variants were timed, on what, and what is made of it."""
    speed = evidence.facts.of(SpeedFacts)
    timed = evidence.frame(SpeedFacts)
    if speed is None or timed.empty:
        return ""
    blocks = round(timed["blocks"].astype(float).median())
    busy = timed["busy"].astype(float).mean()
    processes = timed["process"].nunique()
    of_runs = not {*speed.calls}.isdisjoint(RUN_TIMES)
    if of_runs:
        measured = message("speed.runs_measured", processes, text(speed.machine))
    else:
        measured = message("speed.measured", processes, blocks, speed.threads, text(speed.machine))
    if busy >= BUSY:
        measured = paragraph(measured, message("speed.busy", busy))
    return message("methods.speed", measured, "blocks" if of_runs else "processes")


def stress_methods(evidence: Evidence) -> str:
    """Says over which learning rates variants were trained."""
    stress = evidence.facts.of(StressFacts)
    if stress is None:
        return ""
    return message("methods.stress", stress.path, [brief(rate) for rate in stress.rates])


METHODS: Mapping[str, Callable[[Evidence], str]] = {
    "Search": search_methods,
    "Speed": speed_methods,
    "Stress": stress_methods,
}
"""Term → the sentences on it; empty where a study has none."""
