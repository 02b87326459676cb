"""Numbers that a user's own code reports and its study does not declare, in the record of a trial."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

import numpy as np

from ablate.core.record import Curve, Record

# In the environment of a record: their names. Among its arrays: a row a point: place of the name, step, value.
_KEY = "undeclared"


def keep_undeclared(record: Record, reported: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    """Adds numbers to a record, given as name → step and value."""
    if not reported:
        return
    rows: list[tuple[int, int, float]] = []
    for place, points in enumerate(reported.values()):
        rows += [(place, step, value) for step, value in sorted(points, key=itemgetter(0))]
    record.arrays[_KEY] = np.array(rows, dtype=np.float64)
    record.environment[_KEY] = [*reported]


def undeclared_of(record: Record) -> dict[str, Curve]:
    """Returns the undeclared numbers of a record by name."""
    points = record.arrays.get(_KEY)
    if points is None:
        return {}
    curves = {}
    for place, name in enumerate(record.environment.get(_KEY, [])):
        of_name = points[points[:, 0] == place]
        curves[name] = Curve(of_name[:, 1].astype(np.int64), of_name[:, 2])
    return curves
