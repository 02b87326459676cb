"""Words about a grid that was widened, and about chosen values at its edge."""

from collections.abc import Sequence

from ablate.analysis.next_values import goes_on
from ablate.analysis.search_table import Parameter, SearchFacts
from ablate.analysis.widening import MAX_STEPS, AddedValue, GridSide
from ablate.report.words import message


def edge_words(search: SearchFacts, path: str, side: GridSide, variants: Sequence[str]) -> str:
    """Says that the best value of a path lies at an edge for some variants, and what was, or can be, done about it."""
    if search.added is None:
        return message("search.edge_to_widen" if _can_widen(search) else "search.edge", path, side, variants)
    num_added = sum((value.path, value.side) == (path, side) for value in search.added)
    if num_added == MAX_STEPS:
        return message("search.edge_after", path, side, num_added, variants)
    return message("search.edge_at_limit", path, side, variants)


def _can_widen(search: SearchFacts) -> bool:
    """Returns whether `widen` takes a search: a grid over choices that are words, or numbers that follow a rule."""
    return search.sampler == "grid" and all(_goes_on_or_has_words(path) for path in search.parameters)


def _goes_on_or_has_words(parameter: Parameter) -> bool:
    """Returns whether the choices of a path go on by a rule, or are words, which nothing is added to."""
    if parameter.kind != "choice":
        return False
    try:
        numbers = sorted(float(label) for label in parameter.choices)
    except ValueError:
        return True
    return goes_on(numbers)


def added_words(added: Sequence[AddedValue]) -> str:
    """Says which values were added to the grid, and after which round of searches."""
    if not added:
        return message("search.none_added")
    return message("search.added", _added_values(added))


def _added_values(added: Sequence[AddedValue]) -> list[str]:
    """Returns `learning rate 0.1 after round 1` for each value."""
    return [message("search.added_value", one.path, one.value, one.round) for one in added]


def rounds_of(added: Sequence[AddedValue], path: str) -> str:
    """Returns `0.1: 1, 0.3: 2`: the values that were added to a path, each with the round after which it was."""
    return ", ".join(f"{one.value}: {one.round}" for one in added if one.path == path)


def widening_method(added: Sequence[AddedValue] | None) -> str:
    """Says by which rule the grid was widened, and by which values; nothing where it was to stay as it is given."""
    if added is None:
        return ""
    if not added:
        return message("search.method_of_widening_by_none", MAX_STEPS)
    return message("search.method_of_widening", MAX_STEPS, _added_values(added))
