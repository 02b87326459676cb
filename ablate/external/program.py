"""A command of a user's own, as a workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.external.command import filled, placeholders, split
from ablate.external.options import Options
from ablate.external.sources import named_in
from ablate.external.workload import External


@register("workload", "command")
class CommandWorkload(External):
    """A command of one's own, in which `{name}` stands for a setting and `{seed}` for the seed."""

    class Config(Options):
        """The command."""

        command: str | list[str]
        "Split as a shell would, and run without one; {{ is a brace."

    options: Config

    def words(self, config: Mapping[str, Any], seed: int, place: Path) -> list[str]:
        """See `ablate.external.command`."""
        try:
            return filled(split(self.options.command), {**_flat(config), "seed": seed})
        except Invalid as error:
            raise error.under("workload", "command") from None

    def entries(self, config: Mapping[str, Any]) -> list[Path]:
        """The files of the program that its words name."""
        return named_in(self.words(config, 0, Path()), self.folder)

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """With settings that it does not use."""
        used = placeholders(split(self.options.command))
        lost = {"ABLATE_CONFIG": [*_flat(config["config"])], "ABLATE_SEED": ["seed"]}
        rules = [
            f"the command has no {{{name}}}, which changes nothing unless it reads ${variable}"
            for variable, names in lost.items()
            for name in names
            if name not in used
        ]
        return [*rules, *super().cautions(config)]


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted path → value, of a mapping and of all in it."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
