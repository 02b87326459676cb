"""The types of options of the command line: numbers with their domain, seeds, folders."""

from __future__ import annotations

import os
from typing import Any

import click

from ablate.base.errors import shown
from ablate.base.numerals import COUNT, Domain


class NumberType(click.ParamType):  # type: ignore[type-arg]  # Of a type from click 8.5 on.
    """A number of a domain; whatever floats know beside finite numbers, such as nan, is refused."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.name = "integer" if domain.whole else "float"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> float | int:
        """Returns the number; refuses what is none of the domain."""
        number = self.domain.read(value) if isinstance(value, str) else value
        if number is None or number not in self.domain:
            self.fail(f"{shown(value)} is not {self.domain}.")
        return number


class SeedsType(click.ParamType):  # type: ignore[type-arg]
    """A number of seeds, or each of them: 5, or 0,3,7."""

    name = "seeds"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int | tuple[int, ...]:
        """Parses `5` as a number of seeds, and `0,3,7` as a list of seeds."""
        if isinstance(value, (int, tuple)):
            return value
        # `7,` is the one seed 7.
        numbers = [COUNT.read(number) for number in value.removesuffix(",").split(",")]
        seeds = tuple(int(number) for number in numbers if number is not None)
        if value == "0" or len(seeds) < len(numbers):
            self.fail(
                f"{shown(value)} is neither a number of seeds, such as 5, nor a list of seeds, such as 0,3,7"
            )
        return seeds if "," in value else seeds[0]


class FolderType(click.Path):
    """A folder, which may not exist yet, by a name that is not empty; an empty one would be the current folder."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Returns the path; refuses an empty name, and what is there and is no folder."""
        if value == "":
            self.fail("must name a folder; given ''; allowed: any folder, '.' for the current one")
        path = super().convert(value, parameter, context)
        if os.path.lexists(path) and not os.path.isdir(path):
            kind = "a link that leads to no folder" if os.path.islink(path) else "no folder"
            self.fail(f"{value!r} is {kind}; name another")
        return path
