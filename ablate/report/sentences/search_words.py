"""Words about a search before and while it runs, for `ablate plan` and the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from ablate.analysis.search_table import Parameter, SearchFacts, winner_names
from ablate.analysis.widening import MAX_STEPS, GridSide
from ablate.report.words import message


def sweep_words(facts: SearchFacts, winners: int, trials: int) -> str:
    """Returns what a sweep searches, and what is judged after it; `trials`: the most that it trains."""
    then = message("plan.winners", ["the baseline", *winner_names(winners)])
    return message("plan.sweep", _settings(facts), _goal(facts, trials), then)


def tuning_words(facts: SearchFacts, variants: int, trials: int, *, each_seed: bool) -> str:
    """Returns how variants are tuned, and what is judged after it.

    trials: the most that tuning trains. each_seed: whether each seed of the study has a setting of its own.
    """
    if each_seed:
        goal = _goal(facts, trials, "plan.goal_on_each_seed")
        return message("plan.tuning_on_each_seed", _settings(facts), variants, goal, facts.at)
    chosen = message("plan.chosen", facts.at)
    return message("plan.tuning", _settings(facts), variants, _goal(facts, trials), chosen)


def _settings(facts: SearchFacts) -> str:
    """Returns `20 settings by tpe, pruned by median`."""
    return message(
        "plan.settings", facts.trials, facts.sampler, "" if facts.pruner == "none" else facts.pruner
    )


def _goal(facts: SearchFacts, trials: int, code: str = "plan.goal") -> str:
    """Returns what is optimised, on how many seeds, and by at most how many trials; `code`: that of the sentence."""
    objectives = [message("plan.objective", goal.name, goal.direction) for goal in facts.objectives]
    return message(code, objectives, len(facts.seeds), trials)


def widening_words(outer: Mapping[tuple[str, GridSide], Mapping[str, object]], trials: int) -> str:
    """Returns by which values a grid may be widened on each side; `trials`: the most that these take."""
    parts: list[str] = []
    for (path, side), values in outer.items():
        if values:
            code = "plan.widen_lower" if side == "lower" else "plan.widen_upper"
            parts.append(message(code, path, [*values]))
    if not parts:
        return message("plan.widen_nowhere")
    return message("plan.widen", MAX_STEPS, parts, trials)


def space_words(parameters: Sequence[Parameter]) -> Iterator[str]:
    """Yields the values of each searched path."""
    for parameter in parameters:
        yield message("plan.range", parameter.path, _values(parameter), parameter.when)


def _values(parameter: Parameter) -> str:
    """Returns `a, b`, or `whole numbers 1 to 8 in steps of 2 on a log scale`."""
    if parameter.choices:
        return ", ".join(map(str, parameter.choices))
    code = "plan.whole_numbers" if parameter.kind == "int" else "plan.numbers"
    step = f"{parameter.step:g}" if parameter.step else ""
    return message(code, f"{parameter.low:g}", f"{parameter.high:g}", step, parameter.log)


def fewer_winners(settings: int, winners: int, *, has_front: bool) -> str:
    """Says that fewer settings than were asked for can win."""
    if not settings:
        return message("search.no_value_at_all")
    return message("search.fewer_on_front" if has_front else "search.fewer", settings, winners)
