"""What the figures of a sweep show, as frames; `search_figures` and `search_maps` draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.base.wording import brief
from ablate.core.search_table import Objective, Parameter, SearchTable, undominated
from ablate.report.tables import text

STATUSES = ("completed", "diverged", "pruned", "failed", "invalid")
COSTS = ("parameters", "flops")
MIN_SURFACE = 10
"Completed settings below which nothing is drawn between the points."
BEST = 0.1
MIN_BEST, MAX_BEST = 3, 20
"Of all settings with a value, the best tenth stands out, at least and at most so many."
NUMBERS = ("float", "int")


@dataclass(frozen=True)
class Scale:
    """One axis: where a value stands on it, and what is written there."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    log: bool = False
    labels: tuple[str, ...] = ()
    "Of the choices, which stand at 0, 1, …"

    def places(self, values: pd.Series) -> np.ndarray:
        """Where the values stand; NaN where there is none."""
        if self.labels:
            known = {label: float(i) for i, label in enumerate(self.labels)}
            return np.array([known.get(value, math.nan) for value in values], float)
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(float)
        return np.log10(numbers) if self.log else numbers


def judged(searched: SearchTable, objective: str) -> pd.DataFrame:
    """The settings with a finite value of the objective, whether or not a seed diverged."""
    table = searched.trials
    values = pd.to_numeric(table[objective], errors="coerce")
    return table[table["status"].isin(["completed", "diverged"]) & np.isfinite(values)]


def history(searched: SearchTable, objective: Objective) -> pd.DataFrame:
    """One row a setting, in the order of their numbers: number, status, value, best, chosen.

    value: NaN where there is none; what a pruned setting had reached is not one. best: so far.
    """
    table = searched.trials.sort_values("number", kind="stable")
    values = pd.to_numeric(table[objective.name], errors="coerce")
    values = values.where(np.isfinite(values) & table["status"].isin(["completed", "diverged"]))
    so_far = values.cummax() if objective.direction == "max" else values.cummin()
    return pd.DataFrame(
        {
            "number": table["number"].to_numpy(int),
            "status": table["status"].to_numpy(str),
            "value": values.to_numpy(float),
            "best": so_far.ffill().to_numpy(float),
            "chosen": table["chosen"].fillna("").to_numpy(str),
        }
    )


def ranked(importances: pd.DataFrame | None, objective: str) -> pd.DataFrame:
    """The importances for one objective, the parameter with the largest by fANOVA first."""
    if importances is None:
        return pd.DataFrame(columns=["objective", "parameter", "evaluator", "importance", "low", "high"])
    mine = importances[importances["objective"] == objective]
    first = mine[mine["evaluator"] == "fanova"].sort_values("importance", ascending=False, kind="stable")
    order = {path: i for i, path in enumerate(first["parameter"])}
    return mine.sort_values("parameter", key=lambda paths: paths.map(order), kind="stable")


def slices(searched: SearchTable, objective: Objective) -> pd.DataFrame:
    """One row a setting and path that it has: parameter, place (on the `scale_of` the path), number, status, value,
    chosen.
    """
    table = searched.trials
    values = history(searched, objective).set_index("number")["value"]
    parts = []
    for parameter in searched.facts.parameters:
        has = table[table[parameter.path].notna()]
        parts.append(
            pd.DataFrame(
                {
                    "parameter": parameter.path,
                    "place": scale_of(searched, parameter).places(has[parameter.path]),
                    "number": has["number"].to_numpy(int),
                    "status": has["status"].to_numpy(str),
                    "value": values.reindex(has["number"]).to_numpy(float),
                    "chosen": has["chosen"].fillna("").to_numpy(str),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def scale_of(searched: SearchTable, parameter: Parameter) -> Scale:
    """The axis of one searched path: the whole range that it was searched on."""
    values = searched.trials[parameter.path].dropna()
    if parameter.kind == "choice":
        labels = tuple(dict.fromkeys([*parameter.choices, *map(str, values)]))
        return Scale(-0.5, len(labels) - 0.5, [(i, label) for i, label in enumerate(labels)], labels=labels)
    numbers = pd.to_numeric(values).to_numpy(float)
    low = min([n for n in (parameter.low, *numbers) if n is not None])
    high = max([n for n in (parameter.high, *numbers) if n is not None])
    return scale(low, high, log=parameter.log, whole=parameter.kind == "int")


def scale(low: float, high: float, *, log: bool = False, whole: bool = False) -> Scale:
    """An axis from low to high, with a few round ticks; around them where they are the same."""
    if not low < high:
        low, high = (low / 2, high * 2) if log else (low - 1, high + 1)
    from matplotlib.ticker import MaxNLocator

    if log:
        start, end = math.log10(low), math.log10(high)
        powers = range(math.floor(start), math.ceil(end) + 1)
        steps: tuple[int, ...] = (
            (1,) if end - start >= 2 else (1, 2, 5) if end - start > 0.7 else (1, 2, 3, 5, 7)
        )
        places = [math.log10(step) + power for power in powers for step in steps]
        inside = [place for place in places if start - 1e-9 <= place <= end + 1e-9]
        if not inside:
            round_ones = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
            inside = [math.log10(n) for n in round_ones if low <= n <= high]
        thin = max(1, -(-len(inside) // 6)) if len(steps) == 1 else 1
        return Scale(start, end, [(place, brief(10**place)) for place in inside[::thin]], log=True)
    found = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=whole).tick_values(low, high)
    slack = 1e-9 * (high - low)
    return Scale(low, high, [(p, brief(p)) for p in found if low - slack <= p <= high + slack])


def parallel(searched: SearchTable, objective: Objective) -> pd.DataFrame:
    """One row a setting with a value, the worst first: number, value, best, chosen, and for every path its place.

    A place is a share of the path's axis, from 0 to 1, and NaN where the setting does not have the path.
    """
    found = judged(searched, objective.name)
    found = found.sort_values(objective.name, ascending=objective.direction == "max", kind="stable")
    number = min(MAX_BEST, max(MIN_BEST, math.ceil(BEST * len(found))))
    columns = {
        "number": found["number"].to_numpy(int),
        "value": found[objective.name].to_numpy(float),
        "best": np.arange(len(found)) >= len(found) - number,
        "chosen": found["chosen"].fillna("").to_numpy(str),
    }
    for parameter in searched.facts.parameters:
        axis = scale_of(searched, parameter)
        columns[parameter.path] = (axis.places(found[parameter.path]) - axis.low) / (axis.high - axis.low)
    return pd.DataFrame(columns)


def numerical(searched: SearchTable, importances: pd.DataFrame | None) -> list[Parameter]:
    """The searched numbers, the most important for the first objective first, those not judged last."""
    order = list(ranked(importances, searched.facts.objectives[0].name)["parameter"].unique())
    found = [
        p for p in searched.facts.parameters if p.kind in NUMBERS and searched.trials[p.path].nunique() > 1
    ]
    return sorted(found, key=lambda p: (order.index(p.path) if p.path in order else len(order), bool(p.when)))


def plane(searched: SearchTable, objective: Objective, x: Parameter, y: Parameter) -> pd.DataFrame:
    """One row a setting that has both paths and a value: x, y (places), value, status, chosen."""
    found = judged(searched, objective.name)
    found = found[found[x.path].notna() & found[y.path].notna()]
    return pd.DataFrame(
        {
            "x": scale_of(searched, x).places(found[x.path]),
            "y": scale_of(searched, y).places(found[y.path]),
            "value": found[objective.name].to_numpy(float),
            "status": found["status"].to_numpy(str),
            "chosen": found["chosen"].fillna("").to_numpy(str),
        }
    )


def triangles(points: pd.DataFrame, x: Scale, y: Scale) -> tuple[pd.DataFrame, np.ndarray] | None:
    """The points of a `plane`, those in one place as their mean, and the triangles (Delaunay) between them.

    None where fewer than MIN_SURFACE settings completed, or all lie on a line. Beyond the outermost points there
    are no triangles, so that nothing is extrapolated.
    """
    from scipy.spatial import Delaunay, QhullError

    done = points[points["status"] == "completed"]
    if len(done) < MIN_SURFACE:
        return None
    merged = done.groupby(["x", "y"], as_index=False)["value"].mean()
    # Both axes are one long: a triangulation depends on the units.
    places = np.column_stack(
        [(merged[name] - axis.low) / (axis.high - axis.low) for name, axis in (("x", x), ("y", y))]
    )
    try:
        return merged, Delaunay(places).simplices
    except (QhullError, ValueError):
        return None


def trades(searched: SearchTable) -> list[tuple[Objective, Objective]]:
    """What is set against each other, as (upright, across): the first objective against the others or, where it is
    alone, against each cost that varies.
    """
    first, *others = searched.facts.objectives
    if not others:
        found = judged(searched, first.name)
        varying = [cost for cost in COSTS if cost != first.name and found[cost].nunique() > 1]
        if len(varying) > 1 and (found[COSTS[0]].rank() == found[COSTS[1]].rank()).all():
            # Both would show the same.
            varying = varying[:1]
        others = [Objective(cost, "min", "cost") for cost in varying]
    return [(first, other) for other in others]


def pareto(searched: SearchTable, upright: Objective, across: Objective) -> pd.DataFrame:
    """One row a setting with both values: number, x, y, status, chosen, front.

    front: no other is as good in both and better in one; where these are all objectives, as the table says.
    """
    found = judged(searched, upright.name)
    x = pd.to_numeric(found[across.name], errors="coerce")
    found, x = found[np.isfinite(x)], x[np.isfinite(x)]
    y = found[upright.name].to_numpy(float)
    if len(searched.facts.objectives) == 2:
        front = found["front"].to_numpy(bool)
    else:
        front = undominated(np.column_stack([_turned(x.to_numpy(float), across), _turned(y, upright)]))
    return pd.DataFrame(
        {
            "number": found["number"].to_numpy(int),
            "x": x.to_numpy(float),
            "y": y,
            "status": found["status"].to_numpy(str),
            "chosen": found["chosen"].fillna("").to_numpy(str),
            "front": front,
        }
    )


def _turned(values: np.ndarray, objective: Objective) -> np.ndarray:
    return values if objective.direction == "max" else -values


def setting(searched: SearchTable, row: dict[str, object], only: Sequence[str] = ()) -> str:
    """The values of a setting in a line, `training.lr=.0031, model.mixer=lstm`; paths that it lacks are left out."""
    paths = [path for path in only or searched.paths if not absent(row[path])]
    return ", ".join(f"{path}={value(row[path])}" for path in paths)


def short(paths: Sequence[str]) -> dict[str, str]:
    """Path → its end, as much of it as tells it from the others: `model.mixer.num_heads` is `num_heads`."""
    found = {}
    for path in paths:
        parts = path.split(".")
        ends = [".".join(parts[-size:]) for size in range(1, len(parts) + 1)]
        alone = [end for end in ends if sum(f".{other}".endswith(f".{end}") for other in paths) == 1]
        found[path] = alone[0] if alone else path
    return found


def absent(found: object) -> bool:
    """Whether a cell has no value."""
    return found is None or found != found


def value(found: object) -> str:
    """A value of a searched path; a number with three significant digits."""
    if absent(found):
        return ""
    if isinstance(found, str):
        return text(found)
    number = float(found)  # type: ignore[arg-type]
    return brief(number).removeprefix("0") if 0 < number < 1 else brief(number)


def named(objective: Objective) -> str:
    """An objective in words: what it is measured on."""
    words = objective.name.replace("_", " ").replace("flops", "FLOPs")
    return f"validation {words}" if objective.source == "validation" else words


def left_out(searched: SearchTable, objective: str) -> int:
    """Settings that ended without a finite value of the objective."""
    ended = searched.trials["status"].isin(["completed", "diverged"])
    return int(ended.sum()) - len(judged(searched, objective))


def unjudged(searched: SearchTable, importances: pd.DataFrame | None, objective: str) -> str:
    """Why importances are missing, in a sentence; empty where none is."""
    if importances is None:
        return "Importances have not been computed; ablate sweep does that when it ends."
    known, found = set(ranked(importances, objective)["parameter"]), judged(searched, objective)
    if found[objective].nunique() == 1:
        return f"No importances: all {wording.counted(len(found), 'setting')} with a value have the same."
    missing = {path: int(found[path].notna().sum()) for path in searched.paths if path not in known}
    if not known:
        return f"No importances: {wording.counted(len(found), 'setting')} with a value are too few."
    shown = wording.joined([f"{path} ({number})" for path, number in missing.items()]) if missing else ""
    return f"Not judged, as too few settings have it or all have the same value: {shown}." if shown else ""
