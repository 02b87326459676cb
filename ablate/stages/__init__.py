"""The stages that a study may ask for, in the order in which they act."""

from ablate.session.stage import Stage
from ablate.stages.match.stage import MatchStage
from ablate.stages.path import PathStage
from ablate.stages.probe import ProbeStage
from ablate.stages.search.sweep import SweepStage
from ablate.stages.search.tune import TuneStage
from ablate.stages.speed.stage import SpeedStage
from ablate.stages.stress import StressStage

# Also the order of their keys in a resolved study, of their notes in a plan, and of their frames.
STAGES: tuple[type[Stage], ...] = (
    MatchStage,
    ProbeStage,
    PathStage,
    SweepStage,
    TuneStage,
    SpeedStage,
    StressStage,
)
CONFIGS = tuple(stage.Config for stage in STAGES)
