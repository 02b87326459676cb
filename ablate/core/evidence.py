"""All that tables, verdicts and figures need, in one folder: two frames and the facts about the study.

    trials.parquet   one row a trial: id, variant, task, seed, a column a factor path, status, metrics
    curves.parquet   id, step, metric, value

The facts travel in the attributes of the trials frame, which pandas keeps in the parquet file.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError

if TYPE_CHECKING:
    import pandas as pd

BASELINE = "baseline"
FIXED_COLUMNS = ("id", "variant", "task", "seed", "status")


@dataclass(frozen=True)
class MetricFacts:
    """One metric of one task; the fields of `ablate.core.workload.Metric`."""

    direction: str
    resolution: float = 0.0
    floor: float | None = None
    ceiling: float | None = None
    solved: float | None = None


@dataclass(frozen=True)
class TaskFacts:
    """One task of the study."""

    name: str
    metrics: dict[str, MetricFacts]
    "The metrics that trials are compared by; also the names of columns of the trials frame."


@dataclass(frozen=True)
class MatchFacts:
    """What the study holds equal."""

    quantity: str
    "parameters, flops (of a forward pass on one example), compute (of the whole training) or seconds."
    by: str
    "The path that is changed for it."
    target: str
    "`baseline`, or a number."
    within: float
    "The largest share by which a variant may miss."


@dataclass(frozen=True)
class Matched:
    """What a variant was given so that it has as much as it shall."""

    value: float
    "Of the path that is changed."
    achieved: float
    "The quantity with it."
    target: float
    "What the quantity shall be."

    @property
    def residual(self) -> float:
        """By what share of the target it misses; positive: too much."""
        return self.achieved / self.target - 1


@dataclass(frozen=True)
class VariantFacts:
    """One variant, the baseline included (always the first)."""

    name: str
    levels: dict[str, str]
    "Factor path → label of the level that this variant has."
    changes: dict[str, str]
    "Of those, the paths on which it differs from the baseline."
    placebo: bool = False
    "The baseline again, with other initialisation and dropout streams: the noise floor."
    parameters: dict[str, int] = field(default_factory=dict)
    "Task → trainable parameters."
    parameters_by_part: dict[str, dict[str, int]] = field(default_factory=dict)
    flops: dict[str, int | None] = field(default_factory=dict)
    "Task → matrix-product FLOPs of a forward pass on one example."
    training_flops: dict[str, int | None] = field(default_factory=dict)
    "The same of a forward and a backward pass."
    examples: dict[str, int | None] = field(default_factory=dict)
    "Task → training examples that a whole training processes."
    matched: dict[str, Matched] = field(default_factory=dict)
    "Task → what was changed so that sizes match; empty where nothing is matched."
    tuned: dict[str, dict[str, str]] = field(default_factory=dict)
    "Task → path → label of the value that a search has chosen; empty where nothing is tuned."


@dataclass(frozen=True)
class ClaimFacts:
    """One claim, parsed. A side is the set of variants whose per-seed mean it stands for."""

    text: str
    hash: str
    declared: str
    "ISO 8601 date and time of the first run that knew it."
    exploratory: bool
    "Declared after trials of the study existed."
    kind: str
    "beats, matches or does_not_lose."
    metric: str
    a: list[str]
    b: list[str]
    by: float
    "X of the grammar: 0 for a plain `beats`."


@dataclass(frozen=True)
class Facts:
    """What the frames alone do not say."""

    study: str
    question: str
    notes: str
    metric: str
    "The primary metric."
    column: str
    "The column of the trials frame that holds it: the metric at the last step, or at the best validation."
    at: str
    margin: float | None
    design: str
    seeds: list[int]
    "The planned seeds, whether or not they have run."
    tasks: list[TaskFacts]
    variants: list[VariantFacts]
    factors: dict[str, list[str]]
    "Path → labels of its levels, the baseline's first."
    claims: list[ClaimFacts]
    environment: dict[str, Any] = field(default_factory=dict)
    "Of the run that wrote the folder: command, commit, dirty, versions, device, machine."
    data_fixed: bool = False
    "The test split is the same for every seed, so that verdicts are conditional on it."
    match: MatchFacts | None = None
    "What is held equal; None: sizes are as they come."
    left_out: list[str] = field(default_factory=list)
    "Variants of the study that are not judged, since their search is not over."
    searched: str = ""
    "`sweep` or `tuning` when a search came before: its table is beside this one."

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Facts:
        """The inverse of `to_dict`."""
        fields = dict(data)
        fields["tasks"] = [
            TaskFacts(t["name"], {name: MetricFacts(**m) for name, m in t["metrics"].items()})
            for t in data["tasks"]
        ]
        fields["variants"] = [
            VariantFacts(**{**v, "matched": {t: Matched(**m) for t, m in v.get("matched", {}).items()}})
            for v in data["variants"]
        ]
        fields["match"] = MatchFacts(**data["match"]) if data.get("match") else None
        fields["claims"] = [ClaimFacts(**c) for c in data["claims"]]
        return cls(**fields)


@dataclass(frozen=True)
class Evidence:
    """The records of one study as frames, with the facts."""

    facts: Facts
    trials: pd.DataFrame
    curves: pd.DataFrame

    def save(self, folder: Path) -> None:
        """Writes both frames, each whole or not at all."""
        from ablate.base.files import replacing

        trials = self.trials.copy()
        trials.attrs = {"ablate": self.facts.to_dict()}
        for name, frame in (("trials.parquet", trials), ("curves.parquet", self.curves)):
            with replacing(folder / name) as path:
                frame.to_parquet(path, index=False)

    @classmethod
    def load(cls, folder: Path) -> Evidence:
        """Reads what `save` wrote; raises `AblateError` when it is not there."""
        import pandas as pd

        paths = [folder / "trials.parquet", folder / "curves.parquet"]
        for path in paths:
            if not path.is_file():
                raise AblateError(
                    f"{folder}: has no {path.name}; run the study first, or name a folder of results/"
                )
        try:
            trials, curves = (pd.read_parquet(path) for path in paths)
            # Out of the attributes, which pandas copies deeply whenever a frame is touched.
            return cls(Facts.from_dict(trials.attrs.pop("ablate")), trials, curves)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AblateError(
                f"{folder}: its tables cannot be read ({error}); run the study again"
            ) from error
