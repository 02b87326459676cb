"""Files to start from, filled in from the templates of this folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from ablate.base.errors import AblateError, Problem, listed

OTHER = "Choose another name"


def rendered(template: str, **values: Any) -> str:
    """Returns a template of this package, with every value on one line."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: str(value).replace("\n", " "),
    )
    return environment.get_template(template).render(values)


def write(texts: Mapping[Path, str]) -> list[Path]:
    """Writes new files, and returns their paths.

    Raises `AblateError` before the first where one exists, and where one cannot be written.
    """
    existing = [str(path) for path in texts if path.exists()]
    if existing:
        raise refusal("already exists", listed(existing), hint=OTHER, source="NAME")
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise AblateError(f"{path}: cannot be written: {error.strerror}; choose another") from error
    return [*texts]


def refusal(rule: str, given: str, allowed: str = "", *, hint: str = "", source: str = "") -> AblateError:
    """Returns the error that refuses what an argument or option of the command has given."""
    problem = Problem(rule, given=given, allowed=allowed, hint=hint, source=source)
    return AblateError(str(problem))
