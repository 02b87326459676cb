"""The English of Python's own language reference, character by character."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.tasks.language import Language

TOPICS = "pydoc_data.topics"  # What `help("for")` shows.


def _place() -> tuple[str, ...]:
    """The file of the text; none where this Python comes without it."""
    try:
        spec = importlib.util.find_spec(TOPICS)
    except ModuleNotFoundError:
        return ()
    return (spec.origin,) if spec and spec.origin and Path(spec.origin).is_file() else ()


@register("task", "characters")
class Characters(Language):
    """Which character comes next in the help texts of Python (`pydoc_data.topics`), of about 350,000 characters?"""

    data_files = _place()
    joint = "\n"

    def __init__(self, config: Language.Config) -> None:
        if not self.data_files:
            raise Invalid(
                "", f"needs the module {TOPICS}, which this Python lacks", hint="Install Python in full"
            )
        self.set_text(DataFile(self.data_files[0], TOPICS), config, solved=1.9)

    @classmethod
    def pieces(cls, file: DataFile, config: Any) -> Iterator[str]:
        """The paragraphs, of all topics by name, with single spaces."""
        topics: Mapping[str, str] = importlib.import_module(TOPICS).topics
        for name in sorted(topics):
            yield from (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", topics[name]))
