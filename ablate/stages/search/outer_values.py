"""Reads the values by which `widen` may widen a grid, nearest first, and refuses a search that has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.analysis.next_values import LEAST, goes_on, keeps_sign, next_value
from ablate.analysis.search_table import EXACT, Parameter
from ablate.analysis.widening import GRID_SIDES, MAX_STEPS, GridSide
from ablate.base.errors import Invalid
from ablate.stages.search.section import TuneSection
from ablate.stages.search.space import Space
from ablate.stages.search.space_reader import SpaceReader
from ablate.study.patch import short_label, value_at

OuterValues = Mapping[tuple[str, GridSide], Mapping[str, Any]]
"""(path, side) → label → value of each that may be added there, nearest first; empty at a limit of the path."""


def widest(space: Space, outer: OuterValues) -> Space:
    """Returns a space with all values that may be added to it."""
    for (path, _), values in outer.items():
        for label, value in values.items():
            space = space.with_choice(path, label, value)
    return space


@dataclass(frozen=True)
class OuterReader:
    """Reads the values beyond the grid of tuning; problems are reported to the document."""

    reader: SpaceReader
    space: Space

    def read(self, section: TuneSection) -> OuterValues:
        """Returns the values that may be added; none where `widen` is off, or is refused."""
        document = self.reader.draft.document
        if not section.widen:
            return {}
        if not section.sampler.part.exhaustive:
            rule = "adds values to a grid, and the sampler is no grid"
            document.refuse(
                ("tune", "widen"), rule, section.sampler.name, hint="Give `sampler: grid`, or remove `widen`"
            )
            return {}

        outer: dict[tuple[str, GridSide], Mapping[str, Any]] = {}
        num_problems = len(document.problems)
        for parameter in self.space.parameters:
            with document.reporting("tune", "over", parameter.path):
                outer |= self._of_parameter(parameter)
        if not outer and len(document.problems) == num_problems:
            rule = "adds numbers to a grid, and no searched path is a choice of numbers"
            document.refuse(("tune", "widen"), rule, hint="Remove `widen`")
        with document.reporting("tune", "widen"):
            widest(self.space, outer).grid()
        return outer

    def _of_parameter(self, parameter: Parameter) -> OuterValues:
        """Returns the values that may be added on both sides of a path; none of words. Raises `Invalid`."""
        if parameter.kind != "choice":
            rule = "is a range, and `widen` adds values to choices of numbers"
            given = [parameter.low, parameter.high]
            raise Invalid(parameter.kind, rule, given, hint="Write its values as {choice: [1, 2, 4]}")
        values = [*self.space.choices[parameter.path].values()]
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            return {}
        rising = sorted(values)
        if len(rising) < LEAST:
            rule = "has too few numbers to be widened: each lies at an edge"
            hint = f"Add {_what_to_add(rising)}, or {self._how_to_leave_out(parameter)}"
            raise Invalid("choice", rule, values, allowed=f"{LEAST} or more", hint=hint)
        if not goes_on(rising):
            rule = "goes on by no rule, so that `widen` has no next value"
            allowed = (
                "one step, as 1, 2, 3; or one ratio, as 1, 2, 4, or that repeats each decade, as 1, 3, 10"
            )
            raise Invalid(
                "choice", rule, values, allowed=allowed, hint=f"Or {self._how_to_leave_out(parameter)}"
            )
        return {(parameter.path, side): self._beyond(parameter, rising, side) for side in GRID_SIDES}

    def _how_to_leave_out(self, parameter: Parameter) -> str:
        """Says how a path is left out of the search, and which one value all variants then have."""
        _, baseline = self.reader.bases[0]
        value = short_label(value_at(baseline, parameter.path))
        return (
            f"take {parameter.path} out of `over`, so that every variant has {value}, as the study gives it"
        )

    def _beyond(self, parameter: Parameter, rising: Sequence[float], side: GridSide) -> Mapping[str, Any]:
        """Returns label → value of the next numbers on one side, up to a limit of the path."""
        has_whole = all(isinstance(number, int) for number in rising)
        numbers = [*rising]
        labelled: dict[str, Any] = {}
        for _ in range(MAX_STEPS):
            number = next_value(numbers, side)
            if number is None or not keeps_sign(numbers, number):
                break
            value = int(number) if has_whole and number.is_integer() else number
            resolved = self.reader.resolved_value(self.space, parameter, value)
            if resolved is None:
                break
            labelled[short_label(resolved)] = value
            numbers = sorted([*numbers, value])
        return labelled


def _what_to_add(rising: Sequence[float]) -> str:
    """Says what makes a grid of one or two rising numbers one that can be widened: `a third number, as 4`."""
    if len(rising) < LEAST - 1:
        return "two numbers that go on with it"
    low, high = rising
    third = high * high / low if low > 0 else 2 * high - low
    if isinstance(low, int) and isinstance(high, int) and third % 1:
        third = 2 * high - low  # A path of whole numbers takes no other.
    return f"a third number, as {third:.{EXACT}g}"
