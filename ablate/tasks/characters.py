"""The English of Python's own language reference, character by character."""

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


def _files() -> tuple[str, ...]:
    """Returns a tuple with the path of the text's file; an empty tuple where this Python lacks the file."""
    try:
        spec = importlib.util.find_spec(TOPICS)
    except ModuleNotFoundError:
        return ()
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return ()
    return (spec.origin,)


@register("task", "characters")
class Characters(Language):
    """The help texts of Python, `pydoc_data.topics`; the target at each position is the next character.

    About 350,000 characters of English and of grammar; paragraphs that occur twice count once, and a hash of each
    decides its part of the data. The text is that of the Python that trains, and its digest is part of a trial's id.
    An encoder sees the next character beside the one that it reads: judge it by loss@prefix.

    With Python 3.11 and T = 32, guessing by frequency loses 3.31 nats a character, a trigram model 1.90, and the n-gram
    model that claims call `ngram`, of order 5, 1.36. The task counts as solved at 1.9. Longer windows show more, and
    take more training. Recommended: a decoder of d_model 32 and two layers comes to 1.66 in 1,000 steps of 25 ms (an
    LSTM to 1.57), to 1.45 in 3,000 and 1.41 in 6,000; the n-gram model stays ahead.
    """

    data_files = _files()
    recommended = {
        "task": {"seq_len": 32},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 1000, "lr": 0.01, "schedule": "cosine", "warmup_steps": 50, "clip_norm": 1.0},
    }

    def __init__(self, config: Language.Config) -> None:
        if not self.data_files:
            raise Invalid(
                "", f"needs the module {TOPICS}, which this Python lacks", hint="Install Python in full"
            )
        super().__init__(config, DataFile(self.data_files[0], TOPICS), solved=1.9)

    @classmethod
    def pieces(cls, file: DataFile, config: Any) -> Iterator[str]:
        """Yields the paragraphs of all topics, in the order of their names, with single spaces;
        reads neither argument.
        """
        topics: Mapping[str, str] = importlib.import_module(TOPICS).topics
        for name in sorted(topics):
            for paragraph in re.split(r"\n\s*\n", topics[name]):
                yield " ".join(paragraph.split())
