"""`ablate check`."""

from pathlib import Path

import click

from ablate.base.text import safe


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
def command(files: tuple[Path, ...]) -> int:
    """Check the parts, tasks and workloads of a plugin against what they declare.

    Tries each on small random inputs, and prints a line for each rule: whether a causal part hides later positions,
    whether outputs depend on other examples or on padding, whether one seed gives one result, and so on. A run checks
    the parts that its study uses in the same way. The exit code is 2 where a rule is broken.
    """
    from ablate.base.errors import AblateError
    from ablate.base.plugins import load_plugins
    from ablate.commands._contracts import CheckedRule, check_file

    load_plugins(files)
    checked: list[CheckedRule] = []
    for file in files:
        checked += check_file(file)
    if not checked:
        raise AblateError(f"{files[0]}: registers nothing; register a part with `@register(SLOT, NAME)`")
    for line in checked:
        click.echo(safe(f"{line.name}  {line.rule:9} {line.fault or 'holds'}"))
    return 2 if any(line.fault for line in checked) else 0
