"""The trials that `--only`, `--condition` and `--seed` ask for."""

from collections.abc import Iterable, Sequence

from ablate.base.errors import Problem, StudyError, listed, nearest
from ablate.base.wording import seeds_in_words
from ablate.core.facts import BASELINE
from ablate.core.trial import Cell


def requested(
    cells: Sequence[Cell],
    only: Sequence[str] = (),
    seed: int | None = None,
    conditions: Sequence[str] = (),
) -> list[Cell]:
    """Returns the cells of some variants with the baseline, in some conditions, and of one seed; or all cells.

    Raises `StudyError` for a variant, a condition or a seed that no cell has.
    """
    problems = _unknown(only, [cell.variant for cell in cells], "variant", "--only")
    problems += _unknown(conditions, [cell.task for cell in cells], "condition", "--condition")
    seeds = {cell.seed for cell in cells}
    if seed is not None and seed not in seeds:
        allowed = seeds_in_words(seeds)
        problems.append(Problem("is not a seed of the study", given=seed, allowed=allowed, source="--seed"))
    if problems:
        raise StudyError(problems)
    wanted = list(cells)
    if only:
        wanted = [cell for cell in wanted if cell.variant == BASELINE or cell.variant in only]
    if conditions:
        wanted = [cell for cell in wanted if cell.task in conditions]
    if seed is not None:
        wanted = [cell for cell in wanted if cell.seed == seed]
    return wanted


def _unknown(asked: Iterable[str], names: Iterable[str], kind: str, option: str) -> list[Problem]:
    """Returns a problem for each name that an option asks for and no cell has; `kind`: what it names."""
    names = [name for name in dict.fromkeys(names) if name]
    rule = f"is not a {kind} of the study"
    problems: list[Problem] = []
    for name in asked:
        if name not in names:
            hint = nearest(name, names)
            problems.append(Problem(rule, given=name, allowed=listed(names), hint=hint, source=option))
    return problems
