"""The trials that `--only` and `--seed` ask for."""

from collections.abc import Sequence

from ablate.base.errors import Problem, StudyError, listed, nearest
from ablate.core.facts import BASELINE
from ablate.core.trial import Cell
from ablate.study.sections import in_words


def requested(cells: Sequence[Cell], only: Sequence[str] = (), seed: int | None = None) -> list[Cell]:
    """Returns the cells of some variants with the baseline, and of one seed; or all cells.

    Raises `StudyError` for a variant or a seed that no cell has.
    """
    problems: list[Problem] = []
    names = list(dict.fromkeys(cell.variant for cell in cells))
    for name in only:
        if name not in names:
            rule = "is not a variant of the study"
            hint = nearest(name, names)
            problems.append(Problem(rule, given=name, allowed=listed(names), hint=hint, source="--only"))
    seeds = {cell.seed for cell in cells}
    if seed is not None and seed not in seeds:
        allowed = in_words(sorted(seeds))
        problems.append(Problem("is not a seed of the study", given=seed, allowed=allowed, source="--seed"))
    if problems:
        raise StudyError(problems)
    wanted = list(cells)
    if only:
        wanted = [cell for cell in wanted if cell.variant == BASELINE or cell.variant in only]
    if seed is not None:
        wanted = [cell for cell in wanted if cell.seed == seed]
    return wanted
