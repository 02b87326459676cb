"""Numbers that a user's own code reports and its study does not declare, in the record of a trial."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

import numpy as np

from ablate.core.record import Curve, Record

# Under this key the environment of a record has their names, and its arrays the points, (num_points, 3): the place of
# the name in that list, step and value.
_KEY = "undeclared"


def keep_undeclared(record: Record, reported: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    """Adds undeclared numbers to a record.

    reported: name → points, each a step and a value.
    """
    if not reported:
        return
    rows: list[tuple[int, int, float]] = []
    for place, points in enumerate(reported.values()):
        rows += [(place, step, value) for step, value in sorted(points, key=itemgetter(0))]
    record.arrays[_KEY] = np.array(rows, dtype=np.float64)
    record.environment[_KEY] = [*reported]


def undeclared_of(record: Record) -> dict[str, Curve]:
    """Returns the curves of a record's undeclared numbers by name."""
    points = record.arrays.get(_KEY)
    if points is None:
        return {}
    curves = {}
    for place, name in enumerate(record.environment.get(_KEY, [])):
        own_points = points[points[:, 0] == place]
        curves[name] = Curve(steps=own_points[:, 1].astype(np.int64), values=own_points[:, 2])
    return curves
