"""A part or a task of one's own, written from a template, with a study that uses it."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Problem, listed, nearest

PARTS: Mapping[str, str] = {
    "activation": "scale: 0.5",
    "mixer": "gated: off",
    "norm": "eps: 1e-3",
    "position": "slope: 0.5",
    "score": "initial: 0.5",
}
"""Slots that have a template, each with another value for the parameter of the part in it."""
TABLES = (".csv", ".tsv")
MAX_BYTES = 100_000_000
"""Of the data of a task."""
SAMPLE_ROWS, SAMPLE_LENGTH = 600, 8
WORDS = 2
"""Texts with as many spaces, on average, are read word by word."""
LABELS = ("label", "class", "category", "target", "y")
TEXTS = ("text", "sequence", "sentence", "content", "input")


def create_part(slot: str, target: Path) -> list[Path]:
    """Writes a part with the name and in the folder of `target`, and a study of it. Raises `AblateError`."""
    from ablate.base.registry import CATALOGUE
    from ablate.models.reference import places

    if slot not in PARTS:
        hint = nearest(slot, PARTS)
        if not hint and CATALOGUE.names(slot):
            base = CATALOGUE.get(slot, CATALOGUE.names(slot)[0]).__module__.replace(".", "/")
            hint = f"One for {slot} is a class like those in {base}.py"
        raise _refused(Problem("has no template of a part", (), slot, listed(PARTS), hint, source="--part"))
    part, study = _files(target, slot)
    place = places()[slot]
    values = {
        "name": part.stem,
        "class_name": _class_name(part.stem, slot),
        "file": study.name,
        "slot": slot,
        "path": ".".join(["model", *place.path]),
        "default": place.default,
        "parameter": PARTS[slot],
    }
    return write({part: rendered(f"{slot}.py.j2", **values), study: rendered("own_part.yaml.j2", **values)})


def create_task(target: Path, data: Path | None) -> list[Path]:
    """Writes a task with the name and in the folder of `target`, and a study of it. Raises `AblateError`.

    It reads `data`: a table where it ends in .csv or .tsv, else a text; without it a sample, which is written too.
    """
    task, study = _files(target, "task")
    sample = {}
    if data is None:
        data = task.with_suffix(".csv")
        if data.exists():
            hint = f"Choose another name, or give --from {data}"
            raise _refused(Problem("already exists", (), str(data), hint=hint, source="--task"))
        sample = {data: _sample(task.stem)}
    is_table = data.suffix.lower() in TABLES
    settings = {"data": os.path.relpath(data, task.parent)}
    values: dict[str, Any] = {
        "name": task.stem,
        "class_name": _class_name(task.stem, "task"),
        "file": study.name,
        "topology": "encoder" if is_table else "decoder",
    }
    text = sample.get(data) or _text(data)
    if is_table:
        columns, values["delimiter"], values["words"] = _table(data, text)
        settings |= columns
    values["settings"] = {key: json.dumps(value, ensure_ascii=False) for key, value in settings.items()}
    template = "task_table.py.j2" if is_table else "task_text.py.j2"
    return write(
        {**sample, task: rendered(template, **values), study: rendered("own_task.yaml.j2", **values)}
    )


def faults_of(study: Path) -> str:
    """What keeps a study that was written from being run; nothing where it can be."""
    from ablate.study.prepare import prepare

    try:
        prepare(study)
    except AblateError as error:
        return str(error)
    return ""


def write(texts: Mapping[Path, str]) -> list[Path]:
    """Writes new files, and returns their paths; raises `AblateError` for one that cannot be written."""
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise AblateError(
                f"{path}: cannot be written: {error.strerror}; choose another folder"
            ) from error
    return [*texts]


def rendered(template: str, **values: Any) -> str:
    """A template of this package, with every value on one line."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ablate.commands"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: str(value).replace("\n", " "),
    )
    return environment.get_template(template).render(values)


def problems_of(*paths: Path, source: str = "NAME") -> Iterator[Problem]:
    """What keeps new files of one name, the study last, from being written."""
    from pydantic import TypeAdapter, ValidationError

    from ablate.study.schema import StudyName

    study = paths[-1]
    try:
        TypeAdapter(StudyName).validate_python(study.stem)
    except ValidationError:
        allowed = "letters, digits, '.', '_' and '-', the first a letter or digit, at most 100; not `store`"
        yield Problem("is not a valid study name", (), study.stem, allowed, source=source)
    if not study.parent.is_dir():
        yield Problem("names a folder that does not exist", (), str(study.parent), source=source)
    for path in paths:
        if path.exists():
            yield Problem("already exists", (), str(path), hint="Choose another name", source=source)


def _files(target: Path, slot: str) -> tuple[Path, Path]:
    """The files of a part or task and of its study; raises `AblateError` where they cannot be of that name."""
    from ablate.base.registry import CATALOGUE
    from ablate.study.document import parse_value

    name = target.name.removesuffix(".py")
    paths = target.with_name(f"{name}.py"), target.with_name(f"{name}.yaml")
    source = "--task" if slot == "task" else "NAME"
    allowed = "letters, digits and '_', the first a letter, for instance `my_part`"
    if not name.isidentifier() or iskeyword(name) or parse_value(name) != name:
        raise _refused(Problem("cannot be the name of a Python file", (), name, allowed, source=source))
    problems = [*problems_of(*paths, source=source)]
    if name in CATALOGUE.names(slot):
        hint = (
            f"For a study of it: ablate new NAME --task {name}" if slot == "task" else "Choose another name"
        )
        problems = [Problem(f"is already registered as {slot}", (), name, hint=hint, source=source)]
    elif not problems and find_spec(name) is not None:
        rule = "is a Python module, which a file of this name could hide"
        problems = [Problem(rule, (), name, hint="Choose another name", source=source)]
    if problems:
        raise _refused(*problems)
    return paths


def _refused(*problems: Problem) -> AblateError:
    return AblateError("\n".join(map(str, problems)))


def _class_name(name: str, slot: str) -> str:
    """With the slot, so that it is no name that the template imports."""
    return "".join(word.capitalize() for word in [*name.split("_"), slot])


def _text(data: Path) -> str:
    """The content of a file of data; raises `AblateError` where it has none that can be read."""
    from ablate.base.reading import unreadable

    rule = unreadable(data, MAX_BYTES)
    if rule is None:
        try:
            return data.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            rule = f"must be UTF-8 text; byte {error.start + 1} is none"
    raise _refused(Problem(rule, (), str(data), source="--from"))


def _table(data: Path, text: str) -> tuple[dict[str, str], str, bool]:
    """The columns of texts and labels, as the task's parameters; the delimiter; whether the texts have words."""
    try:
        delimiter = csv.Sniffer().sniff(text.partition("\n")[0], delimiters=",;\t|").delimiter
    except csv.Error:
        delimiter = ","
    table = csv.DictReader(text.splitlines(), delimiter=delimiter)
    rows = [row for row, _ in zip(table, range(1000), strict=False)]
    columns = [name for name in table.fieldnames or () if name]
    if len(columns) < 2 or not rows:
        rule = "must have a header with a column of texts and one of labels, and a row for each text"
        raise _refused(Problem(rule, (), str(data), source="--from"))
    sizes = {name: sum(len(row[name] or "") for row in rows) for name in columns}
    label = next((name for name in columns if name.lower() in LABELS), columns[-1])
    others = [name for name in columns if name != label]
    content = next((name for name in others if name.lower() in TEXTS), max(others, key=sizes.__getitem__))
    spaces = sum((row[content] or "").strip().count(" ") for row in rows)
    return {"text": content, "label": label}, delimiter, spaces >= WORDS * len(rows)


def _sample(name: str) -> str:
    """A table of letters; the label says which of a and b comes first, so that it takes the order to tell."""
    draw, lines = random.Random(name), ["text,label"]
    for _ in range(SAMPLE_ROWS):
        letters = draw.choices("cdefgh", k=SAMPLE_LENGTH)
        for place, letter in zip(draw.sample(range(SAMPLE_LENGTH), 2), "ab", strict=True):
            letters[place] = letter
        text = "".join(letters)
        lines.append(f"{text},{'a' if text.index('a') < text.index('b') else 'b'} first")
    return "\n".join([*lines, ""])
