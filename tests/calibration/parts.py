"""All parts of the calibration, in the order of the report."""

from __future__ import annotations

from .check import Part
from .coverage import coverage
from .diverged import diverged
from .equivalence import equivalence
from .examples import examples
from .families import families
from .mixtures import mixtures
from .planted import planted
from .power import power
from .runs import placebos, runs
from .same import same
from .sequential import sequential
from .single import single
from .speed import ratios, speed

PARTS: dict[str, Part] = {
    part.__name__: part
    for part in (
        *(same, single, families, sequential, mixtures, diverged, equivalence, coverage, examples, power),
        *(ratios, runs, placebos, planted, speed),
    )
}
