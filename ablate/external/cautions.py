"""What the source of a user's code shows to have no effect: seeds that are constants, settings that nothing names."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ablate.external.runner import constants
from ablate.external.sources import parsed

_SEEDING = re.compile(
    r"(^|\.)(manual_seed(_all)?|seed|set_seed|seed_everything|default_rng|RandomState|PRNGKey)$"
)


def seeded(files: Iterable[str], given: str | None = None) -> Iterator[str]:
    """Where a generator gets a constant as its seed, as `train.py:3: torch.manual_seed(1337)`.

    `given`: the constant that gets the seed of a trial.
    """
    for file in map(Path, files):
        tree = parsed(file)
        values = constants(tree).items()
        fixed = {name for name, value in values if isinstance(value, ast.Constant) and name != given}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _SEEDING.search(ast.unparse(node.func)):
                first = node.args[0]
                if isinstance(first, ast.Constant) or getattr(first, "id", None) in fixed:
                    yield f"{file.name}:{node.lineno}: {ast.unparse(node)}"


def named(files: Iterable[str]) -> set[object]:
    """The names and texts of files, but for names that are assigned: among them what these read of a config."""
    return {
        getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", None)
        for file in files
        for node in ast.walk(parsed(Path(file)))
        if not isinstance(getattr(node, "ctx", None), ast.Store)
    }
