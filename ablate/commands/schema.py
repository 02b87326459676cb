"""`ablate schema`."""

import json
from pathlib import Path

import click

from ablate.commands._console import PLUGINS


@click.command("schema")
@click.option(
    "--workload", default="sequence", show_default=True, metavar="NAME", help="Workload of the studies."
)
@PLUGINS
def command(workload: str, plugins: tuple[Path, ...]) -> None:
    """Print the JSON Schema of study files.

    Editors complete and check studies with it. Save it beside your studies (ablate schema > ablate.schema.json),
    and begin each study with the line `# yaml-language-server: $schema=ablate.schema.json`.
    """
    from ablate.base.plugins import load_plugins
    from ablate.execution.run_trial import WorkloadRef
    from ablate.stages import CONFIGS
    from ablate.study.json_schema import study_schema

    load_plugins(plugins)
    schema = study_schema(WorkloadRef(workload).load(), CONFIGS)
    click.echo(json.dumps(schema, indent=1, ensure_ascii=False))
