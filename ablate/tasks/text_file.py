"""Language modelling on a text of one's own."""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import PositiveInt

from ablate.base.datafile import DataFile
from ablate.base.registry import register
from ablate.tasks.files import read_text
from ablate.tasks.language import Language


@register("task", "text_file")
class TextFile(Language):
    """Which character comes next in a text of your own?"""

    class Config(Language.Config):
        file: DataFile
        "The text, in UTF-8; its path is relative to the study."
        pieces: Literal["paragraphs", "lines"] = "paragraphs"
        "What is for training, validation or test as a whole: paragraphs, with blank lines between them, or lines."
        max_characters: PositiveInt = 1_000_000
        "Characters that are read, from the beginning; the rest is left out."

    joint = "\n"

    @classmethod
    def pieces(cls, file: DataFile, config: Config) -> Iterable[str]:
        """Paragraphs or lines, without the blank space after them."""
        ends = {"paragraphs": r"\n\s*\n", "lines": r"\n"}[config.pieces]
        return map(str.rstrip, re.split(ends, read_text(file)[: config.max_characters]))
