"""`ablate check`."""

from pathlib import Path

import click


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
    from ablate.commands._contracts import examined

    load_plugins(files)
    found = [line for file in files for line in examined(file)]
    if not found:
        raise AblateError(f"{files[0]}: registers nothing; register a part with `@register(SLOT, NAME)`")
    for name, rule, text in found:
        click.echo(f"{name}  {rule:9} {text or 'holds'}")
    return 2 if any(text for *_, text in found) else 0
