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
    """A text of your own; the target at each position is the character that comes next."""

    class Config(Language.Config):
        file: DataFile
        "The text, in UTF-8; its path is relative to the study."
        pieces: Literal["paragraphs", "lines"] = "paragraphs"
        "Pieces that are for training, validation or test as a whole: paragraphs, parted by blank lines, or lines."
        max_characters: PositiveInt = 1_000_000
        "Characters that are read, from the beginning; the rest is left out."

    config: Config

    @classmethod
    def pieces(cls, file: DataFile, config: Config) -> Iterable[str]:
        """Splits the first `max_characters` of a text into its paragraphs or lines, empty ones too;
        blank space at the end of each is cut off.
        """
        ends = {"paragraphs": r"\n\s*\n", "lines": r"\n"}
        text = read_text(file)[: config.max_characters]
        return [piece.rstrip() for piece in re.split(ends[config.pieces], text)]
