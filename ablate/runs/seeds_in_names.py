"""Seeds in the names of runs: found by a pattern, and taken out of the names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from ablate.base.errors import Invalid, listed, nearest
from ablate.runs.settings import NUMBER_AT_END

SEED_AT_END = r"[\s_.,/=(\[-]+(?:s|seed|rep|run)[\s_=-]?([0-9]+)[)\]]?$"
"""The end of the name of a run that says its seed, as in `wide_s3` and `Wide (Seed 3)`."""
_MARKS = " _-/.,="
"""What is left of a name at the place of its seed."""
_OF_LETTERS = re.compile(r"[A-Za-z]+[\s_=-]?(\d+)")
"""A seed that letters precede, such as `s0`."""


def ends_with_seeds(table: pd.DataFrame, variants: Sequence[str]) -> bool:
    """Returns whether the names of all runs end with a seed, of which some variant has several."""
    if len(variants) > 1:
        return False
    names = table[variants[0]]
    shorter = names.str.replace(SEED_AT_END, "", case=False, regex=True)
    return bool((shorter != names).all() and shorter.duplicated().any())


def with_seeds(table: pd.DataFrame, variants: Sequence[str], pattern: str) -> pd.DataFrame:
    """Returns a table with a column `seed`, which a pattern finds in the names of variants and takes out of them.

    Raises `Invalid` for a pattern that does not find one number in each name.
    """
    names: list[str] = []
    matches = seed_matches(table[variants[0]], pattern, table.columns)
    for name, match in zip(table[variants[0]], matches, strict=True):
        rest = name[: match.start()] + name[match.end() :]
        names.append(rest.strip(_MARKS))
    return table.assign(**{variants[0]: names, "seed": [match[match.lastindex or 0] for match in matches]})


def checked_pattern(pattern: str, columns: Iterable[object]) -> str:
    """Returns the pattern of `--seed`. Raises `Invalid` for one that is none, with the columns it might have meant."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise Invalid(
            "--seed", f"is neither a column nor a pattern: {error}", pattern, listed(map(str, columns))
        ) from None
    return pattern


def seed_matches(names: pd.Series, pattern: str, columns: Collection[object]) -> list[re.Match[str]]:
    """Returns the match of a pattern in each name, whose last group is the seed.

    columns: what `--seed` may name beside a pattern. Raises `Invalid` for a pattern that does not find one number in
    each name.
    """
    compiled = re.compile(checked_pattern(pattern, columns), re.IGNORECASE)
    matches: list[re.Match[str]] = []
    for place, name in names.items():
        match = compiled.search(name)
        if match is None or not match[match.lastindex or 0].isdecimal():
            rule = "is no column, and a pattern must find a number in the name of each run"
            hint = nearest(pattern, map(str, columns)) or "For example: --seed '_s([0-9]+)'"
            raise Invalid("--seed", rule, f"{pattern!r} in {name!r} ({place})", listed(columns), hint)
        matches.append(match)
    return matches


def whole_seeds(texts: pd.Series) -> pd.Series:
    """Returns seeds without the letters before them, where all have the same: `s0`, `seed_1`."""
    matches = texts.str.fullmatch(_OF_LETTERS)
    prefixes = texts.str.replace(r"\d+$", "", regex=True)
    if not len(texts) or not matches.all() or prefixes.nunique() > 1:
        return texts
    return texts.str.replace(_OF_LETTERS, r"\1", regex=True)


def hint_of_numbers(baseline: str, names: Iterable[str]) -> str:
    """Returns how to say that the numbers at the ends of names are seeds, where the baseline stands before some."""
    is_numbered = any(re.fullmatch(rf"{re.escape(baseline)}[_-]\d+", name) for name in names)
    return (
        f"Where the numbers at the ends of names are seeds: --seed '{NUMBER_AT_END}'" if is_numbered else ""
    )


def holds_name(column: pd.Series, baseline: str, pattern: str) -> bool:
    """Returns whether the baseline is a value of a column, or one less the seed that a pattern finds."""
    values = column.unique()
    if baseline in values:
        return True
    return baseline in [re.sub(pattern, "", value, flags=re.IGNORECASE).strip(_MARKS) for value in values]
