"""The keys of a study file that belong to a stage, and what the stages of a study tell of themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from pydantic import BaseModel

from ablate.base.registry import StrictModel


class StageConfig(StrictModel):
    """The keys of a study file that one stage reads: they are its fields, with their defaults."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ()
    """Keys, and dotted places below them, whose entries are paths of a study: `--set` takes such a path as one key."""
    decides: ClassVar[bool] = True
    """Whether a study in which these keys differ is another study than the one that was reported."""
    rules: ClassVar[Mapping[str, str]] = {}
    """Path of a switch → the rule that it switches on, in words: a plan is dated with the rule."""


ConfigT = TypeVar("ConfigT", bound=StageConfig)


def config_of(study: BaseModel, kind: type[ConfigT]) -> ConfigT:
    """Returns what a validated study has at the keys of one stage."""
    values = dict(study)
    return kind.model_validate({name: values[name] for name in kind.model_fields})


@dataclass(frozen=True)
class StageOutline:
    """The additions of a study's stages, known before any of them is checked."""

    metrics: frozenset[str] = frozenset()
    """Metrics that claims may name because of them."""
    variant_names: Sequence[str] = ()
    """Names of variants that they will find."""
    varied_paths: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Key of the study file → the paths whose values are chosen there for each variant."""
