"""Runs the parts, each with random numbers of its own, and writes what they found."""

import argparse
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .added import added
from .check import OWN, Check, Part, Place
from .claims import claims
from .clusters import clusters
from .coverage import coverage
from .diverged import diverged
from .equivalence import equivalence
from .everywhere import everywhere
from .examples import examples
from .families import families
from .fixed_sets import fixed_sets
from .forms import forms
from .grids import grids
from .independent import independent
from .means import means
from .mixtures import mixtures
from .outliers import outliers
from .planted import planted
from .power import power
from .repeats import repeats
from .report import write, wrong_rules_missed
from .runs import placebos, runs
from .same import same
from .samples import samples
from .sequential import sequential
from .single import single
from .speed import ratios, speed
from .streams import streams
from .trends import trends
from .tuned import rates, tuned
from .varying import varying
from .waves import waves

PARTS: dict[str, Part] = {
    part.__name__: part
    for part in (
        *(
            same,
            single,
            grids,
            repeats,
            families,
            sequential,
            mixtures,
            diverged,
            equivalence,
            coverage,
            examples,
            power,
            tuned,
            clusters,
            streams,
            outliers,
            added,
        ),
        *(means, independent, fixed_sets, varying, everywhere, samples, trends, forms, claims, waves),
        *(ratios, runs, placebos, rates, planted, speed),
    )
}


def calibrate(names: Sequence[str], seed: int, place: Place) -> dict[str, tuple[list[Check], float]]:
    """The checks of each part and the seconds that it took; a part finds the same whether or not others run."""
    found = {}
    for name in names:
        began = time.monotonic()
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        checks = list(PARTS[name](rng, place))
        found[name] = checks, time.monotonic() - began
        missed = [check for check in checks if check.rules == OWN and not check.inside]
        print(
            f"{name}: {len(checks)} checks in {found[name][1]:.0f} s, {len(missed)} outside of their band",
            flush=True,
        )
        for check in missed:
            print(
                f"  {check.what} {dict(check.setting)}: {check.value:.4f} not in [{check.low:.4g}, {check.high:.4g}]"
            )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where a figure lies outside of its band, or a wrong rule inside of all of its."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=__doc__)
    parser.add_argument("--only", choices=list(PARTS), action="append", help="this part; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (default: 0)")
    parser.add_argument("--studies", type=int, default=10_000, help="simulated, a setting (default: 10,000)")
    parser.add_argument(
        "--scratch", type=Path, default=Path("local/calibration"), help="folder that keeps the trainings"
    )
    parser.add_argument("--results", type=Path, help="folder of the report")
    given = parser.parse_args(arguments)
    place = Place(given.scratch, given.studies)
    found = calibrate(given.only or list(PARTS), given.seed, place)
    checks = [check for part, _ in found.values() for check in part]
    if given.results:
        write(given.results, found, given.seed, place)
    failed = [check for check in checks if check.rules == OWN and not check.inside]
    return 1 if failed or wrong_rules_missed(checks) else 0
