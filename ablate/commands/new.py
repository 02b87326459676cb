"""`ablate new`: a commented study to start from, with every setting at its documented default."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.registry import CATALOGUE, PartConfig, Section, Slot
from ablate.study.json_schema import summary
from ablate.study.schema import MetricSection, StudyBase, StudyName

SCHEMA = "ablate.schema.json"
"""What `ablate schema` is suggested to be kept as, beside the study."""

OVERRIDES: Mapping[str, Any] = {
    "model.d_model": 32,
    "training.lr": 3e-3,
    "training.weight_decay": 0.01,
    "training.clip_norm": 1.0,
}
"""Where a small model wants another value than the default: a trial takes seconds."""

_COMMENT_AT = 34
_WIDTH = 110


def create(target: Path, task: str) -> Path:
    """Writes a study called as the target is, into its folder; where it stands. Raises `AblateError`."""
    path = target if target.suffix in (".yaml", ".yml") else target.with_name(f"{target.name}.yaml")
    problems = [*_name_problems(path.stem), *_task_problems(task)]
    if not path.parent.is_dir():
        problems.append(Problem("names a folder that does not exist", (), str(path.parent), source="NAME"))
    if path.exists():
        hint = "Choose another name, or take the file away"
        problems.append(Problem("exists already", (), str(path), hint=hint, source="NAME"))
    if problems:
        raise AblateError("\n".join(map(str, problems)))
    text = study_text(path.stem, task, schema=(path.parent / SCHEMA).is_file())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AblateError(f"{path}: cannot be written: {error.strerror}; choose another folder") from error
    return path


def study_text(name: str, task: str, schema: bool) -> str:
    """The study as YAML. With `schema`, its first line points editors to the JSON Schema beside it."""
    sections = CATALOGUE.get("workload", StudyBase.model_fields["workload"].default)().schema()
    config = _task_config(task)
    built = config.build()
    metric = next(iter(built.metrics))
    model, training = (sections[section][0] for section in ("model", "training"))
    values = dict(OVERRIDES)
    if model.model_fields["topology"].default not in built.topologies:
        values["model.topology"] = built.topologies[0]
    about = {key: field.description or "" for key, field in StudyBase.model_fields.items()}
    margin = MetricSection.model_fields["margin"].description or ""
    position, score = "model.position", "model.mixer.score"
    was = {
        position: _default(model, "position"),
        score: _default(CATALOGUE.get("mixer", "attention"), "score"),
    }
    now = {path: "none" if path == position else "additive" for path in was}
    lines = [
        *_hints(schema),
        _Line(f"name: {name}"),
        _Line("question: Does order matter, and does the score?", about["question"]),
        _Line(""),
        _Line("task:"),
        *_part(config, "task", 1, {}),
        _Line(""),
        _Line(
            "model:",
            "The baseline. What is left out takes its default: the value here, or the one named beside it.",
        ),
        *_settings(model, "model", 1, values),
        _Line(""),
        _Line("training:", f"The same for every variant. {_doc(training)}"),
        *_settings(training, "training", 1, values),
        _Line(""),
        _Line("metric:", about["metric"]),
        _Line(f"  name: {metric}", f"One of {listed(built.metrics)}."),
        _Line("  margin: 0.02", margin),
        _Line(""),
        _Line("factors:", about["factors"]),
        *(_Line(f"  {path}: [{now[path]}]") for path in was),
        _Line("  # model.mixer.value: [{name: low_rank, rank: 4}]", "A part with parameters."),
        _Line("  # model.num_layers: [1, 4]", "Any setting of model, training or task."),
        _Line(""),
        _Line(f"design: {StudyBase.model_fields['design'].default}", about["design"]),
        _Line(f"seeds: {StudyBase.model_fields['seeds'].default}", about["seeds"]),
        _Line("placebo: off", about["placebo"]),
        _Line("# match: {parameters: baseline, by: model.feedforward.expansion}", about["match"]),
        _Line("# tune:", about["tune"]),
        _Line("#   over: {training.lr: {float: [1e-4, 1e-2], log: true}}"),
        _Line("#   trials: 12"),
        _Line("# search:", about["search"]),
        _Line(
            "#   over: {training.lr: {float: [1e-4, 1e-2], log: true}, model.norm: {choice: [layer, rms]}}"
        ),
        _Line("#   trials: 20"),
        _Line("# time_limit: 600", about["time_limit"]),
        _Line("# plugins: [parts.py]", about["plugins"]),
        _Line(""),
        _Line("claims:", "Dated before the first trial, judged after the last."),
        _Line(f"  - {position}={was[position]} beats {position}={now[position]} on {metric}"),
        _Line(f"  - {score}={now[score]} matches {score}={was[score]} on {metric} within 0.02"),
        _Line(""),
        _Line("# notes: …", about["notes"]),
    ]
    return "".join(str(line) + "\n" for line in lines)


@dataclass(frozen=True)
class _Line:
    text: str
    comment: str = ""

    def __str__(self) -> str:
        if not self.comment:
            return self.text
        one = f"{self.text:{_COMMENT_AT}}  # {self.comment}"
        if len(one) <= _WIDTH:
            return one
        indent = " " * (len(self.text) - len(self.text.lstrip()))
        above = textwrap.wrap(
            self.comment, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
        return "\n".join([*above, self.text])


def _hints(schema: bool) -> Iterator[_Line]:
    if schema:
        yield _Line(f"# yaml-language-server: $schema={SCHEMA}")
    yield _Line("# `ablate plan` on this file shows what it would train, `ablate run` trains and reports it,")
    yield _Line("# `ablate list` shows every part that can stand here.")
    if not schema:
        yield _Line(
            f"# For completion in editors run `ablate schema > {SCHEMA}` here, and begin the file with"
        )
        yield _Line(f"#   # yaml-language-server: $schema={SCHEMA}")


def _settings(model: type[Section], path: str, depth: int, values: Mapping[str, Any]) -> Iterator[_Line]:
    """The settings of a section or a part, each with its meaning."""
    indent = "  " * depth
    for key, field in model.model_fields.items():
        if key == "name" and issubclass(model, PartConfig):
            continue
        below = f"{path}.{key}"
        value = values.get(below, field.default)
        comment = field.description or ""
        if value != field.default and field.default is not None:
            comment += f" Default: {_word(field.default)}."
        slot = _slot(field)
        if slot is not None:
            config = CATALOGUE.get(slot.slot, value).Config()  # type: ignore[attr-defined]
            if any(_slot(inner) for inner in type(config).model_fields.values()):
                yield _Line(f"{indent}{key}:", comment)
                yield from _part(config, slot.slot, depth + 1, values, below)
            else:
                yield _Line(f"{indent}{key}: {value}", comment + _others(slot.slot, value, comment))
        elif isinstance(value, Section):
            yield _Line(f"{indent}{key}:", comment)
            yield from _settings(type(value), below, depth + 1, values)
        elif value is None:
            yield _Line(f"{indent}# {key}:", comment)
        else:
            yield _Line(f"{indent}{key}: {_word(value)}", comment)


def _part(
    config: PartConfig, slot: str, depth: int, values: Mapping[str, Any], path: str = ""
) -> Iterator[_Line]:
    name: str = type(config).part.name  # type: ignore[attr-defined]
    about = summary(type(config).part)
    yield _Line(f"{'  ' * depth}name: {name}", about + _others(slot, name, about))
    yield from _settings(type(config), path or slot, depth, values)


def _others(slot: str, name: object, said: str) -> str:
    """The other parts of a slot, unless they have been named."""
    others = [other for other in CATALOGUE.names(slot) if other != name]
    return f" Or: {listed(others)}." if others and not all(other in said for other in others) else ""


def _slot(field: FieldInfo) -> Slot | None:
    return next((item for item in field.metadata if isinstance(item, Slot)), None)


def _default(owner: Any, key: str) -> str:
    config: type[Section] = getattr(owner, "Config", owner)
    return str(config.model_fields[key].default)


def _doc(model: type[Section]) -> str:
    return (model.__doc__ or "").partition("\n")[0]


def _word(value: Any) -> str:
    """A value as a study file has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    plain = not isinstance(value, str) or re.fullmatch(r"[A-Za-z_][\w.-]*", value)
    return f"{value}" if plain and not isinstance(value, (list, dict)) else json.dumps(value)


def _task_config(task: str) -> PartConfig:
    config: PartConfig = CATALOGUE.get("task", task).Config(name=task)  # type: ignore[attr-defined]
    return config


def _task_problems(task: str) -> Iterator[Problem]:
    names = CATALOGUE.names("task")
    if task not in names:
        yield Problem("names no task", (), task, listed(names), nearest(task, names), source="--task")
        return
    fields = CATALOGUE.get("task", task).Config.model_fields  # type: ignore[attr-defined]
    if needed := [name for name, field in fields.items() if field.is_required()]:
        rule = f"has settings without a default ({listed(needed)}), so that no study can be made of it"
        yield Problem(
            rule, (), task, hint="Begin with another, and name this one in the study", source="--task"
        )


def _name_problems(name: str) -> Iterator[Problem]:
    try:
        TypeAdapter(StudyName).validate_python(name)
    except ValidationError:
        allowed = "letters, digits, '.', '_' and '-', the first a letter or digit, at most 100; not `store`"
        yield Problem("is not a name for a study", (), name, allowed, source="NAME")
